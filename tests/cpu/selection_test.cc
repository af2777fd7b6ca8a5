// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "features/algo/order.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::testing::ElementsAre;

std::vector<Corner> Scored(const std::vector<int>& scores) {
  std::vector<Corner> corners;
  for (const int score : scores) {
    corners.push_back({static_cast<int16_t>(corners.size()), 0, static_cast<int16_t>(score)});
  }
  return corners;
}

int CutOf(const std::vector<int>& scores, int wanted) {
  const std::vector<Corner> corners = Scored(scores);
  ScoreHistogram histogram;
  histogram.Clear();
  histogram.Add(corners.data(), static_cast<int>(corners.size()));
  return histogram.CutFor(wanted);
}

TEST(ScoreHistogramTest, CutsAtTheLastOneWanted) {
  EXPECT_EQ(CutOf({10, 30, 20, 40}, 1), 40);
  EXPECT_EQ(CutOf({10, 30, 20, 40}, 3), 20);
  EXPECT_EQ(CutOf({10, 30, 20, 40}, 4), 10);
}

TEST(ScoreHistogramTest, KeepsAllWhenThereAreFewer) { EXPECT_EQ(CutOf({10, 30}, 5), 0); }
TEST(ScoreHistogramTest, KeepsNoneWhenNoneIsWanted) { EXPECT_EQ(CutOf({10, 254}, 0), 256); }
TEST(ScoreHistogramTest, EmptyKeepsAll) { EXPECT_EQ(CutOf({}, 5), 0); }

TEST(KeepScoresTest, KeepsTiesAndOrder) {
  std::vector<Corner> corners = Scored({10, 30, 20, 30, 5, 20});
  const int kept = KeepScores(corners.data(), 6, 20, corners.data());
  ASSERT_EQ(kept, 4);
  std::vector<int> columns;
  for (int i = 0; i < kept; ++i) columns.push_back(corners[static_cast<size_t>(i)].x);
  EXPECT_THAT(columns, ElementsAre(1, 2, 3, 5));
}

TEST(KeepUnmaskedTest, AnyValueButZeroKeeps) {
  testing::TestImage mask(4, 1);
  mask.At(1, 0) = 1;
  mask.At(3, 0) = 255;
  std::vector<Corner> corners = Scored({9, 9, 9, 9});
  ASSERT_EQ(KeepUnmasked(mask.view(), corners.data(), 4), 2);
  EXPECT_EQ(corners[0].x, 1);
  EXPECT_EQ(corners[1].x, 3);
}

// Oracle: sort everything, walk over the ties.
std::multiset<uint64_t> BestBySorting(std::vector<uint64_t> keys, size_t wanted) {
  std::sort(keys.begin(), keys.end());
  size_t kept = std::min(wanted, keys.size());
  while (kept > 0 && kept < keys.size() &&
         algo::RankKeyResponse(keys[kept]) == algo::RankKeyResponse(keys[kept - 1])) {
    ++kept;
  }
  return {keys.begin(), keys.begin() + static_cast<ptrdiff_t>(kept)};
}

TEST(KeepBestKeysTest, EqualsSortingForAllSizesAndTies) {
  std::mt19937 random(20265);
  for (int round = 0; round < 400; ++round) {
    std::vector<uint64_t> keys;
    const int count = static_cast<int>(random() % 80);
    const uint32_t distinct = 1 + random() % 40;
    for (int i = 0; i < count; ++i) {
      const float response = (static_cast<float>(random() % distinct) - 10.0f) * 0.25f;
      keys.push_back(algo::RankKey(response, i, static_cast<int>(random() % 50)));
    }
    const int wanted = static_cast<int>(random() % 90);
    const std::multiset<uint64_t> expected = BestBySorting(keys, static_cast<size_t>(wanted));

    std::vector<uint64_t> one = keys;
    const int kept = KeepBestKeys(one.data(), count, wanted);
    EXPECT_EQ(std::multiset<uint64_t>(one.begin(), one.begin() + kept), expected);

    // The same cut over three runs.
    if (wanted == 0 || wanted > count) continue;
    const size_t third = keys.size() / 3;
    const absl::Span<const uint64_t> all(keys);
    const absl::Span<const uint64_t> runs[3] = {all.subspan(0, third), all.subspan(third, third),
                                                all.subspan(2 * third)};
    const uint32_t last = LastKeptOrder(runs, wanted);
    const int over_runs = KeepUpTo(keys.data(), count, last);
    EXPECT_EQ(std::multiset<uint64_t>(keys.begin(), keys.begin() + over_runs), expected);
  }
}

}  // namespace
}  // namespace orbserve::cpu
