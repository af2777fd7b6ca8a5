// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/drawing/overlay.h"

#include <utility>

#include "client/cli/output/drawing/canvas.h"
#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

constexpr Colour kBlack{0, 0, 0};

Colour At(const Picture& picture, int x, int y) {
  const uint8_t* pixel = picture.Row(y) + static_cast<size_t>(x) * 3;
  return {pixel[0], pixel[1], pixel[2]};
}

Picture BlackPicture(int width_px, int height_px) {
  Picture picture{.width_px = width_px, .height_px = height_px, .channels = 1};
  picture.pixels.assign(static_cast<size_t>(width_px) * height_px, '\0');
  return picture;
}

void AddFeature(float x, float y, float size, float angle, v1::FeatureSet* features) {
  features->add_x(x);
  features->add_y(y);
  features->add_size(size);
  features->add_angle(angle);
  features->add_response(1);
  features->add_octave(0);
}

// Share of the picture's light that the drawing over a black picture has.
double ShareOfWhite(const Picture& picture) {
  double sum = 0;
  for (const char value : picture.pixels) sum += static_cast<uint8_t>(value);
  return sum / (255.0 * static_cast<double>(picture.pixels.size()));
}

TEST(OverlayTest, FeatureIsACircleOfItsSizeWithALineForItsAngle) {
  Picture picture{.width_px = 100, .height_px = 100, .channels = 1};
  picture.pixels.assign(100 * 100, '\0');
  v1::FeatureSet features;
  features.set_descriptor_bytes(32);
  features.add_x(50);
  features.add_y(50);
  features.add_size(40);
  features.add_angle(90);  // down
  features.add_response(1);
  features.add_octave(0);
  const Picture overlay = DrawFeatures(picture, features);
  ASSERT_EQ(overlay.channels, 3);
  for (const auto& [x, y] : {std::pair(70, 50), std::pair(30, 50), std::pair(50, 30)}) {
    EXPECT_NE(At(overlay, x, y), kBlack) << x << "," << y;
  }
  EXPECT_EQ(At(overlay, 50, 62), LevelColour(0));  // on the line
  EXPECT_EQ(At(overlay, 50, 38), kBlack);          // opposite to it
  EXPECT_EQ(At(overlay, 75, 50), kBlack);          // outside
}

TEST(OverlayTest, AFeatureWithoutADescriptorIsASmallMark) {
  v1::FeatureSet features;
  AddFeature(50, 50, 40, -1, &features);
  const Picture overlay = DrawFeatures(BlackPicture(100, 100), features);
  EXPECT_EQ(At(overlay, 50, 50), LevelColour(0));
  for (const auto& [x, y] : {std::pair(70, 50), std::pair(50, 56), std::pair(56, 50),
                             std::pair(44, 50), std::pair(50, 44)}) {
    EXPECT_EQ(At(overlay, x, y), kBlack) << x << "," << y;
  }
}

TEST(OverlayTest, AMarkShowsTheAngleIfThereIsOne) {
  v1::FeatureSet features;
  AddFeature(50, 50, 40, 90, &features);  // down
  const Picture overlay = DrawFeatures(BlackPicture(100, 100), features);
  EXPECT_EQ(At(overlay, 50, 55), LevelColour(0));
  EXPECT_EQ(At(overlay, 50, 45), kBlack);
  EXPECT_EQ(At(overlay, 50, 65), kBlack) << "a mark is small whatever the size";
}

TEST(OverlayTest, ManyFeaturesLeaveMostOfThePictureToSee) {
  for (const int descriptor_bytes : {0, 32}) {
    for (const float angle : {-1.0f, 45.0f}) {
      for (const int columns : {20, 60, 160, 320}) {  // up to 102,400 features
        v1::FeatureSet features;
        features.set_descriptor_bytes(descriptor_bytes);
        for (int i = 0; i < columns * columns; ++i) {
          AddFeature(static_cast<float>(i % columns) * 640.0f / static_cast<float>(columns),
                     static_cast<float>(i / columns) * 480.0f / static_cast<float>(columns), 31.0f,
                     angle, &features);
        }
        const double share = ShareOfWhite(DrawFeatures(BlackPicture(640, 480), features));
        EXPECT_GT(share, 0.005) << columns;
        EXPECT_LT(share, 0.3) << columns << " " << descriptor_bytes << " " << angle;
      }
    }
  }
}

TEST(OverlayTest, MatchIsALineBetweenBothPicturesAndBadRowsAreLeftOut) {
  Picture picture{.width_px = 50, .height_px = 40, .channels = 1};
  picture.pixels.assign(50 * 40, '\0');
  v1::FeatureSet side;
  side.add_x(25);
  side.add_y(20);
  v1::MatchSet matches;
  matches.add_query_index(0);
  matches.add_train_index(0);
  matches.add_distance(0);
  matches.add_query_index(7);  // no such row
  matches.add_train_index(0);
  matches.add_distance(1);
  const Picture overlay = DrawMatches(picture, side, picture, side, matches);
  EXPECT_EQ(overlay.width_px, 108);
  EXPECT_EQ(overlay.height_px, 40);
  for (int x = 25; x <= 83; ++x) EXPECT_NE(At(overlay, x, 20), kBlack) << x;
  EXPECT_EQ(At(overlay, 10, 20), kBlack);
  EXPECT_EQ(At(overlay, 54, 5), kBlack);
}

}  // namespace
}  // namespace orbserve::cli
