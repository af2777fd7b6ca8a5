// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Minimum distance between the kept corners of a level.
//
// The result is that of a pick: candidates in rank order, each kept unless one kept before is in
// conflict. Two candidates are in conflict when both dx and dy are below the distance d (square),
// or when dx^2 + dy^2 < d^2 (disc).
//
// Labels give the same result in parallel. All candidates begin undefined. A pass has two halves,
// each of which reads the labels from before it:
//
//   a. an undefined candidate that outranks all undefined ones it is in conflict with: inside;
//   b. an undefined candidate in conflict with an inside one: outside.
//
//   rank        5 ---- 3 ---- 1 ---- 2 ---- 4      neighbours are in conflict
//   pass 1        u      out    in     out    u
//   pass 2        in                          in
//
// Passes repeat until nothing is undefined; each adds at least one. A pass limit drops what is
// still undefined. The pass of each candidate follows in rank order, too: it comes inside one pass
// after the last better one it is in conflict with has gone outside; it goes outside in the pass of
// the first inside one. So the sequential pick can count passes and keep to a limit.
//
// Compression of the cornerness map (lossy): each 2x2 block of pixels is one candidate, the first
// in rank order of its up to four, in conflict with blocks up to d / 2 away in x and in y (d / 2
// truncated: answered corners still keep the distance).
// Compression of the label map (lossless): grid cells so small that they hold one inside place at
// most.
//
// Source: L. Teixeira, W. Celes & M. Gattass, "Accelerated corner-detector algorithms", BMVC 2008,
// sec. 3.1 (labels), 3.3 and 3.4 (compressions), window Delta = 2d - 1. One pass here is two of the
// paper's, which label either insides or outsides.

#ifndef ORBSERVE_FEATURES_ALGO_MINIMUM_DISTANCE_H_
#define ORBSERVE_FEATURES_ALGO_MINIMUM_DISTANCE_H_

#include <cstddef>
#include <cstdint>

#include "features/algo/order.h"
#include "features/host_device.h"

namespace orbserve::algo {

// When two places are in conflict. Places are pixels of the level, or blocks of 2x2 pixels where
// the cornerness map is compressed.
struct DistanceRule {
  int32_t pixels_per_place;  // 1, or 2 with compression
  int32_t reach;             // conflicts lie within this many places in x and in y
  int32_t below_squared;     // disc: only squared distances below this conflict; 0 = square
  int32_t cell_side;         // cells of so many places hold one inside place at most

