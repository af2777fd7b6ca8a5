// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/overlay.h"

#include <utility>

#include "client/cli/output/canvas.h"
#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

constexpr Colour kBlack{0, 0, 0};

Colour At(const Picture& picture, int x, int y) {
  const uint8_t* pixel = picture.Row(y) + static_cast<size_t>(x) * 3;
  return {pixel[0], pixel[1], pixel[2]};
}

TEST(OverlayTest, FeatureIsACircleOfItsSizeWithALineForItsAngle) {
  Picture picture{.width_px = 100, .height_px = 100, .channels = 1};
  picture.pixels.assign(100 * 100, '\0');
  v1::FeatureSet features;
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
