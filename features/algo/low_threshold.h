// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The second, lower threshold of FAST: where a part of the level has no corner at the threshold,
// weaker ones stay.
//
// Corners are found and suppressed at the low threshold; border and mask follow. Then every cell of
// 32x32 pixels of the level, counted from (border, border), that holds a corner with a score of at
// least the threshold loses those below it. The score compared is the largest threshold, whatever
// ranks the keypoints.
// Source: R. Mur-Artal, J. Montiel & J. Tardos, "ORB-SLAM: a versatile and accurate monocular SLAM
// system", T-RO 2015, sec. V-A (adaptive threshold per cell); the rule is our own.

#ifndef ORBSERVE_FEATURES_ALGO_LOW_THRESHOLD_H_
#define ORBSERVE_FEATURES_ALGO_LOW_THRESHOLD_H_

#include <cstdint>

#include "features/host_device.h"

namespace orbserve::algo {

inline constexpr int kThresholdCellPx = 32;

// Columns, or rows, of cells along a side of `side_px`; 0 where the border leaves nothing.
ORBSERVE_HOST_DEVICE constexpr int ThresholdCells(int side_px, int border_px) {
  return side_px > 2 * border_px ? DivUp(side_px - 2 * border_px, kThresholdCellPx) : 0;
}

// Cell of the corner at (x, y), inside the border, of a level with `columns` cells in a row.
ORBSERVE_HOST_DEVICE constexpr int ThresholdCellOf(int x, int y, int border_px, int columns) {
  constexpr uint32_t kCellPx = kThresholdCellPx;  // unsigned: the division is a shift
  return static_cast<int>(static_cast<uint32_t>(y - border_px) / kCellPx) * columns +
         static_cast<int>(static_cast<uint32_t>(x - border_px) / kCellPx);
}

// True if a corner stays. `cell_is_strong`: its cell holds a corner of at least `threshold_grey`.
ORBSERVE_HOST_DEVICE constexpr bool PassesThresholds(int score, int threshold_grey,
                                                     bool cell_is_strong) {
  return score >= threshold_grey || !cell_is_strong;
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_LOW_THRESHOLD_H_
