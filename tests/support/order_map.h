// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Maps of responses for tests of the minimum distance, made or random.

#ifndef ORBSERVE_TESTS_SUPPORT_ORDER_MAP_H_
#define ORBSERVE_TESTS_SUPPORT_ORDER_MAP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "features/algo/minimum_distance.h"
#include "features/algo/order.h"

namespace orbserve::testing {

// A map of OrderedBits(), 0 = no candidate.
struct OrderMap {
  int width = 0;
  int height = 0;
  std::vector<uint32_t> orders;

  OrderMap(int w, int h)
      : width(w), height(h), orders(static_cast<size_t>(w) * static_cast<size_t>(h)) {}
  uint32_t& At(int x, int y) {
    return orders[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)];
  }
  std::vector<uint64_t> Keys() const {
    std::vector<uint64_t> keys;
    for (size_t i = 0; i < orders.size(); ++i) {
      if (orders[i] == 0) continue;
      const int x = static_cast<int>(i % static_cast<size_t>(width));
      const int y = static_cast<int>(i / static_cast<size_t>(width));
      keys.push_back(algo::RankKey(algo::ValueOfOrderedBits(orders[i]), x, y));
    }
    std::sort(keys.begin(), keys.end());
    return keys;
  }
};

// The sequential pick over a map.
struct Pick {
  std::vector<uint64_t> keys;   // of the corners, in rank order
  std::vector<int32_t> passes;  // per place: the pass in which its candidate left; 0 = none
  int most_passes = 0;
};
inline Pick PickOf(const OrderMap& map, const algo::DistanceRule& rule, int max_passes) {
  Pick pick;
  pick.passes.resize(static_cast<size_t>(rule.Places(map.width)) *
                     static_cast<size_t>(rule.Places(map.height)));
  std::vector<uint16_t> inside(static_cast<size_t>(rule.Cells(map.width)) *
                               static_cast<size_t>(rule.Cells(map.height)));
  pick.keys = map.Keys();
  const int kept = algo::KeepByDistance(pick.keys.data(), static_cast<int>(pick.keys.size()), rule,
                                        map.width, map.height, max_passes,
                                        {pick.passes.data(), inside.data()}, &pick.most_passes);
  pick.keys.resize(static_cast<size_t>(kept));
  return pick;
}

// The rules of distance `d`: square, disc, and square with compression.
inline std::vector<algo::DistanceRule> DistanceRulesOf(int d) {
  return {algo::DistanceRuleOf(d, false, false), algo::DistanceRuleOf(d, true, false),
          algo::DistanceRuleOf(d, false, true)};
}

// `density` quarters of the pixels are candidates, with one of `levels` responses.
inline OrderMap RandomOrderMap(int width, int height, unsigned density, unsigned levels,
                               std::mt19937* random) {
  OrderMap map(width, height);
  for (uint32_t& order : map.orders) {
    if ((*random)() % 4 >= density) continue;
    order = algo::OrderedBits(static_cast<float>((*random)() % levels));
  }
  return map;
}

// Responses fall by one a pixel along a corridor that goes to and fro, rows `spacing` apart.
inline OrderMap SnakeOrderMap(int width, int height, int spacing) {
  OrderMap map(width, height);
  float response = 1e6f;
  for (int y = 0; y < height; y += spacing) {
    const bool turns = y / spacing % 2 != 0;
    for (int i = 0; i < width; ++i) {
      map.At(turns ? width - 1 - i : i, y) = algo::OrderedBits(response);
      response -= 1.0f;
    }
    for (int v = y + 1; v < std::min(y + spacing, height); ++v) {
      map.At(turns ? 0 : width - 1, v) = algo::OrderedBits(response);
      response -= 1.0f;
    }
  }
  return map;
}

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_ORDER_MAP_H_
