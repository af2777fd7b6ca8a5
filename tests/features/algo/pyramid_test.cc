// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/algo/pyramid.h"

#include <gtest/gtest.h>

#include <cmath>

#include "features/algo/quota.h"
#include "tests/support/image_makers.h"
#include "tests/support/oracles.h"

namespace orbserve::algo {
namespace {

TEST(LevelScaleTest, IsThePowerOfTheSinglePrecisionFactor) {
  EXPECT_EQ(LevelScale(1.2f, 0), 1.0f);
  EXPECT_EQ(LevelScale(1.2f, 1), 1.2f);
  EXPECT_EQ(LevelScale(2.0f, 7), 128.0f);
  // Seventh power of 1.2000000476837158, worked out with more digits than a double has.
  EXPECT_EQ(LevelScale(1.2f, 7), 3.5831819f);
}

TEST(LevelSideTest, RoundsHalvesToEvenAndReachesZero) {
  EXPECT_EQ(LevelSide(640, 1.2f), 533);
  EXPECT_EQ(LevelSide(480, LevelScale(1.2f, 7)), 134);
  EXPECT_EQ(LevelSide(5, 2.0f), 2);  // 2.5
  EXPECT_EQ(LevelSide(7, 2.0f), 4);  // 3.5
  EXPECT_EQ(LevelSide(1, 2.0f), 0);  // 0.5
}

TEST(ResizeTapTest, ClampsBothEnds) {
  EXPECT_EQ(ResizeTapOf(6, 5, 0).first, 0);
  EXPECT_EQ(ResizeTapOf(10, 20, 0).first, 0);
  EXPECT_EQ(ResizeTapOf(10, 20, 0).weight, 0);
  EXPECT_EQ(ResizeTapOf(10, 20, 19).first, 9);
  EXPECT_EQ(ResizeTapOf(10, 20, 19).weight, 0);
  EXPECT_EQ(ResizeTapOf(1, 1, 0).first, 0);
}

TEST(ResizeTapTest, HalvingTakesTheMeanOfTwo) {
  for (int i = 0; i < 8; ++i) {
    const ResizeTap tap = ResizeTapOf(16, 8, i);
    EXPECT_EQ(tap.first, 2 * i);
    EXPECT_EQ(tap.weight, 128);
  }
}

TEST(ResizeTapTest, StaysInsideForEverySize) {
  for (int source = 1; source < 200; ++source) {
    for (const float factor : {1.01f, 1.2f, 2.0f, 4.0f}) {
      const int side = LevelSide(source, factor);
      for (int i = 0; i < side; ++i) {
        const ResizeTap tap = ResizeTapOf(source, side, i);
        ASSERT_GE(tap.first, 0);
        ASSERT_LT(tap.first, source);
        ASSERT_GE(tap.weight, 0);
        ASSERT_LE(tap.weight, 256);
        if (tap.weight > 0) {
          ASSERT_LT(tap.first + 1, source);
        }
      }
    }
  }
}

TEST(ResizeTest, AgreesWithBilinearInterpolationToTheLastDigit) {
  const testing::TestImage image = testing::NoiseImage(61, 47, 11);
  for (const float factor : {1.2f, 1.5f, 2.0f, 3.3f}) {
    const int width = LevelSide(61, factor);
    const int height = LevelSide(47, factor);
    const auto exact = testing::OracleResize(image.view(), width, height);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const ResizeTap tx = ResizeTapOf(61, width, x);
        const ResizeTap ty = ResizeTapOf(47, height, y);
        const int right = tx.weight > 0 ? tx.first + 1 : tx.first;
        const int bottom = ty.weight > 0 ? ty.first + 1 : ty.first;
        const uint32_t wx = static_cast<uint32_t>(tx.weight);
        const int actual =
            ResizeColumn(ResizeRow(image.At(tx.first, ty.first), image.At(right, ty.first), wx),
                         ResizeRow(image.At(tx.first, bottom), image.At(right, bottom), wx),
                         static_cast<uint32_t>(ty.weight));
        // Weights have 8 bits: two halves of 1/256 of the range, and half a grey level of rounding.
        ASSERT_NEAR(actual, exact[static_cast<size_t>(y)][static_cast<size_t>(x)], 1.6)
            << "at " << x << "," << y << " factor " << factor;
      }
    }
  }
}

TEST(ResizeTest, RoundsHalvesUpAndKeepsExtremes) {
  EXPECT_EQ(ResizeColumn(ResizeRow(255, 255, 77), ResizeRow(255, 255, 77), 201), 255);
  EXPECT_EQ(ResizeColumn(ResizeRow(0, 0, 77), ResizeRow(0, 0, 77), 201), 0);
  EXPECT_EQ(ResizeColumn(ResizeRow(0, 1, 128), ResizeRow(0, 1, 128), 128), 1);  // 0.5
  EXPECT_EQ(ResizeColumn(ResizeRow(0, 1, 127), ResizeRow(0, 1, 127), 128), 0);  // 127/256
}

TEST(LevelMaskTest, OnlyWhollyKeptPixelsStay) {
  EXPECT_EQ(LevelMask(255), 255);
  EXPECT_EQ(LevelMask(254), 0);
  EXPECT_EQ(LevelMask(0), 0);
}

TEST(Reflect101Test, MirrorsWithoutRepeatingTheEdge) {
  EXPECT_EQ(Reflect101(-1, 5), 1);
  EXPECT_EQ(Reflect101(-4, 5), 4);
  EXPECT_EQ(Reflect101(5, 5), 3);
  EXPECT_EQ(Reflect101(12, 5), 4);  // 0 1 2 3 4 3 2 1 0 1 2 3 4
  EXPECT_EQ(Reflect101(-7, 1), 0);
  EXPECT_EQ(Reflect101(3, 2), 1);
}

TEST(LevelQuotasTest, AreThoseOfOrb) {
  int32_t quota[8];
  LevelQuotas(500, 1.2f, 8, quota);
  const int32_t expected_500[8] = {109, 90, 75, 63, 52, 44, 36, 31};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(quota[i], expected_500[i]) << i;
  LevelQuotas(1000, 1.2f, 8, quota);
  const int32_t expected_1000[8] = {217, 181, 151, 126, 105, 87, 73, 60};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(quota[i], expected_1000[i]) << i;
}

TEST(LevelQuotasTest, OneLevelGetsAll) {
  int32_t quota[1];
  LevelQuotas(777, 1.2f, 1, quota);
  EXPECT_EQ(quota[0], 777);
}

TEST(LevelQuotasTest, NeverNegative) {
  for (int features = 1; features < 40; ++features) {
    for (const float factor : {1.01f, 1.2f, 4.0f}) {
      int32_t quota[16];
      LevelQuotas(features, factor, 16, quota);
      for (const int32_t q : quota) ASSERT_GE(q, 0);
    }
  }
}

}  // namespace
}  // namespace orbserve::algo
