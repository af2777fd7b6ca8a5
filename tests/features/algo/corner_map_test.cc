// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/algo/corner_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/support/method_images.h"
#include "tests/support/method_oracle.h"

namespace orbserve::algo {
namespace {

using ::orbserve::testing::GreyPlane;
using ::orbserve::testing::NamedImage;
using ::orbserve::testing::TensorSums;
using ::orbserve::testing::TestImage;

TEST(PrewittTest, SumsWorkedOutByHand) {
  // A vertical step of one grey level: |gx| = 3 in the two columns beside it.
  TestImage image(16, 16);
  for (int y = 0; y < 16; ++y) {
    for (int x = 8; x < 16; ++x) image.At(x, y) = 1;
  }
  const GradientSums sums = SumPrewitt(image.view().Row(8) + 8, image.view().pitch_bytes);
  EXPECT_EQ(sums.xx, 7 * 2 * 9);
  EXPECT_EQ(sums.yy, 0);
  EXPECT_EQ(sums.xy, 0);
  EXPECT_EQ(HarrisMapResponse(sums), -126.0f * 126.0f);  // an edge is negative
  EXPECT_EQ(ShiTomasiMapResponse(sums), 0.0f);
}

TEST(PrewittTest, LargestSumsFit) {
  // Vertical stripes two pixels wide: |gx| = 765 everywhere.
  TestImage image(16, 16);
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 16; ++x) image.At(x, y) = x % 4 < 2 ? 255 : 0;
  }
  const GradientSums sums = SumPrewitt(image.view().Row(8) + 8, image.view().pitch_bytes);
  EXPECT_EQ(sums.xx, 49 * 765 * 765);
}

TEST(HarrisMapTest, IntegersBeyondDoublePrecisionRoundOnce) {
  constexpr uint32_t kSeed = 51;
  std::mt19937 random(kSeed);
  constexpr int32_t kMax = 28'676'025;
  for (int n = 0; n < 200000; ++n) {
    GradientSums sums;
    sums.xx = static_cast<int32_t>(random() % (kMax + 1u));
    sums.yy = n % 3 == 0 ? sums.xx : static_cast<int32_t>(random() % (kMax + 1u));
    const int32_t most = static_cast<int32_t>(
        std::sqrt(static_cast<double>(sums.xx) * static_cast<double>(sums.yy)));
    sums.xy =
        most == 0 ? 0 : static_cast<int32_t>(random() % (2u * static_cast<uint32_t>(most))) - most;
    const TensorSums wide = {sums.xx, sums.yy, sums.xy};
    ASSERT_EQ(HarrisMapResponse(sums), testing::HarrisMapValue(wide)) << "seed " << kSeed;
    ASSERT_EQ(ShiTomasiMapResponse(sums), testing::ShiTomasiValue(wide)) << "seed " << kSeed;
  }
  // det alone would fit a double, 25 det - trace^2 does not: 2^53 + 1 is rounded from the integer.
  const GradientSums large = {kMax, kMax, 1};
  const int64_t a = kMax;
  EXPECT_EQ(HarrisMapResponse(large), static_cast<float>(25 * (a * a - 1) - 4 * a * a));
}

TEST(SquareRootFloorTest, IsTheFloorRoundEverySquare) {
  // Estimates may be off, and devices add errors of their own: twice as much here.
  const auto check = [](int64_t value) {
    for (const double error : {-0x1p-21, -0x1p-22, 0.0, 0x1p-22, 0x1p-21}) {
      const auto about = static_cast<float>(static_cast<double>(value) * (1.0 + error));
      const int64_t root = SquareRootFloor(about, static_cast<uint32_t>(value));
      if (root * root > value || (root + 1) * (root + 1) <= value) return false;
    }
    return true;
  };
  for (int64_t value = 0; value < 100000; ++value) ASSERT_TRUE(check(value)) << value;
  constexpr int64_t kLargest = int64_t{kMaxSquareRoot} * (kMaxSquareRoot + 2);
  for (int64_t root = 1; root <= kMaxSquareRoot; root += 1 + root / 5000) {
    for (int64_t d = -2; d <= 2; ++d) {
      const int64_t value = Max<int64_t>(root * root + d, 0);
      ASSERT_TRUE(check(value)) << value;
    }
  }
  EXPECT_TRUE(check(kLargest));
  constexpr uint32_t kSeed = 52;
  std::mt19937_64 random(kSeed);
  for (int n = 0; n < 1000000; ++n) {
    const int64_t value = Min(static_cast<int64_t>(random() >> (12 + random() % 40)), kLargest);
    ASSERT_TRUE(check(value)) << value << " seed " << kSeed;
  }
}

// No reference value decides these three.
TEST(QualityThresholdTest, EqualResponsesAreNoCandidates) {
  // Two dots, one twice as bright: gradients double, eigenvalues are four times as large.
  TestImage image(40, 20);
  image.At(10, 10) = 50;
  image.At(30, 10) = 100;
  const auto response = [&](int x) {
    return ShiTomasiMapResponse(SumPrewitt(image.view().Row(10) + x, image.view().pitch_bytes));
  };
  const float top = response(30);
  ASSERT_EQ(response(10) * 4, top);
  ASSERT_GT(top, 0.0f);
  EXPECT_FALSE(IsCandidate(response(10), 0.25f, top));
  EXPECT_TRUE(IsCandidate(response(10), 0.2499999f, top));
}

TEST(QualityThresholdTest, IsOneProductOfSinglePrecision) {
  constexpr float kTop = 7.0f;
  const float rounded_up = 0.01f * kTop;
  ASSERT_GT(static_cast<double>(rounded_up), static_cast<double>(0.01f) * kTop);
  EXPECT_FALSE(IsCandidate(rounded_up, 0.01f, kTop));  // the exact product lies below it
}

TEST(QualityThresholdTest, FramesWithoutCornersHaveNoCandidates) {
  EXPECT_FALSE(IsCandidate(0.0f, 0.01f, 0.0f));
  EXPECT_FALSE(IsCandidate(-1.0f, 0.5f, -4.0f));  // -1 > -2
}

void CompareMaps(const NamedImage& named) {
  const GreyPlane plane = testing::PlaneOf(named.image.view());
  const testing::Plane<float> harris = testing::OracleCornerMap(plane, Detector::kHarris);
  const testing::Plane<float> klt = testing::OracleCornerMap(plane, Detector::kShiTomasi);
  const int reach = kCornerMapReachPx;
  for (int y = reach; y < plane.height - reach; ++y) {
    for (int x = reach; x < plane.width - reach; ++x) {
      const GradientSums sums =
          SumPrewitt(named.image.view().Row(y) + x, named.image.view().pitch_bytes);
      ASSERT_EQ(HarrisMapResponse(sums), harris.At(x, y)) << named.name << " " << x << "," << y;
      ASSERT_EQ(ShiTomasiMapResponse(sums), klt.At(x, y)) << named.name << " " << x << "," << y;
    }
  }
}

TEST(CornerMapTest, MapsOfSyntheticImagesAreTheOracles) {
  for (const NamedImage& named : testing::SyntheticImages()) CompareMaps(named);
}

TEST(CornerMapTest, MapsOfRealImagesAreTheOracles) {
  const std::vector<NamedImage> images = testing::RealImages(ORBSERVE_TEST_DATA_DIR);
  if (images.empty()) {
    GTEST_SKIP() << "no reference image; set ORBSERVE_TEST_DATA_DIR to the folder of test images";
  }
  for (const NamedImage& named : images) CompareMaps(named);
}

}  // namespace
}  // namespace orbserve::algo
