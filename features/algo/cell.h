// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// One grid of cells for all levels of a frame, and the two ways to use it: the best keypoint of
// each cell ("suppression CELL"), and rounds over the cells ("selection CELL").
//
//   level 0, cells of cw x ch        level 1 (scale 2): a cell has cw/2 x ch/2 pixels
//   +------+------+----+             +---+---+--+
//   | 0    | 1    | 2  |             | 0 | 1 |2 |       Keypoint (x, y) of a level lies in the cell
//   +------+------+----+             +---+---+--+       of (x * scale, y * scale), rounded down and
//   | 3    | 4    | 5  |             | 3 | 4 |5 |       clamped into level 0.
//   +------+------+----+             +---+---+--+
//
// Source: B. Nagy, P. Foehn & D. Scaramuzza, "Faster than FAST: GPU-accelerated frontend for
// high-speed VIO", IROS 2020, sec. II-C: one winner a cell, over all levels together.

#ifndef ORBSERVE_FEATURES_ALGO_CELL_H_
#define ORBSERVE_FEATURES_ALGO_CELL_H_

#include <cstdint>

#include "features/algo/frame_order.h"
#include "features/host_device.h"

namespace orbserve::algo {

// Cells of a frame whose level 0 has width_px x height_px pixels. Cells are numbered row by row.
struct CellGrid {
  int32_t width_px;
  int32_t height_px;
  int32_t cell_width_px;
  int32_t cell_height_px;
  int32_t columns;
  int32_t rows;

  ORBSERVE_HOST_DEVICE constexpr int count() const { return columns * rows; }
};

ORBSERVE_HOST_DEVICE constexpr CellGrid CellGridOf(int width_px, int height_px, int cell_width_px,
                                                   int cell_height_px) {
  return {width_px,
          height_px,
          cell_width_px,
          cell_height_px,
          DivUp(width_px, cell_width_px),
          DivUp(height_px, cell_height_px)};
}

// Level-0 pixel of coordinate `x` of a level with `scale`, in a level 0 of `side_px`. One product
// of single precision.
ORBSERVE_HOST_DEVICE constexpr int LevelZeroPixel(int x, float scale, int side_px) {
  return Min(static_cast<int>(static_cast<float>(x) * scale), side_px - 1);
}

// Cell of keypoint (x, y) of a level with `scale`.
ORBSERVE_HOST_DEVICE constexpr int CellOf(const CellGrid& grid, int x, int y, float scale) {
  const int column = LevelZeroPixel(x, scale, grid.width_px) / grid.cell_width_px;
  const int row = LevelZeroPixel(y, scale, grid.height_px) / grid.cell_height_px;
  return row * grid.columns + column;
}

// A coordinate of a level below which nothing of the cell at `cell` (a column or a row of cells of
// `cell_px`) lies, so that coordinates in a cell can be told by 10 bits.
ORBSERVE_HOST_DEVICE constexpr int CellOrigin(int cell, int cell_px, float scale) {
  return Max(static_cast<int>(static_cast<float>(cell * cell_px) / scale) - 1, 0);
}

inline constexpr int kCellOffsetBits = 10;
// Greater than every key.
inline constexpr uint64_t kNoCellKey = ~uint64_t{0};

// Key of a keypoint that orders those of its cell, over all levels, by one comparison: ascending =
// the order of the frame. One atomic minimum per keypoint finds the winner of every cell. The
// cell's sides are 512 pixels at most; `level`: 0..15.
ORBSERVE_HOST_DEVICE inline uint64_t CellKey(const CellGrid& grid, float response, int level, int x,
                                             int y, float scale) {
  const int cell = CellOf(grid, x, y, scale);
  const int left = CellOrigin(cell % grid.columns, grid.cell_width_px, scale);
  const int top = CellOrigin(cell / grid.columns, grid.cell_height_px, scale);
  const uint32_t place = static_cast<uint32_t>(level) << (2 * kCellOffsetBits) |
                         static_cast<uint32_t>(y - top) << kCellOffsetBits |
                         static_cast<uint32_t>(x - left);
  return static_cast<uint64_t>(~OrderedBits(response)) << 32 | place;
}
ORBSERVE_HOST_DEVICE constexpr int CellKeyLevel(uint64_t key) {
  return static_cast<int>(key >> (2 * kCellOffsetBits)) & 15;
}
// The rank key of the keypoint with CellKey() `key` in `cell`; `scale`: of its level.
ORBSERVE_HOST_DEVICE inline uint64_t CellKeyRank(const CellGrid& grid, uint64_t key, int cell,
                                                 float scale) {
  constexpr int kOffsetMask = (1 << kCellOffsetBits) - 1;
  const int x = CellOrigin(cell % grid.columns, grid.cell_width_px, scale) +
                (static_cast<int>(key) & kOffsetMask);
  const int y = CellOrigin(cell / grid.columns, grid.cell_height_px, scale) +
                (static_cast<int>(key >> kCellOffsetBits) & kOffsetMask);
  return (key >> 32 << 32) | static_cast<uint64_t>(y) << 16 | static_cast<uint64_t>(x);
}

// Selection by rounds: the best of all cells, then the second best of all cells, and so on; inside
// a round the order of the frame. `place` counts the keypoints of the same cell that precede, from
// 0.
ORBSERVE_HOST_DEVICE constexpr bool CellRoundPrecedes(int place_a, uint64_t key_a, int level_a,
                                                      int place_b, uint64_t key_b, int level_b) {
  return place_a != place_b ? place_a < place_b : FramePrecedes(key_a, level_a, key_b, level_b);
}

// The first `wanted` keypoints by rounds. `cell[i]` is the cell of keypoint i, keypoints being in
// the order of the frame; keep[i] becomes 1 or 0. Returns the number kept, min(wanted, number).
// `cell_sizes`: scratch for the grid's number of cells; `round_sizes`: scratch for `number`.
ORBSERVE_HOST_DEVICE inline int KeepCellRounds(const int32_t* cell, int number, int cells,
                                               int wanted, int32_t* cell_sizes,
                                               int32_t* round_sizes, uint8_t* keep) {
  for (int c = 0; c < cells; ++c) cell_sizes[c] = 0;
  for (int i = 0; i < number; ++i) round_sizes[i] = 0;
  for (int i = 0; i < number; ++i) ++round_sizes[cell_sizes[cell[i]]++];
  int last_round = 0;  // the round that is kept in part
  int rest = wanted;
  while (last_round < number && round_sizes[last_round] <= rest) rest -= round_sizes[last_round++];
  for (int c = 0; c < cells; ++c) cell_sizes[c] = 0;
  int kept = 0;
  for (int i = 0; i < number; ++i) {
    const int round = cell_sizes[cell[i]]++;
    const bool stays = round < last_round || (round == last_round && rest-- > 0);
    keep[i] = stays ? 1 : 0;
    kept += stays ? 1 : 0;
  }
  return kept;
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_CELL_H_
