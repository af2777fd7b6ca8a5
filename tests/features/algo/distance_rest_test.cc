// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/algo/distance_rest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/support/method_oracle.h"
#include "tests/support/order_map.h"

namespace orbserve::algo {
namespace {

using ::orbserve::testing::DistanceRulesOf;
using ::orbserve::testing::OrderMap;
using ::orbserve::testing::Pick;
using ::orbserve::testing::PickOf;
using ::orbserve::testing::RandomOrderMap;

struct RestCounts {
  int cells = 0;
  int corners = 0;
};

// Decides `rest`, cells of a level of which all others are decided as the pick says, in the steps
// of a kernel and in random order. Compares every cell with the pick.
template <typename Places>
RestCounts CompareWithPick(const OrderMap& map, const DistanceRule& rule, const Places& places,
                           std::vector<int> rest, std::mt19937* random) {
  const DistanceGrid level = DistanceGrid::Of(rule, 0, 0, map.width, map.height);
  const Pick pick = PickOf(map, rule, 0);
  std::vector<uint32_t> expected(static_cast<size_t>(level.count()), 0);
  for (const uint64_t key : pick.keys) {
    const int u = level.PlaceU(key);
    const int v = level.PlaceV(key);
    const auto i = static_cast<size_t>(v / rule.cell_side * level.columns + u / rule.cell_side);
    expected[i] =
        InsideEntryOf(level, key, pick.passes[static_cast<size_t>(v * rule.Places(map.width) + u)]);
  }
  std::vector<uint32_t> inside = expected;
  for (const int i : rest) inside[static_cast<size_t>(i)] = kUndecidedCell;
  std::vector<uint64_t> best(inside.size(), 0);  // those of decided cells mean nothing
  const OneLane lane;
  RestCounts counts;

  // Entries change together at the end of a step.
  std::vector<uint32_t> found;
  const auto step = [&](const auto& entry_of) {
    std::shuffle(rest.begin(), rest.end(), *random);
    found = inside;
    for (const int i : rest)
      found[static_cast<size_t>(i)] = entry_of(i, inside[static_cast<size_t>(i)]);
    const bool changes = found != inside;
    inside = found;
    return changes;
  };
  const auto count_of = [&](const auto& is_one) {
    return std::count_if(rest.begin(), rest.end(),
                         [&](int i) { return is_one(inside[static_cast<size_t>(i)]); });
  };
  const auto is_undecided = [](uint32_t entry) { return entry == kUndecidedCell; };
  while (count_of(is_undecided) > 0) {
    for (const int i : rest) {
      best[static_cast<size_t>(i)] =
          BestOfRest(level, places, inside.data(), i % level.columns, i / level.columns, lane);
    }
    const bool changes = step([&](int i, uint32_t entry) {
      if (entry != kUndecidedCell) return entry;
      const uint64_t own = best[static_cast<size_t>(i)];
      if (own == kNoCandidate) return 0u;
      return RestBecomesInside(level, best.data(), inside.data(), i % level.columns,
                               i / level.columns, own, lane)
                 ? InsideEntryOf(level, own, kUnknownPass)
                 : kUndecidedCell;
    });
    EXPECT_TRUE(changes);
    if (!changes) return counts;
  }
  const auto is_unknown = [](uint32_t entry) {
    return entry != 0 && InsidePass(entry) == kUnknownPass;
  };
  while (count_of(is_unknown) > 0) {
    const bool changes = step([&](int i, uint32_t entry) {
      if (!is_unknown(entry)) return entry;
      return InsideEntry(
          RestPass(level, places, inside.data(), i % level.columns, i / level.columns, lane),
          InsidePlace(entry));
    });
    EXPECT_TRUE(changes);
    if (!changes) return counts;
  }
  EXPECT_EQ(inside, expected);
  for (const int i : rest) {
    ++counts.cells;
    if (expected[static_cast<size_t>(i)] != 0) ++counts.corners;
  }
  return counts;
}

RestCounts CompareWithPick(OrderMap map, const DistanceRule& rule, const std::vector<int>& rest,
                           std::mt19937* random) {
  const PixelPlaces pixels = {map.orders.data(), map.width, 0};
  const BlockPlaces blocks = {pixels, 0, 0, map.width, map.height};
  return rule.pixels_per_place == 2 ? CompareWithPick(map, rule, blocks, rest, random)
                                    : CompareWithPick(map, rule, pixels, rest, random);
}

TEST(DistanceRestTest, AnyCellsAreDecidedAsThePickDoes) {
  constexpr uint32_t kSeed = 91;
  std::mt19937 random(kSeed);
  RestCounts all;
  for (int n = 0; n < 200; ++n) {
    const int width = 1 + static_cast<int>(random() % 90);
    const int height = 1 + static_cast<int>(random() % 90);
    const unsigned levels = n % 5 == 0 ? 3 : n % 5 == 1 ? 1 : 100'000;
    const OrderMap map = RandomOrderMap(width, height, 1 + random() % 4, levels, &random);
    const int d = 2 + static_cast<int>(random() % (n % 2 == 0 ? 6 : 15));
    for (const DistanceRule& rule : DistanceRulesOf(d)) {
      const DistanceGrid level = DistanceGrid::Of(rule, 0, 0, width, height);
      const unsigned share = 1 + random() % 8;  // all cells, down to one in eight
      std::vector<int> rest;
      for (int i = 0; i < level.count(); ++i) {
        if (random() % share == 0) rest.push_back(i);
      }
      const RestCounts counts = CompareWithPick(map, rule, rest, &random);
      all.cells += counts.cells;
      all.corners += counts.corners;
      ASSERT_FALSE(HasFailure()) << "seed " << kSeed << " map " << n << ", " << width << " x "
                                 << height << " d " << d << (rule.below_squared > 0 ? " disc" : "");
    }
  }
  EXPECT_GT(all.cells, 10'000);
  EXPECT_GT(all.corners, 2'000);
}

// In a chain every cell waits for the one before it.
TEST(DistanceRestTest, ChainsAreDecidedToTheirEnd) {
  std::mt19937 random(92);
  for (const int d : {2, 5, 9}) {
    const OrderMap map = testing::SnakeOrderMap(120, 40, 2 * d);
    for (const DistanceRule& rule : DistanceRulesOf(d)) {
      const DistanceGrid level = DistanceGrid::Of(rule, 0, 0, map.width, map.height);
      std::vector<int> rest;
      for (int i = 0; i < level.count(); ++i) rest.push_back(i);
      EXPECT_GT(CompareWithPick(map, rule, rest, &random).corners, 5) << d;
    }
  }
}

}  // namespace
}  // namespace orbserve::algo
