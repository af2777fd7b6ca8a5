// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Non-maximum suppression in windows of 3x3 to 9x9 pixels over a map of responses that covers the
// whole level. Pixels under the mask and outside the border take part as neighbours; outside the
// level there is nothing.
//
//   window 5                a pixel stays if its value is above 0 and strictly greater than each of
//   . . . . .               the others. Equal neighbours remove each other, so that no order is
//   . . . . .               needed and the answer is one.
//   . . p . .
//   . . . . .               The test is the same as "p is the maximum of its window, and the window
//   . . . . .               holds it once"; the maximum may be taken over rows first.
//
// Source: A. Neubeck & L. Van Gool, "Efficient non-maximum suppression", ICPR 2006, sec. 1; B.
// Nagy, P. Foehn & D. Scaramuzza, "Faster than FAST", IROS 2020, sec. II-C.

#ifndef ORBSERVE_FEATURES_ALGO_WINDOW_MAXIMUM_H_
#define ORBSERVE_FEATURES_ALGO_WINDOW_MAXIMUM_H_

#include <cstddef>
#include <cstdint>

#include "features/host_device.h"

namespace orbserve::algo {

inline constexpr int kMaxWindowRadiusPx = 4;

// True if the value of `map` at (x, y), rows `pitch` elements apart, stays. `radius_px`: 1..4 for
// windows of 3 to 9. T: any type whose non-corners are 0 or below.
template <typename T>
ORBSERVE_HOST_DEVICE inline bool IsWindowMaximum(const T* map, ptrdiff_t pitch, int width_px,
                                                 int height_px, int x, int y, int radius_px) {
  const T value = map[y * pitch + x];
  if (!(value > T{0})) return false;
  for (int v = Max(y - radius_px, 0); v <= Min(y + radius_px, height_px - 1); ++v) {
    for (int u = Max(x - radius_px, 0); u <= Min(x + radius_px, width_px - 1); ++u) {
      if ((u != x || v != y) && map[v * pitch + u] >= value) return false;
    }
  }
  return true;
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_WINDOW_MAXIMUM_H_
