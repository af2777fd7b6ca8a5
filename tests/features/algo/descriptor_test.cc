// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "features/algo/gaussian.h"
#include "features/algo/order.h"
#include "features/algo/pyramid.h"
#include "features/algo/rbrief.h"
#include "tests/support/image_makers.h"
#include "tests/support/oracles.h"

namespace orbserve::algo {
namespace {

using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::OracleGaussian;
using ::orbserve::testing::TestImage;

uint8_t BlurredPixel(const TestImage& image, int x, int y) {
  float rows[7];
  for (int v = 0; v < 7; ++v) {
    uint8_t pixels[7];
    for (int u = 0; u < 7; ++u) {
      pixels[u] = image.At(Reflect101(x + u - 3, image.width_px()),
                           Reflect101(y + v - 3, image.height_px()));
    }
    rows[v] = GaussianRow(pixels);
  }
  return GaussianColumn(rows);
}

TEST(GaussianTest, TapsAreTheNormalisedGaussian) {
  double sum = 0;
  for (int i = -3; i <= 3; ++i) sum += std::exp(-i * i / 8.0);
  for (int i = 0; i <= 3; ++i) {
    EXPECT_EQ(GaussianTap(i), static_cast<float>(std::exp(-i * i / 8.0) / sum)) << i;
  }
}

TEST(GaussianTest, ConstantImagesStayAsTheyAre) {
  for (int grey = 0; grey < 256; ++grey) {
    const uint8_t g = static_cast<uint8_t>(grey);
    const uint8_t pixels[7] = {g, g, g, g, g, g, g};
    const float row = GaussianRow(pixels);
    const float rows[7] = {row, row, row, row, row, row, row};
    EXPECT_EQ(GaussianColumn(rows), grey);
  }
}

TEST(GaussianTest, AgreesWithTheDoubleSumUpToItsRounding) {
  const TestImage image = NoiseImage(33, 21, 9);
  for (int y = 0; y < 21; ++y) {
    for (int x = 0; x < 33; ++x) {
      ASSERT_NEAR(BlurredPixel(image, x, y), OracleGaussian(image.view(), x, y), 0.5001)
          << x << "," << y;
    }
  }
}

TEST(GaussianTest, ImagesSmallerThanTheKernelAreMirroredAgainAndAgain) {
  const TestImage image = NoiseImage(2, 1, 10);
  for (int x = 0; x < 2; ++x) {
    EXPECT_NEAR(BlurredPixel(image, x, 0), OracleGaussian(image.view(), x, 0), 0.5001);
  }
}

TEST(RBriefPatternTest, StaysInThePatchAndInReachWhenTurned) {
  double farthest = 0;
  for (const RBriefPair& pair : kRBriefPattern) {
    for (const int offset : {pair.x1, pair.y1, pair.x2, pair.y2}) {
      EXPECT_GE(offset, -13);
      EXPECT_LE(offset, 12);
    }
    farthest = std::max({farthest, std::hypot(pair.x1, pair.y1), std::hypot(pair.x2, pair.y2)});
  }
  EXPECT_LT(farthest, kRBriefRadiusPx + 0.5);
}

TEST(RBriefPatternTest, BeginsAndEndsAsPublished) {
  EXPECT_EQ(kRBriefPattern[0].x1, 8);
  EXPECT_EQ(kRBriefPattern[0].y1, -3);
  EXPECT_EQ(kRBriefPattern[0].x2, 9);
  EXPECT_EQ(kRBriefPattern[0].y2, 5);
  EXPECT_EQ(kRBriefPattern[255].x1, -1);
  EXPECT_EQ(kRBriefPattern[255].y1, -6);
  EXPECT_EQ(kRBriefPattern[255].x2, 0);
  EXPECT_EQ(kRBriefPattern[255].y2, -11);
}

TEST(TurnPointTest, QuarterTurnsAreExact) {
  const auto turned = [](float degrees) {
    return TurnPoint(5, -2, SinCosOf(RadiansOfDegrees(degrees)));
  };
  EXPECT_EQ(turned(0.0f).x, 5);
  EXPECT_EQ(turned(0.0f).y, -2);
  EXPECT_EQ(turned(90.0f).x, 2);
  EXPECT_EQ(turned(90.0f).y, 5);
  EXPECT_EQ(turned(180.0f).x, -5);
  EXPECT_EQ(turned(180.0f).y, 2);
  EXPECT_EQ(turned(270.0f).x, -2);
  EXPECT_EQ(turned(270.0f).y, -5);
}

TEST(DescribeRBrief256Test, BitSaysThatTheFirstPointIsDarker) {
  // Grey falls with y, so that a pair's first point is darker where it lies lower.
  TestImage image(64, 64);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 64; ++x) image.At(x, y) = static_cast<uint8_t>(255 - 3 * y);
  }
  uint8_t descriptor[kRBriefBytes];
  DescribeRBrief256(image.view().Row(32) + 32, image.view().pitch_bytes, 0.0f, kRBriefPattern,
                    descriptor);
  for (int i = 0; i < kRBriefPairs; ++i) {
    const bool expected = kRBriefPattern[i].y1 > kRBriefPattern[i].y2;
    EXPECT_EQ(((descriptor[i / 8] >> (i % 8)) & 1) != 0, expected) << "pair " << i;
  }
}

TEST(DescribeRBrief256Test, TurningImageAndAngleTogetherChangesNothing) {
  const TestImage image = NoiseImage(65, 65, 12);
  TestImage turned(65, 65);  // by 90 degrees clockwise round the centre
  for (int y = 0; y < 65; ++y) {
    for (int x = 0; x < 65; ++x) turned.At(64 - y, x) = image.At(x, y);
  }
  uint8_t plain[kRBriefBytes];
  uint8_t quarter[kRBriefBytes];
  DescribeRBrief256(image.view().Row(32) + 32, image.view().pitch_bytes, 0.0f, kRBriefPattern,
                    plain);
  DescribeRBrief256(turned.view().Row(32) + 32, turned.view().pitch_bytes, 90.0f, kRBriefPattern,
                    quarter);
  EXPECT_TRUE(std::equal(plain, plain + kRBriefBytes, quarter));
}

TEST(RankKeyTest, OrdersByResponseThenYThenX) {
  EXPECT_LT(RankKey(2.0f, 9, 9), RankKey(1.0f, 0, 0));
  EXPECT_LT(RankKey(1.0f, 0, 0), RankKey(-1.0f, 0, 0));
  EXPECT_LT(RankKey(-1.0f, 0, 0), RankKey(-2.0f, 0, 0));
  EXPECT_LT(RankKey(1.0f, 7, 3), RankKey(1.0f, 2, 4));
  EXPECT_LT(RankKey(1.0f, 2, 4), RankKey(1.0f, 3, 4));
  EXPECT_EQ(RankKey(0.0f, 1, 1), RankKey(-0.0f, 1, 1));
}

TEST(RankKeyTest, GivesBackWhatItWasMadeOf) {
  for (const float response : {0.0f, 1.5f, -2.25e-7f, 254.0f, 3.0e20f}) {
    const uint64_t key = RankKey(response, 32767, 12345);
    EXPECT_EQ(RankKeyResponse(key), response);
    EXPECT_EQ(RankKeyX(key), 32767);
    EXPECT_EQ(RankKeyY(key), 12345);
  }
}

}  // namespace
}  // namespace orbserve::algo
