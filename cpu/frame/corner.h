// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_FRAME_CORNER_H_
#define ORBSERVE_CPU_FRAME_CORNER_H_

#include <cstdint>

namespace orbserve::cpu {

// A pixel of one level that a detector found and suppression left, in pixels of its level.
struct Corner {
  int16_t x;
  int16_t y;
  int16_t score;  // FAST score: the largest threshold at which it still is a corner, 1..254

  bool operator==(const Corner&) const = default;
};

// Entries that a detector's kernel may write beyond the bound MaxCorners() of its region.
inline constexpr int64_t kCornerSlack = 64;

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_FRAME_CORNER_H_
