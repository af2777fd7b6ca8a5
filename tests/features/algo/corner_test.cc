// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/algo/corner.h"

#include <gtest/gtest.h>

#include <cmath>

#include "features/algo/nms.h"
#include "tests/support/image_makers.h"
#include "tests/support/oracles.h"

namespace orbserve::algo {
namespace {

using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::OracleHarris;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

float ResponseAt(const TestImage& image, int x, int y) {
  return HarrisResponse(SumGradients(image.view().Row(y) + x, image.view().pitch_bytes));
}

TEST(HarrisResponseTest, FlatPatchGivesZero) {
  EXPECT_EQ(ResponseAt(TestImage(16, 16), 8, 8), 0.0f);
}

TEST(HarrisResponseTest, StepEdgeWorkedOutByHand) {
  // Columns 0..7 are 0, the others 1: Ix = 4 in columns 7 and 8 of each of the 7 rows, Iy = 0.
  TestImage image(16, 16);
  for (int y = 0; y < 16; ++y) {
    for (int x = 8; x < 16; ++x) image.At(x, y) = 1;
  }
  const GradientSums sums = SumGradients(image.view().Row(8) + 8, image.view().pitch_bytes);
  EXPECT_EQ(sums.xx, 7 * 2 * 16);
  EXPECT_EQ(sums.yy, 0);
  EXPECT_EQ(sums.xy, 0);
  const double scale = std::pow(1.0 / 7140.0, 4);
  EXPECT_NEAR(HarrisResponse(sums), -0.04 * 224.0 * 224.0 * scale, 1e-18);
  EXPECT_LT(HarrisResponse(sums), 0.0f);
}

TEST(HarrisResponseTest, LargestSumsFit) {
  // Vertical stripes two pixels wide: |Ix| = 1020 everywhere.
  TestImage image(16, 16);
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 16; ++x) image.At(x, y) = x % 4 < 2 ? 255 : 0;
  }
  const GradientSums sums = SumGradients(image.view().Row(8) + 8, image.view().pitch_bytes);
  EXPECT_EQ(sums.xx, 49 * 1020 * 1020);
}

TEST(HarrisResponseTest, AgreesWithDoublePrecision) {
  for (const TestImage& image : {NoiseImage(64, 64, 3), SceneImage(64, 64, 4)}) {
    for (int y = 5; y < 59; ++y) {
      for (int x = 5; x < 59; ++x) {
        const double expected = OracleHarris(image.view(), x, y);
        const GradientSums sums = SumGradients(image.view().Row(y) + x, image.view().pitch_bytes);
        // Rounding is relative to the terms, which may cancel.
        const double trace = static_cast<double>(sums.xx) + sums.yy;
        const double terms = trace * trace * std::pow(1.0 / 7140.0, 4);
        ASSERT_NEAR(HarrisResponse(sums), expected, 1e-6 * terms) << x << "," << y;
      }
    }
  }
}

TEST(LocalMaximumTest, EqualNeighboursRemoveEachOther) {
  const uint8_t map[12] = {0, 0, 0, 0,  //
                           0, 9, 9, 0,  //
                           0, 0, 0, 0};
  EXPECT_FALSE(IsLocalMaximum3x3(map + 5, 4));
  EXPECT_FALSE(IsLocalMaximum3x3(map + 6, 4));
}

TEST(LocalMaximumTest, EachNeighbourCounts) {
  for (int i = 0; i < 9; ++i) {
    uint8_t map[9] = {1, 1, 1, 1, 2, 1, 1, 1, 1};
    EXPECT_TRUE(IsLocalMaximum3x3(map + 4, 3));
    if (i == 4) continue;
    map[i] = 2;
    EXPECT_FALSE(IsLocalMaximum3x3(map + 4, 3)) << "neighbour " << i;
  }
}

}  // namespace
}  // namespace orbserve::algo
