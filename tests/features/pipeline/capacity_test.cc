// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/pipeline/capacity.h"

#include <gtest/gtest.h>

namespace orbserve {
namespace {

TEST(CapacityTest, CornersAreNotNeighboursSoEveryOtherPixelCanBeOne) {
  EXPECT_EQ(MaxCorners({0, 0, 1, 1}), 1);
  EXPECT_EQ(MaxCorners({0, 0, 4, 4}), 4);
  EXPECT_EQ(MaxCorners({0, 0, 5, 3}), 6);
  EXPECT_EQ(MaxCorners({31, 31, 36, 34}), 6);  // wherever it lies
  EXPECT_EQ(MaxCorners({0, 0, 1, 1000}), 500);
}

TEST(CapacityTest, AnEmptyRegionHasNoCorners) {
  EXPECT_EQ(MaxCorners({}), 0);
  EXPECT_EQ(MaxCorners({3, 3, 3, 10}), 0);
  EXPECT_EQ(MaxCorners({3, 10, 20, 3}), 0);
}

TEST(CapacityTest, LargeRegionsDoNotOverflow) {
  EXPECT_EQ(MaxCorners({0, 0, 100'000, 100'000}), int64_t{2'500'000'000});
}

TEST(CapacityTest, FeatureClassesArePowersOfTwoBetweenTheirEnds) {
  EXPECT_EQ(FeatureClassOf(1), 256);
  EXPECT_EQ(FeatureClassOf(256), 256);
  EXPECT_EQ(FeatureClassOf(257), 512);
  EXPECT_EQ(FeatureClassOf(1000), 1024);
  EXPECT_EQ(FeatureClassOf(8192), 8192);
  EXPECT_EQ(FeatureClassOf(8193), 16384);
  EXPECT_EQ(FeatureClassOf(32768), 32768);
  EXPECT_EQ(FeatureClassOf(32769), 32768);
  EXPECT_EQ(FeatureClassOf(100'000), 32768);
}

}  // namespace
}  // namespace orbserve
