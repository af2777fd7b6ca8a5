// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/kernels/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
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

TEST(RankScoresTest, OrdersByScoreThenRowThenColumn) {
  std::mt19937 random(5);
  for (const int number : {0, 1, 2, 700, 5000}) {
    for (const int highest : {1, 40, 255}) {
      std::vector<Corner> corners;
      std::vector<uint64_t> expected;
      for (int i = 0; i < number; ++i) {
        const int score = std::uniform_int_distribution<int>(0, highest)(random);
        corners.push_back({static_cast<int16_t>(8000 + i % 97), static_cast<int16_t>(i / 97),
                           static_cast<int16_t>(score)});
        const Corner& corner = corners.back();
        expected.push_back(algo::RankKey(corner.score, corner.x, corner.y));
      }
      std::sort(expected.begin(), expected.end());
      std::vector<uint64_t> keys(corners.size());
      RankScores(corners.data(), number, keys.data());
      ASSERT_EQ(keys, expected) << number << " corners, scores up to " << highest;
    }
  }
}

TEST(CountBestKeysTest, IsTheNumberThatKeepBestKeysKeeps) {
  std::vector<uint64_t> keys;
  for (const float response : {9.0f, 7.0f, 7.0f, 7.0f, 2.0f}) {
    keys.push_back(algo::RankKey(response, static_cast<int>(keys.size()), 0));
  }
  for (const int wanted : {-1, 0, 1, 2, 3, 4, 5, 6}) {
    std::vector<uint64_t> copy = keys;
    EXPECT_EQ(CountBestKeys(keys.data(), 5, wanted), KeepBestKeys(copy.data(), 5, wanted))
        << wanted;
  }
  EXPECT_EQ(CountBestKeys(nullptr, 0, 3), 0);
}

TEST(KeepUnmaskedTest, AnyValueButZeroKeeps) {
  testing::TestImage mask(4, 1);
  mask.At(1, 0) = 1;
  mask.At(3, 0) = 255;
  std::vector<Corner> corners = Scored({9, 9, 9, 9});
  ASSERT_EQ(KeepUnmasked(mask.view(), corners.data(), 4), 2);
  EXPECT_EQ(corners[0].x, 1);
  EXPECT_EQ(corners[1].x, 3);

  std::vector<uint64_t> keys;
  for (int x = 0; x < 4; ++x) keys.push_back(algo::RankKey(9.0f, x, 0));
  const std::vector<uint64_t> expected = {keys[1], keys[3]};
  ASSERT_EQ(KeepUnmasked(mask.view(), keys.data(), 4), 2);
  keys.resize(2);
  EXPECT_EQ(keys, expected);
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
  }
}

TEST(DivideBestTest, GivesExactlyTheFirstOfAllRunsByResponseThenRunThenPlace) {
  std::mt19937 random(20266);
  for (int round = 0; round < 400; ++round) {
    const uint32_t distinct = 1 + random() % 40;
    std::vector<uint64_t> keys[3];
    std::vector<std::pair<uint64_t, size_t>> all;
    for (size_t run = 0; run < 3; ++run) {
      const uint32_t count = random() % 40;
      for (uint32_t i = 0; i < count; ++i) {
        const float response = (static_cast<float>(random() % distinct) - 10.0f) * 0.25f;
        keys[run].push_back(
            algo::RankKey(response, static_cast<int>(i), static_cast<int>(random() % 50)));
      }
      std::vector<uint64_t> sorted = keys[run];
      std::sort(sorted.begin(), sorted.end());
      for (const uint64_t key : sorted) all.emplace_back(key, run);
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return algo::RankKeyResponse(a.first) > algo::RankKeyResponse(b.first);
    });
    const auto wanted = static_cast<size_t>(random() % 130);
    if (all.size() > wanted) all.resize(wanted);

    const absl::Span<const uint64_t> runs[3] = {keys[0], keys[1], keys[2]};
    int kept[3] = {-1, -1, -1};
    DivideBest(runs, static_cast<int64_t>(wanted), absl::MakeSpan(kept));
    for (size_t run = 0; run < 3; ++run) {
      std::multiset<uint64_t> expected;
      for (const auto& [key, of_run] : all) {
        if (of_run == run) expected.insert(key);
      }
      const int count =
          KeepFirstKeys(keys[run].data(), static_cast<int>(keys[run].size()), kept[run]);
      ASSERT_EQ(count, kept[run]);
      ASSERT_EQ(std::multiset<uint64_t>(keys[run].begin(), keys[run].begin() + count), expected);
    }
  }
}

TEST(SortKeysTest, EqualsSortingForAllSizesAndSpreads) {
  std::mt19937_64 random(7);
  for (const int number : {0, 1, 2, 511, 512, 513, 3000, 70'000}) {
    for (const uint64_t spread :
         {uint64_t{1}, uint64_t{3}, uint64_t{4095}, uint64_t{1} << 20, uint64_t{1} << 32}) {
      for (const bool has_outliers : {false, true}) {
        std::vector<uint64_t> keys;
        for (int i = 0; i < number; ++i) {
          const uint64_t order = has_outliers && random() % 500 == 0
                                     ? random() % 2 * 0xffffffffu
                                     : (uint64_t{1} << 32) - 1 - random() % spread;
          keys.push_back(order << 32 | (random() & 0xffffffffu));
        }
        std::vector<uint64_t> expected = keys;
        std::sort(expected.begin(), expected.end());
        SortKeys(keys.data(), number);
        ASSERT_EQ(keys, expected) << number << " keys, spread " << spread;
      }
    }
  }
}

}  // namespace
}  // namespace orbserve::cpu
