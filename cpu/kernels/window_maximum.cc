// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/kernels/window_maximum.h"

#include "features/algo/order.h"
#include "features/algo/window_maximum.h"

namespace orbserve::cpu {

int ReferenceWindowMaximum(const ResponseRows& map, const Columns& columns, const Corner* corners,
                           const float* responses, int count, int radius_px, uint64_t* keys) {
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    const int x = corners[i].x;
    const int y = corners[i].y;
    if (x < columns.begin || x >= columns.end) continue;
    if (algo::IsWindowMaximum(map.data, map.pitch, map.width, map.height, x - map.x0, y - map.y0,
                              radius_px)) {
      keys[kept++] = algo::RankKey(responses[i], x, y);
    }
  }
  return kept;
}

}  // namespace orbserve::cpu
