// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/geometry/fundamental_matrix.h"

#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

constexpr double kFocalPx = 600;
constexpr double kCentreX = 320;
constexpr double kCentreY = 240;

// Matches of a scene in two views: the second camera is moved and turned. `noise_px`: standard
// deviation of the places. The last `outliers` matches have nothing to do with each other.
std::vector<PointPair> TwoViews(int inliers, int outliers, double noise_px, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> x(0, 640);
  std::uniform_real_distribution<double> y(0, 480);
  std::uniform_real_distribution<double> depth(4, 20);
  std::normal_distribution<double> noise(0, 1);
  const double angle = 0.1;
  std::vector<PointPair> pairs;
  while (static_cast<int>(pairs.size()) < inliers) {
    const double px = x(random);
    const double py = y(random);
    const double z = depth(random);
    const double wx = (px - kCentreX) / kFocalPx * z;
    const double wy = (py - kCentreY) / kFocalPx * z;
    const double cx = std::cos(angle) * wx + std::sin(angle) * z - 0.8;
    const double cy = wy + 0.1;
    const double cz = -std::sin(angle) * wx + std::cos(angle) * z + 0.2;
    const PointPair pair{.x0 = px + noise_px * noise(random),
                         .y0 = py + noise_px * noise(random),
                         .x1 = cx / cz * kFocalPx + kCentreX + noise_px * noise(random),
                         .y1 = cy / cz * kFocalPx + kCentreY + noise_px * noise(random)};
    pairs.push_back(pair);
  }
  for (int i = 0; i < outliers; ++i) pairs.push_back({x(random), y(random), x(random), y(random)});
  return pairs;
}

double Determinant(const std::array<double, 9>& m) {
  return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
         m[2] * (m[3] * m[7] - m[4] * m[6]);
}

TEST(FundamentalMatrix, ExactMatchesGiveTheirMatrix) {
  const std::vector<PointPair> pairs = TwoViews(50, 0, 0);
  const std::optional<FundamentalMatrix> found = EstimateFundamental(pairs);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->inlier_count, 50);
  EXPECT_NEAR(Determinant(found->f), 0, 1e-12);
  for (const PointPair& pair : TwoViews(200, 0, 0, 7)) {
    EXPECT_LT(std::sqrt(SampsonSquared(found->f, pair)), 1e-3);
  }
}

TEST(FundamentalMatrix, OutliersAreFoundAmongNoisyMatches) {
  for (const int outliers : {0, 100, 200, 300}) {
    const std::vector<PointPair> pairs = TwoViews(200, outliers, 0.5);
    const std::optional<FundamentalMatrix> found = EstimateFundamental(pairs);
    ASSERT_TRUE(found.has_value()) << outliers;
    int kept = 0;
    int wrong = 0;
    for (int i = 0; i < 200 + outliers; ++i) (i < 200 ? kept : wrong) += found->inliers[i] ? 1 : 0;
    EXPECT_GE(kept, 198) << outliers;
    // An outlier lies within 3 pixels of its line by chance.
    EXPECT_LE(wrong, outliers / 20 + 3);
    EXPECT_EQ(found->inlier_count, kept + wrong);
    // Places without noise, which the estimate has not seen.
    double mean = 0;
    for (const PointPair& pair : TwoViews(200, 0, 0, 7)) {
      mean += std::sqrt(SampsonSquared(found->f, pair)) / 200;
    }
    EXPECT_LT(mean, 0.5) << outliers;
  }
}

TEST(FundamentalMatrix, MatchesWithoutRelationHaveNone) {
  for (const int count : {20, 100, 1000}) {
    for (unsigned seed = 0; seed < 5; ++seed) {
      EXPECT_FALSE(EstimateFundamental(TwoViews(0, count, 0, seed)).has_value()) << count;
    }
  }
}

TEST(FundamentalMatrix, TooFewOrEqualMatchesHaveNone) {
  EXPECT_FALSE(EstimateFundamental({}).has_value());
  EXPECT_FALSE(EstimateFundamental(TwoViews(14, 0, 0)).has_value());
  EXPECT_FALSE(EstimateFundamental(std::vector<PointPair>(30, {5, 5, 5, 5})).has_value());
}

TEST(FundamentalMatrix, TheSameMatchesGiveTheSameBits) {
  const std::vector<PointPair> pairs = TwoViews(150, 150, 0.5);
  const auto first = EstimateFundamental(pairs);
  const auto second = EstimateFundamental(pairs);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->f, second->f);
  EXPECT_EQ(first->inliers, second->inliers);
}

TEST(FundamentalMatrix, SampsonDistanceOfASidewaysCamera) {
  // A camera that moves along x: lines are rows, and F p = (0, -1, y). The distance is shared by
  // both images: half of a difference of 2 rows, squared, twice.
  const std::array<double, 9> f = {0, 0, 0, 0, 0, -1, 0, 1, 0};
  EXPECT_DOUBLE_EQ(SampsonSquared(f, {10, 20, 30, 20}), 0);
  EXPECT_DOUBLE_EQ(SampsonSquared(f, {10, 20, 30, 22}), 2);
}

}  // namespace
}  // namespace orbserve::cli