  ORBSERVE_HOST_DEVICE constexpr bool Conflicts(int dx, int dy) const {
    if (below_squared > 0) return dx * dx + dy * dy < below_squared;
    return -reach <= dx && dx <= reach && -reach <= dy && dy <= reach;
  }
  // Places along a side of `side_px` pixels, and cells along it.
  ORBSERVE_HOST_DEVICE constexpr int Places(int side_px) const {
    return DivUp(side_px, pixels_per_place);
  }
  ORBSERVE_HOST_DEVICE constexpr int Cells(int side_px) const {
    return DivUp(Places(side_px), cell_side);
  }
};

// `minimum_distance_px`: 1..64; 1 suppresses nothing and is never compressed. `is_disc` and
// `is_compressed` exclude each other.
ORBSERVE_HOST_DEVICE constexpr DistanceRule DistanceRuleOf(int minimum_distance_px, bool is_disc,
                                                           bool is_compressed) {
  const int d = minimum_distance_px;
  if (is_compressed && d > 1) return {2, d / 2, 0, d / 2 + 1};
  if (!is_disc) return {1, d - 1, 0, d};
  int side = 1;  // the largest square whose diagonal, side - 1 steps each way, is below d
  while (2 * side * side < d * d) ++side;
  return {1, d - 1, d * d, side};
}

// Memory of the pick: what it has decided so far.
struct DistancePickScratch {
  int32_t* passes;   // per place, 0 at first: the pass in which its candidate left the undefined
  uint16_t* inside;  // per cell, 0 at first: 1 + its inside place, counted row by row
};

// Moves the keys of the corners that are kept to the front, in rank order, and returns their
// number. `keys`: `number` rank keys of one level in ascending order. `max_passes`: 0 = to the end.
// `passes` is set to the passes done: the most that any candidate took, cut at `max_passes`.
// `width_px`, `height_px`: the level's. Scratch has rule.Places() by rule.Places() and
// rule.Cells() by rule.Cells() entries, which the caller has set to 0.
ORBSERVE_HOST_DEVICE inline int KeepByDistance(uint64_t* keys, int number, const DistanceRule& rule,
                                               int width_px, int height_px, int max_passes,
                                               const DistancePickScratch& scratch, int* passes) {
  const int columns = rule.Places(width_px);
  const int rows = rule.Places(height_px);
  const int cell_columns = rule.Cells(width_px);
  const int cell_rows = rule.Cells(height_px);
  const int side = rule.cell_side;
  const int cell_reach = DivUp(rule.reach, side);
  int kept = 0;
  int last_pass = 0;
  for (int i = 0; i < number; ++i) {
    const int x = RankKeyX(keys[i]) / rule.pixels_per_place;
    const int y = RankKeyY(keys[i]) / rule.pixels_per_place;
    int32_t* const pass_of = scratch.passes + static_cast<ptrdiff_t>(y) * columns + x;
    if (*pass_of != 0) continue;  // a better candidate stands for this block

    int outside_pass = 0;  // the first pass in which an inside place is in conflict; 0 = none
    const int sx = x / side;
    const int sy = y / side;
    for (int v = Max(sy - cell_reach, 0); v <= Min(sy + cell_reach, cell_rows - 1); ++v) {
      for (int u = Max(sx - cell_reach, 0); u <= Min(sx + cell_reach, cell_columns - 1); ++u) {
        const int entry = scratch.inside[static_cast<ptrdiff_t>(v) * cell_columns + u];
        if (entry == 0) continue;
        const int other_x = u * side + (entry - 1) % side;
        const int other_y = v * side + (entry - 1) / side;
        if (!rule.Conflicts(other_x - x, other_y - y)) continue;
        const int pass = scratch.passes[static_cast<ptrdiff_t>(other_y) * columns + other_x];
        outside_pass = outside_pass == 0 ? pass : Min(outside_pass, pass);
      }
    }
    if (outside_pass != 0) {
      *pass_of = outside_pass;
      continue;
    }
    int pass = 0;
    for (int v = Max(y - rule.reach, 0); v <= Min(y + rule.reach, rows - 1); ++v) {
      for (int u = Max(x - rule.reach, 0); u <= Min(x + rule.reach, columns - 1); ++u) {
        if (!rule.Conflicts(u - x, v - y)) continue;
        pass = Max(pass, scratch.passes[static_cast<ptrdiff_t>(v) * columns + u]);
      }
    }
    ++pass;
    *pass_of = pass;
    scratch.inside[static_cast<ptrdiff_t>(sy) * cell_columns + sx] =
        static_cast<uint16_t>(1 + y % side * side + x % side);
    last_pass = Max(last_pass, pass);
    if (max_passes == 0 || pass <= max_passes) keys[kept++] = keys[i];
  }
  *passes = max_passes == 0 ? last_pass : Min(last_pass, max_passes);
  return kept;
}

// --- Passes over maps ---
//
// A map of keys has one rank key per place: the undefined candidate's, or kNoCandidate. A label map
// has one byte per place, not 0 for an inside one. Rank keys are different from each other, so that
// "outranks" is "smaller", and both halves of a pass are minima over the reach: with a square they
// may be taken over rows first and columns next.

inline constexpr uint64_t kNoCandidate = ~uint64_t{0};

// Half a: true if the undefined candidate at (x, y) outranks all that it is in conflict with. Rows
// are `columns` entries apart.
ORBSERVE_HOST_DEVICE inline bool BecomesInside(const uint64_t* keys, int columns, int rows, int x,
                                               int y, const DistanceRule& rule) {
  const uint64_t own = keys[static_cast<ptrdiff_t>(y) * columns + x];
  if (own == kNoCandidate) return false;
  for (int v = Max(y - rule.reach, 0); v <= Min(y + rule.reach, rows - 1); ++v) {
    for (int u = Max(x - rule.reach, 0); u <= Min(x + rule.reach, columns - 1); ++u) {
      if (!rule.Conflicts(u - x, v - y)) continue;
      if (keys[static_cast<ptrdiff_t>(v) * columns + u] < own) return false;
    }
  }
  return true;
}

// True if candidate a outranks candidate b, where a map holds OrderedBits() of responses alone and
// their places tell the rest. `order_*`: OrderedBits(); x and y in pixels of the level, with
// compression those of the pixel that stands for its block.
ORBSERVE_HOST_DEVICE constexpr bool Outranks(uint32_t order_a, int x_a, int y_a, uint32_t order_b,
                                             int x_b, int y_b) {
  if (order_a != order_b) return order_a > order_b;
  return y_a != y_b ? y_a < y_b : x_a < x_b;
}

// Half b: true if the candidate at (x, y) is inside or in conflict with an inside one. It is then
// no longer undefined, and the caller sets its key to kNoCandidate.
ORBSERVE_HOST_DEVICE inline bool MeetsInside(const uint8_t* inside, int columns, int rows, int x,
                                             int y, const DistanceRule& rule) {
  for (int v = Max(y - rule.reach, 0); v <= Min(y + rule.reach, rows - 1); ++v) {
    for (int u = Max(x - rule.reach, 0); u <= Min(x + rule.reach, columns - 1); ++u) {
      if (!rule.Conflicts(u - x, v - y)) continue;
      if (inside[static_cast<ptrdiff_t>(v) * columns + u] != 0) return true;
    }
  }
  return false;
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_MINIMUM_DISTANCE_H_
