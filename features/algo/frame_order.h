// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The order of keypoints over all levels of a frame: response down, level up, y up, x up. A rank
// key (features/algo/order.h) has response, y and x; the level stands beside it, as the four
// together need 66 bits.

#ifndef ORBSERVE_FEATURES_ALGO_FRAME_ORDER_H_
#define ORBSERVE_FEATURES_ALGO_FRAME_ORDER_H_

#include <cstdint>

#include "features/algo/order.h"
#include "features/host_device.h"

namespace orbserve::algo {

// The part of a rank key that orders responses; ascending = better first.
ORBSERVE_HOST_DEVICE constexpr uint32_t ResponseOrder(uint64_t key) {
  return static_cast<uint32_t>(key >> 32);
}

// True if keypoint a comes before keypoint b in the order of the frame.
ORBSERVE_HOST_DEVICE constexpr bool FramePrecedes(uint64_t key_a, int level_a, uint64_t key_b,
                                                  int level_b) {
  if (ResponseOrder(key_a) != ResponseOrder(key_b)) {
    return ResponseOrder(key_a) < ResponseOrder(key_b);
  }
  return level_a != level_b ? level_a < level_b : key_a < key_b;
}

// Number of keys of the sorted list `keys` whose response order is below `order`.
ORBSERVE_HOST_DEVICE inline int CountBelow(const uint64_t* keys, int number, uint64_t order) {
  int low = 0;
  int high = number;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (ResponseOrder(keys[middle]) < order) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Counts the keys of each level among the first `wanted` of the frame, exactly min(wanted, all)
// together. `keys[l]` holds `number[l]` keys of level l in ascending order; its first `kept[l]`
// keys are chosen. `wanted` >= 0.
ORBSERVE_HOST_DEVICE inline void KeepBestOfFrame(const uint64_t* const* keys, const int32_t* number,
                                                 int levels, int64_t wanted, int32_t* kept) {
  // The greatest order such that fewer than `wanted` + 1 keys lie below it, bit by bit.
  uint64_t cut = 0;
  for (int bit = 32; bit >= 0; --bit) {
    const uint64_t tried = cut | (uint64_t{1} << bit);
    if (tried > uint64_t{1} << 32) continue;  // 2^32 is above every order
    int64_t below = 0;
    for (int l = 0; l < levels; ++l) below += CountBelow(keys[l], number[l], tried);
    if (below <= wanted) cut = tried;
  }
  int64_t rest = wanted;
  for (int l = 0; l < levels; ++l) {
    kept[l] = CountBelow(keys[l], number[l], cut);
    rest -= kept[l];
  }
  // Keys that are equal to the cut go on by level, then by place: the first ones of each list.
  for (int l = 0; l < levels; ++l) {
    const int64_t ties = CountBelow(keys[l], number[l], cut + 1) - kept[l];
    const int64_t taken = Min(ties, rest);
    kept[l] += static_cast<int32_t>(taken);
    rest -= taken;
  }
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_FRAME_ORDER_H_
