// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/kernels/blur_runs.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace orbserve::cpu {

// Marked tiles below each other make a run; runs beside each other are joined where smoothing the
// hull of both costs no more than smoothing them one by one. A band of tile rows at a time, so that
// what neighbouring runs read of the image is in the first cache still.
int MakeBlurRuns(const uint8_t* marks, int columns, int rows, BlurRun* runs) {
  int count = 0;
  for (int band = 0; band < rows; band += kMaxBlurRunTiles) {
    const int band_end = std::min(band + kMaxBlurRunTiles, rows);
    // Number of the first run of this column, and of each column that a joined run can span.
    std::array<int, kMaxBlurRunColumns + 1> first_of;
    first_of.fill(count);
    for (int column = 0; column < columns; ++column) {
      std::copy(first_of.begin() + 1, first_of.end(), first_of.begin());
      first_of.back() = count;
      const uint8_t* const marked = marks + static_cast<ptrdiff_t>(column) * rows;
      for (int row = band; row < band_end; ++row) {
        if (marked[row] == 0) continue;
        BlurRun run = {column, column + 1, row, row + 1};
        while (run.row_end < band_end && marked[run.row_end] != 0) ++run.row_end;
        row = run.row_end;
        runs[count++] = run;
      }
      for (int right = first_of.back(); right < count; ++right) {
        for (int left = first_of[kMaxBlurRunColumns - 1]; left < first_of.back(); ++left) {
          if (!runs[left].JoinsWith(runs[right])) continue;
          const BlurRun hull = runs[left].HullWith(runs[right]);
          // No tile may belong to two runs: they are smoothed at the same time.
          bool free = true;
          for (int i = first_of.front(); i < count; ++i) {
            free = free && (i == left || i == right || !runs[i].Overlaps(hull));
          }
          if (!free) continue;
          // The hull takes the place of the right one, where the next column looks for it.
          runs[right] = hull;
          runs[left] = {};
          break;
        }
      }
    }
  }
  return static_cast<int>(
      std::remove_if(runs, runs + count,
                     [](const BlurRun& run) { return run.column_begin == run.column_end; }) -
      runs);
}

}  // namespace orbserve::cpu
