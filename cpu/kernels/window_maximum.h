// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Suppression of corners by their responses in a window (features/algo/window_maximum.h). The map
// of responses covers a few rows of a level and is sparse: corners are known by a list.

#ifndef ORBSERVE_CPU_KERNELS_WINDOW_MAXIMUM_H_
#define ORBSERVE_CPU_KERNELS_WINDOW_MAXIMUM_H_

#include <cstddef>
#include <cstdint>

#include "cpu/frame/corner.h"
#include "cpu/kernels/kernel_target.h"
#include "features/algo/window_maximum.h"

namespace orbserve::cpu {

// Entries to the left and to the right of a row of a map, and rows above and below a map, that
// kernels may read.
inline constexpr int kResponseMargin = 16;
inline constexpr int kResponseMarginRows = algo::kMaxWindowRadiusPx;

// Responses of the pixels (x0 .. x0 + width - 1, y0 .. y0 + height - 1) of a level; 0 where there
// is no corner. Rows are `pitch` entries apart. kResponseMargin entries before and after each row
// and kResponseMarginRows rows before the first and after the last one are 0.
struct ResponseRows {
  float* data;
  ptrdiff_t pitch;
  int x0;
  int y0;
  int width;
  int height;

  float* At(int x, int y) const { return data + (y - y0) * pitch + (x - x0); }
};

// Columns [begin, end) of a level.
struct Columns {
  int begin;
  int end;
};

// Writes the rank keys of those corners inside `columns` whose response is above 0 and strictly
// greater than every other in their window of 2 * `radius_px` + 1 pixels a side, in their order,
// and returns their number. `responses` are those of the corners; `keys` has room for them and one
// more. `radius_px`: 1..4. Corners keep `radius_px` rows to the ends of the map, or the level has
// no corners there.
using WindowMaximumKernel = int (*)(const ResponseRows& map, const Columns& columns,
                                    const Corner* corners, const float* responses, int count,
                                    int radius_px, uint64_t* keys);
int ReferenceWindowMaximum(const ResponseRows& map, const Columns& columns, const Corner* corners,
                           const float* responses, int count, int radius_px, uint64_t* keys);
WindowMaximumKernel WindowMaximumKernelFor(const KernelTarget& target);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_KERNELS_WINDOW_MAXIMUM_H_
