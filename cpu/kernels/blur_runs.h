// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Parts of a level that are smoothed: the tiles that described points read, and nothing else.

#ifndef ORBSERVE_CPU_KERNELS_BLUR_RUNS_H_
#define ORBSERVE_CPU_KERNELS_BLUR_RUNS_H_

#include <cstdint>

#include "features/host_device.h"

namespace orbserve::cpu {

// Tiles of the smoothed level: what described points read is smoothed, nothing else. A tile is as
// wide as the Gaussian kernel may write past its region; low tiles leave little smoothed for
// nothing.
inline constexpr int kBlurTileWidthPx = 64;
inline constexpr int kBlurTileHeightPx = 8;
// Most tiles that are smoothed in one go, in both directions: the kernel itself proceeds in strips
// of four tiles, and more rows save little, as only the six at the ends are filtered twice.
inline constexpr int kMaxBlurRunTiles = 16;
inline constexpr int kMaxBlurRunColumns = 4;

// A rectangle of tiles that is smoothed in one go.
struct BlurRun {
  int column_begin = 0;
  int column_end = 0;  // = column_begin: empty
  int row_begin = 0;
  int row_end = 0;

  int Tiles() const { return (column_end - column_begin) * (row_end - row_begin); }
  // In tiles. Six rows are filtered beyond a run's own, three quarters of a tile; in each row, the
  // pixels of somewhat less than half a tile are converted beyond its own.
  float Cost() const {
    return (static_cast<float>(row_end - row_begin) + 0.75f) *
           (static_cast<float>(column_end - column_begin) + 0.4f);
  }
  // `right` begins at the column where this one ends.
  BlurRun HullWith(const BlurRun& right) const {
    return {column_begin, right.column_end, Min(row_begin, right.row_begin),
            Max(row_end, right.row_end)};
  }
  bool Overlaps(const BlurRun& other) const {
    return column_begin < other.column_end && other.column_begin < column_end &&
           row_begin < other.row_end && other.row_begin < row_end;
  }
  // True if both are better smoothed as one.
  bool JoinsWith(const BlurRun& right) const {
    return column_begin < column_end && right.column_end - column_begin <= kMaxBlurRunColumns &&
           HullWith(right).Cost() <= Cost() + right.Cost();
  }
};

// Divides the marked tiles into runs, no tile in two of them. `marks`: [columns][rows], 0 = not
// marked. `runs` has room for columns * rows. Returns their number.
int MakeBlurRuns(const uint8_t* marks, int columns, int rows, BlurRun* runs);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_KERNELS_BLUR_RUNS_H_
