// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Grid cells of a minimum distance that tiles have left undecided, where all others are decided
// (features/algo/distance_tile.h). The passes need not be done again for them: which candidate of
// such a cell is kept, and in which pass, follows from the inside places round it.
//
//   1. A candidate is out of the question if it is in conflict with an inside place. The best of
//      the others is BestOfRest().
//   2. It becomes inside if no undecided cell beside its own has a better one: all candidates
//      that beat it are then in conflict with inside places. RestBecomesInside()
//   3. Both are repeated until no cell is undecided. The best of all cells is decided each time.
//   4. A candidate leaves the undefined in the pass of the first inside place that it is in
//      conflict with. A corner became inside one pass after the last candidate that beats it has
//      left. RestPass(), again and again, as passes of better corners become known.
//
// Within a step no cell reads what another one writes.

#ifndef ORBSERVE_FEATURES_ALGO_DISTANCE_REST_H_
#define ORBSERVE_FEATURES_ALGO_DISTANCE_REST_H_

#include <cstddef>
#include <cstdint>

#include "features/algo/distance_grid.h"
#include "features/host_device.h"

namespace orbserve::algo {

// In an inside entry: the place is inside, since an unknown pass.
inline constexpr int kUnknownPass = 0;
ORBSERVE_HOST_DEVICE constexpr int InsidePass(uint32_t entry) {
  return static_cast<int>(entry >> kInsidePlaceBits) - 1;
}
static_assert(InsidePass(InsideEntry(kUnknownPass, 5)) == kUnknownPass);

// Calls visit(entry, u, v) for the inside places of the cells within `reach` cells of
// (column, row), that cell among them. All lanes take part in each call.
template <typename Lanes, typename Visit>
ORBSERVE_HOST_DEVICE inline void VisitInsideNear(const DistanceGrid& grid, const uint32_t* inside,
                                                 int column, int row, int reach, const Lanes& lanes,
                                                 const Visit& visit) {
  const int side = grid.rule.cell_side;
  const int across = 2 * reach + 1;
  for (int begin = 0; begin < across * across; begin += Lanes::kLanes) {
    const int i = begin + lanes.lane();
    const int c = column - reach + i % across;
    const int r = row - reach + i / across;
    uint32_t entry = 0;
    if (i < across * across && c >= 0 && r >= 0 && c < grid.columns && r < grid.rows) {
      entry = lanes.Load(inside + static_cast<ptrdiff_t>(r) * grid.columns + c);
    }
    const int place = InsidePlace(entry);
    const auto u = static_cast<uint32_t>(grid.u_begin + c * side + place % side);
    const auto v = static_cast<uint32_t>(grid.v_begin + r * side + place / side);
    for (uint32_t rest = lanes.Ballot(entry > kUndecidedCell); rest != 0; rest &= rest - 1) {
      const int lane = LowestBit(rest);
      const uint32_t at = lanes.Broadcast(v << 16 | u, lane);
      visit(lanes.Broadcast(entry, lane), static_cast<int>(at & 0xffff),
            static_cast<int>(at >> 16));
    }
  }
}

// Key of place number `i` of the rectangle, counted row by row; kNoCandidate beyond the last.
template <typename Lanes, typename Places>
ORBSERVE_HOST_DEVICE inline uint64_t KeyNumber(int i, const PlaceRectangle& rectangle,
                                               const Places& places, const Lanes& lanes) {
  if (i >= rectangle.width * rectangle.height) return kNoCandidate;
  return places.Key(lanes, rectangle.u + i % rectangle.width, rectangle.v + i / rectangle.width);
}

// Finds the best candidate of cell (column, row) that is in conflict with no inside place, by all
// lanes; kNoCandidate if there is none.
template <typename Lanes, typename Places>
ORBSERVE_HOST_DEVICE inline uint64_t BestOfRest(const DistanceGrid& grid, const Places& places,
                                                const uint32_t* inside, int column, int row,
                                                const Lanes& lanes) {
  const PlaceRectangle cell = CellAt(grid, column, row);
  uint64_t best = kNoCandidate;
  for (int begin = 0; begin < cell.width * cell.height; begin += Lanes::kLanes) {
    const uint64_t key = KeyNumber(begin + lanes.lane(), cell, places, lanes);
    bool is_out = key >= best;
    if (!lanes.Any(!is_out)) continue;
    VisitInsideNear(
        grid, inside, column, row, grid.CellReach(), lanes, [&](uint32_t /*entry*/, int u, int v) {
          is_out = is_out || grid.rule.Conflicts(u - grid.PlaceU(key), v - grid.PlaceV(key));
        });
    if (!is_out) best = key;
  }
  return lanes.Least(best);
}

// True if `own`, the BestOfRest() of the undecided cell (column, row), is better than those of
// the undecided cells beside it. `best`: of each undecided cell.
template <typename Lanes>
ORBSERVE_HOST_DEVICE inline bool RestBecomesInside(const DistanceGrid& grid, const uint64_t* best,
                                                   const uint32_t* inside, int column, int row,
                                                   uint64_t own, const Lanes& lanes) {
  const int reach = grid.CellReach();
  const int across = 2 * reach + 1;
  bool waits = false;
  for (int i = lanes.lane(); i < across * across; i += Lanes::kLanes) {
    const int c = column - reach + i % across;
    const int r = row - reach + i / across;
    if (c < 0 || r < 0 || c >= grid.columns || r >= grid.rows) continue;
    const ptrdiff_t at = static_cast<ptrdiff_t>(r) * grid.columns + c;
    waits = waits || (lanes.Load(inside + at) == kUndecidedCell && lanes.Load(best + at) < own);
  }
  return !lanes.Any(waits);
}

// The pass in which the inside place of cell (column, row), of an unknown pass, became inside;
// kUnknownPass while one that it depends on is unknown. No cell is undecided.
template <typename Lanes, typename Places>
ORBSERVE_HOST_DEVICE inline int RestPass(const DistanceGrid& grid, const Places& places,
                                         const uint32_t* inside, int column, int row,
                                         const Lanes& lanes) {
  const DistanceRule& rule = grid.rule;
  const int side = rule.cell_side;
  const int own_place =
      InsidePlace(lanes.Load(inside + static_cast<ptrdiff_t>(row) * grid.columns + column));
  const int own_u = grid.u_begin + column * side + own_place % side;
  const int own_v = grid.v_begin + row * side + own_place / side;
  const uint64_t own = places.Key(lanes, own_u, own_v);
  const PlaceRectangle region = {grid.u_begin, grid.v_begin, grid.u_end - grid.u_begin,
                                 grid.v_end - grid.v_begin};
  const PlaceRectangle window = Within(region, own_u, own_v, rule.reach);
  uint32_t last = 0;  // pass in which the last candidate that beats it has left
  bool is_unknown = false;
  // Candidates that beat it are few. They are dealt out first, one a lane.
  uint64_t dealt = kNoCandidate;
  int count = 0;
  const auto judge_dealt = [&] {
    const int key_u = grid.PlaceU(dealt);
    const int key_v = grid.PlaceV(dealt);
    const bool is_dealt = lanes.lane() < count;
    uint32_t first = ~0u;
    VisitInsideNear(grid, inside, column, row, 2 * grid.CellReach(), lanes,
                    [&](uint32_t entry, int u, int v) {
                      if (!is_dealt || !rule.Conflicts(u - key_u, v - key_v)) return;
                      const int pass = InsidePass(entry);
                      if (pass != kUnknownPass) {
                        first = Min(first, static_cast<uint32_t>(pass));
                      } else if (places.Key(lanes, u, v) < dealt) {
                        is_unknown = true;  // worse ones came later than those that tell
                      }
                    });
    if (first != ~0u) last = Max(last, first);
    count = 0;
  };
  for (int begin = 0; begin < window.width * window.height; begin += Lanes::kLanes) {
    const uint64_t key = KeyNumber(begin + lanes.lane(), window, places, lanes);
    const bool beats =
        key < own && rule.Conflicts(grid.PlaceU(key) - own_u, grid.PlaceV(key) - own_v);
    for (uint32_t rest = lanes.Ballot(beats); rest != 0; rest &= rest - 1) {
      const int lane = LowestBit(rest);
      const uint32_t upper = lanes.Broadcast(static_cast<uint32_t>(key >> 32), lane);
      const uint32_t lower = lanes.Broadcast(static_cast<uint32_t>(key), lane);
      if (count == lanes.lane()) dealt = static_cast<uint64_t>(upper) << 32 | lower;
      if (++count == Lanes::kLanes) judge_dealt();
    }
  }
  if (count > 0) judge_dealt();
  if (lanes.Any(is_unknown)) return kUnknownPass;
  return 1 + static_cast<int>(~lanes.Least(~static_cast<uint64_t>(last)));
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_DISTANCE_REST_H_
