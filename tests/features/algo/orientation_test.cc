// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/algo/orientation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/image_makers.h"
#include "tests/support/oracles.h"

namespace orbserve::algo {
namespace {

using ::orbserve::testing::OracleAngleDegrees;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

TEST(FastAtan2Test, AxesAreExact) {
  EXPECT_EQ(FastAtan2Degrees(0.0f, 5.0f), 0.0f);
  EXPECT_EQ(FastAtan2Degrees(5.0f, 0.0f), 90.0f);
  EXPECT_EQ(FastAtan2Degrees(0.0f, -5.0f), 180.0f);
  EXPECT_EQ(FastAtan2Degrees(-5.0f, 0.0f), 270.0f);
  EXPECT_EQ(FastAtan2Degrees(0.0f, 0.0f), 0.0f);
}

TEST(FastAtan2Test, StaysWithinItsErrorAllRound) {
  for (int i = 0; i < 36000; ++i) {
    const double radians = i * 3.14159265358979323846 / 18000.0;
    const float angle = FastAtan2Degrees(static_cast<float>(1e5 * std::sin(radians)),
                                         static_cast<float>(1e5 * std::cos(radians)));
    ASSERT_GE(angle, 0.0f);
    ASSERT_LE(angle, 360.0f);
    const double error = std::fabs(angle - i / 100.0);
    ASSERT_LT(std::min(error, 360.0 - error), 0.01) << i / 100.0 << " degrees";
  }
}

TEST(FastAtan2Test, SmallestNegativeRatioStaysBelow360) {
  // The moments are integers below 2^23, so that this is the smallest angle under the x axis.
  EXPECT_LT(FastAtan2Degrees(-1.0f, 3.0e6f), 360.0f);
}

TEST(CentroidMomentsTest, CoverTheDiscOf749Pixels) {
  int pixels = 0;
  for (int v = -15; v <= 15; ++v) pixels += 2 * CentroidHalfWidth(std::abs(v)) + 1;
  EXPECT_EQ(pixels, 749);
}

TEST(CentroidMomentsTest, OneBrightPixelGivesItsPlace) {
  TestImage image(40, 40);
  image.At(20 + 7, 20 - 4) = 10;
  const Moments moments = CentroidMoments(image.view().Row(20) + 20, image.view().pitch_bytes);
  EXPECT_EQ(moments.x, 70);
  EXPECT_EQ(moments.y, -40);
}

TEST(CentroidMomentsTest, DiscEndsWhereItShould) {
  TestImage image(40, 40);
  image.At(20 + 15, 20 + 3) = 10;  // inside
  image.At(20 + 15, 20 + 4) = 10;  // outside
  image.At(20 - 3, 20 - 15) = 10;  // inside
  image.At(20 - 4, 20 - 15) = 10;  // outside
  const Moments moments = CentroidMoments(image.view().Row(20) + 20, image.view().pitch_bytes);
  EXPECT_EQ(moments.x, 150 - 30);
  EXPECT_EQ(moments.y, 30 - 150);
}

TEST(CentroidAngleTest, AgreesWithDoublePrecision) {
  const TestImage image = SceneImage(120, 90, 5);
  for (int y = 16; y < 74; y += 3) {
    for (int x = 16; x < 104; x += 3) {
      const double expected = OracleAngleDegrees(image.view(), x, y);
      const double actual =
          CentroidAngleDegrees(CentroidMoments(image.view().Row(y) + x, image.view().pitch_bytes));
      const double error = std::fabs(actual - expected);
      ASSERT_LT(std::min(error, 360.0 - error), 0.02) << x << "," << y;
    }
  }
}

}  // namespace
}  // namespace orbserve::algo
