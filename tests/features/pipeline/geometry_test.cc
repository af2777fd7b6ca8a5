// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/pipeline/geometry.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace orbserve {
namespace {

PlanSpec SpecOf(int width_px, int height_px, const PyramidOptions& pyramid = {}) {
  PlanSpec spec = {width_px, height_px, {}};
  spec.pipeline.pyramid = pyramid;
  return spec;
}

std::vector<std::pair<int, int>> SidesOf(const PyramidGeometry& pyramid) {
  std::vector<std::pair<int, int>> sides;
  for (const LevelGeometry& level : pyramid.levels) {
    sides.emplace_back(level.width_px, level.height_px);
  }
  return sides;
}

bool IsTap(const algo::ResizeTap& tap, int first, int weight) {
  return tap.first == first && tap.weight == weight;
}

TEST(PyramidGeometryTest, SidesOfVgaAreRoundedQuotients) {
  const PyramidGeometry pyramid = PyramidGeometry::For(SpecOf(640, 480));
  // 640 and 480 divided by 1.2, 1.44, 1.728, 2.0736, 2.48832, 2.985984, 3.5831808
  const std::vector<std::pair<int, int>> expected = {{640, 480}, {533, 400}, {444, 333},
                                                     {370, 278}, {309, 231}, {257, 193},
                                                     {214, 161}, {179, 134}};
  EXPECT_EQ(SidesOf(pyramid), expected);
  EXPECT_EQ(pyramid.detecting_levels, 8);
}

TEST(PyramidGeometryTest, RegionsKeepTheBorderOnEachSide) {
  const PyramidGeometry pyramid = PyramidGeometry::For(SpecOf(640, 480));
  const Region& region = pyramid.levels[7].region;
  EXPECT_EQ(region.x_begin, 31);
  EXPECT_EQ(region.y_begin, 31);
  EXPECT_EQ(region.x_end, 179 - 31);
  EXPECT_EQ(region.y_end, 134 - 31);
  EXPECT_EQ(region.width(), 117);
  EXPECT_EQ(region.height(), 72);
  EXPECT_FALSE(region.empty());
}

TEST(PyramidGeometryTest, ARegionIsEmptyAsLongAsTheBordersMeet) {
  // 62 = 2 * 31: no pixel is left; 63: one.
  for (const auto& [width, height] : {std::pair{62, 100}, {100, 62}, {62, 62}, {1, 1}}) {
    const PyramidGeometry pyramid = PyramidGeometry::For(SpecOf(width, height));
    EXPECT_TRUE(pyramid.levels[0].region.empty()) << width << " x " << height;
    EXPECT_EQ(pyramid.detecting_levels, 0);
  }
  const PyramidGeometry smallest = PyramidGeometry::For(SpecOf(63, 63));
  EXPECT_EQ(smallest.levels[0].region.width(), 1);
  EXPECT_EQ(smallest.levels[0].region.height(), 1);
  EXPECT_EQ(smallest.detecting_levels, 1);
}

TEST(PyramidGeometryTest, LevelsEndWhereASideVanishes) {
  // 1 / 1.728 = 0.58 rounds to 1, 1 / 2.0736 = 0.48 to 0.
  EXPECT_EQ(SidesOf(PyramidGeometry::For(SpecOf(1, 1))),
            (std::vector<std::pair<int, int>>{{1, 1}, {1, 1}, {1, 1}, {1, 1}}));
  EXPECT_EQ(PyramidGeometry::For(SpecOf(1, 1000)).levels.size(), 4u);
  // Small levels exist without keypoints: 70 / 1.2 = 58 is less than two borders.
  const PyramidGeometry narrow = PyramidGeometry::For(SpecOf(70, 1000));
  EXPECT_EQ(narrow.levels.size(), 8u);
  EXPECT_EQ(narrow.detecting_levels, 1);
}

TEST(PyramidGeometryTest, ScalesArePowersAndPatchesGrowWithThem) {
  const PyramidGeometry pyramid =
      PyramidGeometry::For(SpecOf(640, 480, {.levels = 3, .scale_factor = 2.0f}));
  ASSERT_EQ(pyramid.levels.size(), 3u);
  const float scales[] = {1.0f, 2.0f, 4.0f};
  for (size_t l = 0; l < 3; ++l) {
    EXPECT_EQ(pyramid.levels[l].scale, scales[l]);
    EXPECT_EQ(pyramid.levels[l].inverse_scale, 1.0f / scales[l]);
    EXPECT_EQ(pyramid.levels[l].patch_size_px, 31.0f * scales[l]);
  }
}

TEST(PyramidGeometryTest, PatchesAreThoseOfTheDescriptorElseOfWhatWasFound) {
  const auto size = [](Orientation orientation, Descriptor descriptor) {
    PlanSpec spec = SpecOf(640, 480);
    spec.pipeline.describe = {orientation, descriptor};
    return PyramidGeometry::For(spec).levels[0].patch_size_px;
  };
  EXPECT_EQ(size(Orientation::kArcMiddle, Descriptor::kBFrost256), 89.0f);
  EXPECT_EQ(size(Orientation::kArcMiddle, Descriptor::kRBrief256), 31.0f);
  EXPECT_EQ(size(Orientation::kIntensityCentroid, Descriptor::kRBrief32), 10.0f);
  EXPECT_EQ(size(Orientation::kIntensityCentroid, Descriptor::kNone), 31.0f);
  EXPECT_EQ(size(Orientation::kArcMiddle, Descriptor::kNone), 7.0f);
  EXPECT_EQ(size(Orientation::kNone, Descriptor::kNone), 7.0f);
}

TEST(PyramidGeometryTest, TapsLieBetweenTwoSourceSamples) {
  const PyramidGeometry pyramid =
      PyramidGeometry::For(SpecOf(8, 4, {.levels = 3, .scale_factor = 2.0f}));
  ASSERT_EQ(SidesOf(pyramid), (std::vector<std::pair<int, int>>{{8, 4}, {4, 2}, {2, 1}}));
  EXPECT_TRUE(pyramid.levels[0].x_taps.empty());
  EXPECT_TRUE(pyramid.levels[0].y_taps.empty());
  // Halving: sample i lies at 2 i + 0.5.
  const LevelGeometry& half = pyramid.levels[1];
  EXPECT_EQ(half.source_level, 0);
  ASSERT_EQ(half.x_taps.size(), 4u);
  ASSERT_EQ(half.y_taps.size(), 2u);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(IsTap(half.x_taps[static_cast<size_t>(i)], 2 * i, 128));
  EXPECT_EQ(pyramid.levels[2].source_level, 1);
  EXPECT_TRUE(IsTap(pyramid.levels[2].x_taps[1], 2, 128));
}

TEST(PyramidGeometryTest, LevelsOfLevelZeroAreResampledFromIt) {
  const PyramidGeometry pyramid = PyramidGeometry::For(
      SpecOf(8, 4, {.levels = 3, .scale_factor = 2.0f, .source = PyramidSource::kLevelZero}));
  const LevelGeometry& quarter = pyramid.levels[2];
  EXPECT_EQ(quarter.source_level, 0);
  // A quarter: sample i lies at 4 i + 1.5.
  ASSERT_EQ(quarter.x_taps.size(), 2u);
  EXPECT_TRUE(IsTap(quarter.x_taps[0], 1, 128));
  EXPECT_TRUE(IsTap(quarter.x_taps[1], 5, 128));
}

TEST(PyramidGeometryTest, PlacesOfLevelZeroRoundToTheNearestPixelOfALevel) {
  const PyramidGeometry pyramid =
      PyramidGeometry::For(SpecOf(640, 480, {.levels = 2, .scale_factor = 2.0f}));
  const LevelGeometry& half = pyramid.levels[1];
  EXPECT_EQ(half.FromLevelZero(10.0f), 5);
  EXPECT_EQ(half.FromLevelZero(10.9f), 5);
  EXPECT_EQ(half.FromLevelZero(11.5f), 6);
  EXPECT_EQ(half.FromLevelZero(5.0f), 2);  // 2.5: to even
  EXPECT_EQ(half.FromLevelZero(7.0f), 4);  // 3.5: to even
}

}  // namespace
}  // namespace orbserve
