// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/algo/match_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "features/algo/hamming.h"
#include "features/types.h"
#include "tests/support/match_oracle.h"

namespace orbserve::algo {
namespace {

using ::orbserve::testing::OracleMatch;
using ::orbserve::testing::OracleWindow;

TEST(MatchWindowTest, SidesAreIncluded) {
  const MatchWindow window = {2.0f, 10.0f, -1.0f};
  EXPECT_TRUE(IsAdmissible(window, 5.0f, 5.0f, 17.0f, 6.0f));
  EXPECT_TRUE(IsAdmissible(window, 5.0f, 5.0f, 13.0f, 2.0f));
  EXPECT_FALSE(IsAdmissible(window, 5.0f, 5.0f, 17.000002f, 4.0f));
  EXPECT_FALSE(IsAdmissible(window, 5.0f, 5.0f, 15.0f, 6.5f));
  EXPECT_TRUE(IsAdmissible({0.0f, 0.0f, 0.0f}, 0.0f, 0.0f, 1000.0f, -1000.0f));
}

TEST(MatchWindowTest, TheSumIsRoundedBeforeTheDifference) {
  // 16777216 + 0.75 rounds to 16777216. Without that rounding the difference is -0.75.
  const MatchWindow window = {0.25f, 0.75f, 0.0f};
  EXPECT_TRUE(IsAdmissible(window, 16777216.0f, 0.0f, 16777216.0f, 0.0f));
}

Features RandomFeatures(std::mt19937& random, int number, int bytes) {
  Features features;
  features.descriptor_bytes = bytes;
  features.Resize(static_cast<size_t>(number));
  for (size_t i = 0; i < features.count(); ++i) {
    features.x[i] = static_cast<float>(random() % 400) * 0.25f;
    features.y[i] = static_cast<float>(random() % 400) * 0.25f;
  }
  // Few bits differ, so that distances tie.
  for (uint8_t& byte : features.descriptors) byte = random() % 4 == 0 ? 1 << (random() % 3) : 0;
  return features;
}

// The matcher as a backend composes it: one pass over the train side for each query.
Matches MatchByScan(const Features& query, const Features& train, const MatchOptions& options,
                    const MatchWindow& window) {
  const size_t bytes = static_cast<size_t>(query.descriptor_bytes);
  constexpr int kNone = 1 << 20;
  const auto distance = [&](size_t q, size_t t) {
    return IsAdmissible(window, query.x[q], query.y[q], train.x[t], train.y[t])
               ? HammingDistance(query.descriptors.data() + q * bytes,
                                 train.descriptors.data() + t * bytes, query.descriptor_bytes)
               : kNone;
  };
  Matches matches;
  for (size_t q = 0; q < query.count(); ++q) {
    int best = kNone;
    int second = kNone;
    size_t best_t = 0;
    for (size_t t = 0; t < train.count(); ++t) {
      const int d = distance(q, t);
      if (d < best) {
        second = best;
        best = d;
        best_t = t;
      } else {
        second = Min(second, d);
      }
    }
    if (best == kNone || best > options.max_distance) continue;
    if (options.ratio > 0) {
      if (second == kNone) second = MissingSecondDistance(query.descriptor_bytes);
      if (train.count() == 1 || !PassesRatioTest(best, second, options.ratio)) continue;
    }
    bool mutual = true;
    for (size_t other = 0; options.cross_check && other < query.count(); ++other) {
      const int d = distance(other, best_t);
      mutual = mutual && (d > best || (d == best && other >= q));
    }
    if (!mutual) continue;
    matches.query_index.push_back(static_cast<uint32_t>(q));
    matches.train_index.push_back(static_cast<uint32_t>(best_t));
    matches.distance.push_back(static_cast<uint32_t>(best));
  }
  return matches;
}

TEST(MatchWindowTest, MatchesAreTheOracles) {
  constexpr uint32_t kSeed = 81;
  std::mt19937 random(kSeed);
  size_t matched = 0;
  size_t without_rival = 0;
  for (int n = 0; n < 400; ++n) {
    const int bytes = n % 2 == 0 ? 32 : 4;
    const Features query = RandomFeatures(random, static_cast<int>(random() % 60), bytes);
    const Features train = RandomFeatures(random, static_cast<int>(random() % 60), bytes);
    MatchOptions options;
    options.ratio = random() % 2 == 0 ? 0.0f : 0.8f;
    options.cross_check = random() % 2 == 0;
    options.max_distance = random() % 2 == 0 ? 256 : 20;
    OracleWindow window;
    window.half_side = random() % 4 == 0 ? 0.0f : static_cast<float>(random() % 160) * 0.25f;
    window.offset_x = static_cast<float>(random() % 80) * 0.25f - 10.0f;
    window.offset_y = static_cast<float>(random() % 80) * 0.25f - 10.0f;
    const Matches expected = OracleMatch(query, train, options, window);
    const Matches actual =
        MatchByScan(query, train, options, {window.half_side, window.offset_x, window.offset_y});
    ASSERT_EQ(actual.query_index, expected.query_index) << "seed " << kSeed << " set " << n;
    ASSERT_EQ(actual.train_index, expected.train_index) << "seed " << kSeed << " set " << n;
    ASSERT_EQ(actual.distance, expected.distance) << "seed " << kSeed << " set " << n;
    matched += expected.count();
    without_rival += window.half_side > 0 && options.ratio > 0 ? expected.count() : 0;
  }
  EXPECT_GT(matched, 2000u);
  EXPECT_GT(without_rival, 50u);
}

TEST(MatchWindowTest, APlaceWithoutARivalPassesTheRatioTestIfItIsNear) {
  Features query;
  query.descriptor_bytes = 4;
  query.Resize(1);
  Features train;
  train.descriptor_bytes = 4;
  train.Resize(2);
  train.x[1] = 100;
  MatchOptions options;
  options.ratio = 0.5f;
  // The admissible one differs in 15 bits of 32: 15 < 0.5 * 32.
  train.descriptors = {0xff, 0x7f, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(OracleMatch(query, train, options, {5, 0, 0}).count(), 1u);
  EXPECT_EQ(MatchByScan(query, train, options, {5, 0, 0}).count(), 1u);
  train.descriptors[1] = 0xff;  // 16 bits
  EXPECT_EQ(OracleMatch(query, train, options, {5, 0, 0}).count(), 0u);
  EXPECT_EQ(MatchByScan(query, train, options, {5, 0, 0}).count(), 0u);
  // A train set of one passes nothing and says so, window or not.
  train.x.resize(1);
  train.descriptors.resize(4);
  train.descriptors = {0, 0, 0, 0};
  EXPECT_EQ(OracleMatch(query, train, options, {5, 0, 0}).count(), 0u);
  EXPECT_TRUE(OracleMatch(query, train, options, {5, 0, 0}).ratio_undefined);
}

}  // namespace
}  // namespace orbserve::algo
