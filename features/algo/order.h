// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The order in which keypoints rank and leave: response down, then y up, then x up. Never by
// arrival, so that neither threads nor batches show in an answer.

#ifndef ORBSERVE_FEATURES_ALGO_ORDER_H_
#define ORBSERVE_FEATURES_ALGO_ORDER_H_

#include <cstdint>
#include <cstring>

#include "features/host_device.h"

namespace orbserve::algo {

// Integer that orders single-precision values as `<` does (no NaN): a < b exactly if
// OrderedBits(a) < OrderedBits(b). Both zeros are equal.
ORBSERVE_HOST_DEVICE inline uint32_t OrderedBits(float value) {
  value += 0.0f;  // -0 becomes +0
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// The value that OrderedBits() was given; +0 for -0.
ORBSERVE_HOST_DEVICE inline float ValueOfOrderedBits(uint32_t ordered) {
  const uint32_t bits = (ordered & 0x80000000u) != 0 ? ordered & 0x7fffffffu : ~ordered;
  float value = 0.0f;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

// Ascending keys put keypoints of one level in order. 0 <= x, y < 65536.
ORBSERVE_HOST_DEVICE inline uint64_t RankKey(float response, int x, int y) {
  return (static_cast<uint64_t>(~OrderedBits(response)) << 32) | (static_cast<uint32_t>(y) << 16) |
         static_cast<uint32_t>(x);
}
ORBSERVE_HOST_DEVICE inline float RankKeyResponse(uint64_t key) {
  return ValueOfOrderedBits(~static_cast<uint32_t>(key >> 32));
}
ORBSERVE_HOST_DEVICE inline int RankKeyX(uint64_t key) { return static_cast<int>(key & 0xffff); }
ORBSERVE_HOST_DEVICE inline int RankKeyY(uint64_t key) {
  return static_cast<int>((key >> 16) & 0xffff);
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_ORDER_H_
