// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/drawing/legend.h"

#include <string>

#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

Colour ColourAt(const Picture& picture, int x, int y) {
  const uint8_t* pixel = picture.Row(y) + static_cast<size_t>(x) * 3;
  return {pixel[0], pixel[1], pixel[2]};
}

Picture White(int width_px, int height_px) {
  Picture picture{.width_px = width_px, .height_px = height_px, .channels = 3};
  picture.pixels.assign(static_cast<size_t>(width_px) * height_px * 3, '\xFF');
  return picture;
}

int CountOf(const Picture& picture, Colour colour, int from_row) {
  int count = 0;
  for (int y = from_row; y < picture.height_px; ++y) {
    for (int x = 0; x < picture.width_px; ++x) count += ColourAt(picture, x, y) == colour ? 1 : 0;
  }
  return count;
}

TEST(Legend, StandsBelowThePictureAndLeavesItAsItIs) {
  const Picture picture = White(640, 480);
  const Picture with = WithLegend(picture, InlierLegend(12, 3));
  EXPECT_EQ(with.width_px, 640);
  EXPECT_GT(with.height_px, 480);
  EXPECT_EQ(with.pixels.substr(0, picture.pixels.size()), picture.pixels);
  EXPECT_GT(CountOf(with, InlierColour(true), 480), 20);
  EXPECT_GT(CountOf(with, InlierColour(false), 480), 20);
}

TEST(Legend, NamesTheLevelsThatThereAre) {
  v1::FeatureSet features;
  for (const int level : {2, 0, 2}) {
    features.add_x(1);
    features.add_octave(level);
  }
  const auto entries = FeatureLegend(features);
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].text, "level 0");
  EXPECT_EQ(entries[1].text, "2");
  EXPECT_EQ(entries[1].colours.at(0), LevelColour(2));
  EXPECT_EQ(entries[2].text, "3 features, faint: weak");
}

TEST(Legend, NarrowPicturesHaveNone) {
  EXPECT_EQ(WithLegend(White(100, 80), DistanceLegend(5)).height_px, 80);
  EXPECT_EQ(WithLegend(White(640, 480), {}).height_px, 480);
}

TEST(DrawText, EveryLetterIsDrawnOnceAndDiffers) {
  const std::string letters = "0123456789abcdefghijklmnopqrstuvwxyz.,:-+/";
  std::vector<std::string> seen;
  for (const char letter : letters) {
    Canvas canvas(40, 50);
    const float end = DrawText(std::string(1, letter), 4, 4, 32, {255, 255, 255}, &canvas);
    EXPECT_EQ(end, 28);
    EXPECT_GT(CountOf(canvas.picture(), {255, 255, 255}, 0), 4) << letter;
    for (const std::string& other : seen) EXPECT_NE(canvas.picture().pixels, other) << letter;
    seen.push_back(canvas.picture().pixels);
  }
}

}  // namespace
}  // namespace orbserve::cli
