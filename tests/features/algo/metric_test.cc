// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/algo/metric.h"

#include <array>
#include <cstdint>
#include <random>

#include "gtest/gtest.h"
#include "tests/support/oracles.h"

namespace orbserve::algo {
namespace {

using ::orbserve::testing::OracleSquaredDistance;
using Vector = std::array<uint8_t, kVectorBytes>;

TEST(MetricTest, TheNumberOfBytesTellsTheMetric) {
  for (const int bytes : {4, 8, 16, 32, 64}) EXPECT_EQ(MetricOf(bytes), Metric::kHamming);
  EXPECT_EQ(MetricOf(128), Metric::kSquaredEuclidean);
  EXPECT_EQ(LargestDistance(32), 256);
  EXPECT_EQ(LargestDistance(64), 512);
  EXPECT_EQ(LargestDistance(128), 8'323'200);
}

TEST(MetricTest, SquaredDistanceOfTheEndsIsTheLargest) {
  Vector zeros;
  Vector ones;
  zeros.fill(0);
  ones.fill(255);
  EXPECT_EQ(SquaredDistance(zeros.data(), ones.data()), kLargestSquaredDistance);
  EXPECT_EQ(SquaredDistance(ones.data(), zeros.data()), kLargestSquaredDistance);
  EXPECT_EQ(SquaredDistance(ones.data(), ones.data()), 0);
}

TEST(MetricTest, SquaredDistancesOfRandomVectorsAreTheOracles) {
  constexpr uint32_t kSeed = 7;
  std::mt19937 random(kSeed);
  for (int n = 0; n < 1000; ++n) {
    Vector a;
    Vector b;
    for (uint8_t& number : a) number = static_cast<uint8_t>(random());
    for (uint8_t& number : b) number = static_cast<uint8_t>(random());
    const int expected = OracleSquaredDistance(a.data(), b.data());
    ASSERT_EQ(SquaredDistance(a.data(), b.data()), expected) << "seed " << kSeed << " pair " << n;
    ASSERT_EQ(DescriptorDistance(a.data(), b.data(), kVectorBytes), expected);
  }
}

TEST(StandsOutTest, RootsOfSquaredDistancesAreCompared) {
  EXPECT_FALSE(StandsOut(40 * 40, 50 * 50, 0.8f, kVectorBytes));  // 0.8f * 50 rounds to 40
  EXPECT_TRUE(StandsOut(39 * 39, 50 * 50, 0.8f, kVectorBytes));
  EXPECT_FALSE(StandsOut(50 * 50, 50 * 50, 1.0f, kVectorBytes));
  EXPECT_FALSE(StandsOut(0, 0, 0.8f, kVectorBytes));
  EXPECT_TRUE(StandsOut(0, 1, 0.8f, kVectorBytes));
  // Bits are compared as they are: 1600 < 0.8 * 2500.
  EXPECT_TRUE(StandsOut(1600, 2500, 0.8f, 512));
}

TEST(StandsOutTest, RootsAreRoundedToSinglePrecision) {
  // The roots 2884.99549 and 2884.99567 round to one f32, those of 1,000,000 and 999,999 do not.
  EXPECT_FALSE(StandsOut(8'323'199, 8'323'200, 1.0f, kVectorBytes));
  EXPECT_TRUE(StandsOut(999'999, 1'000'000, 1.0f, kVectorBytes));
  // 3^2 and 5^2 at 0.6: 0.6f * 5 rounds to 3.
  EXPECT_FALSE(StandsOut(9, 25, 0.6f, kVectorBytes));
}

}  // namespace
}  // namespace orbserve::algo
