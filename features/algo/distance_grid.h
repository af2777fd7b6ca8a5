// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Passes of the minimum distance (features/algo/minimum_distance.h) over a grid of
// square cells, for processors with many threads. A cell holds one inside place at most: any two of
// its places are in conflict. Hence
//
//   a. only the best undefined candidate of a cell can become inside. It does unless a better
//      undefined one of its window is in conflict; the bests of the cells under the window tell
//      most cases, and the places of a cell are looked at only if its best is better and too far
//      away;
//   b. a cell with a new inside place is empty. In others the candidates in conflict with a new
//      inside place are removed, and the best is looked for again if it was among them.
//
//   +-----+-----+-----+     p: best of its cell; dots: window of distance 3, cells of 3x3
//   |     | q   |     |     q beats p and is in conflict: p stays undefined
//   |   . . . . .     |     r beats p and is too far away: the part of its cell that lies under
//   |   . |   . |     |     the window is searched for another one that beats p
//   +---.-+-p-+-.-----+
//   |   . |   . |   r |
//   |   . . . . .     |
//   +-----+-----+-----+
//
// A pass so reads a few entries per cell and each place a few times, whatever the distance. The
// label-map compression of the paper (L. Teixeira, W. Celes & M. Gattass, BMVC 2008, sec. 3.4) is
// the array of inside places, one per cell.
//
// features/algo/distance_tile.h does several passes over a part of a level alone.
//
// The halves of a pass must be apart from each other: all cells finish half a before any begins
// half b, and so on. Inside a half the order of the cells does not matter, as no cell reads
// what another one writes. A group of threads ("lanes") works on a cell together.

#ifndef ORBSERVE_FEATURES_ALGO_DISTANCE_GRID_H_
#define ORBSERVE_FEATURES_ALGO_DISTANCE_GRID_H_

#include <cstddef>
#include <cstdint>

#include "features/algo/minimum_distance.h"
#include "features/algo/order.h"
#include "features/host_device.h"

namespace orbserve::algo {

// The grid of a level. Its cells begin at the first place of the region that may hold keypoints, so
// that they are no more than MaxCorners() (features/pipeline/capacity.h) where nothing is
// compressed.
struct DistanceGrid {
  DistanceRule rule;
  int32_t u_begin;  // places of the region
  int32_t v_begin;
  int32_t u_end;
  int32_t v_end;
  int32_t columns;  // cells
  int32_t rows;

  // Divides the pixels [x_begin, x_end) by [y_begin, y_end) of a level. No pixels have no cells.
  ORBSERVE_HOST_DEVICE static constexpr DistanceGrid Of(const DistanceRule& rule, int x_begin,
                                                        int y_begin, int x_end, int y_end) {
    if (x_end <= x_begin || y_end <= y_begin) return {rule, 0, 0, 0, 0, 0, 0};
    const int unit = rule.pixels_per_place;
    const int u_begin = x_begin / unit;
    const int v_begin = y_begin / unit;
    const int u_end = rule.Places(x_end);
    const int v_end = rule.Places(y_end);
    return {rule,
            u_begin,
            v_begin,
            u_end,
            v_end,
            DivUp(u_end - u_begin, rule.cell_side),
            DivUp(v_end - v_begin, rule.cell_side)};
  }

  ORBSERVE_HOST_DEVICE constexpr int count() const { return columns * rows; }
  ORBSERVE_HOST_DEVICE int PlaceU(uint64_t key) const {
    return RankKeyX(key) >> (rule.pixels_per_place - 1);  // 1 or 2 pixels
  }
  ORBSERVE_HOST_DEVICE int PlaceV(uint64_t key) const {
    return RankKeyY(key) >> (rule.pixels_per_place - 1);
  }
  // Cells between the cell of a place and the farthest one that it can be in conflict with: 1,
  // or 2 with small cells of a disc.
  ORBSERVE_HOST_DEVICE constexpr int CellReach() const { return DivUp(rule.reach, rule.cell_side); }
};

// Inside place of a cell, with the pass in which it became inside; 0 = none.
inline constexpr int kInsidePlaceBits = 12;  // a cell has 64 x 64 places at most
inline constexpr uint32_t kInsidePassCycle = (1u << (32 - kInsidePlaceBits)) - 1;
// `place`: in the cell, counted row by row. `pass`: from 1 on. Passes that are a multiple of
// kInsidePassCycle apart look equal. That costs time and changes nothing: what is in conflict with
// an older inside place is gone.
ORBSERVE_HOST_DEVICE constexpr uint32_t InsideEntry(int pass, int place) {
  return (static_cast<uint32_t>(pass) % kInsidePassCycle + 1) << kInsidePlaceBits |
         static_cast<uint32_t>(place);
}
ORBSERVE_HOST_DEVICE constexpr bool IsOfPass(uint32_t entry, int pass) {
  return entry >> kInsidePlaceBits == static_cast<uint32_t>(pass) % kInsidePassCycle + 1;
}
ORBSERVE_HOST_DEVICE constexpr int InsidePlace(uint32_t entry) {
  return static_cast<int>(entry & ((1u << kInsidePlaceBits) - 1));
}
// In place of an entry: the cell could not be decided in its tile. No pass has this entry.
inline constexpr uint32_t kUndecidedCell = 1;
static_assert(InsideEntry(0, 0) > kUndecidedCell);

// A group of one. Other groups bring these functions, too; all lanes call them together and, apart
// from lane(), get the same value.
struct OneLane {
  static constexpr int kLanes = 1;

  ORBSERVE_HOST_DEVICE int lane() const { return 0; }
  ORBSERVE_HOST_DEVICE bool Any(bool value) const { return value; }
  ORBSERVE_HOST_DEVICE uint32_t Or(uint32_t value) const { return value; }
  ORBSERVE_HOST_DEVICE uint64_t Least(uint64_t value) const { return value; }
  // Bit i: `value` of lane i.
  ORBSERVE_HOST_DEVICE uint32_t Ballot(bool value) const { return value ? 1u : 0u; }
  ORBSERVE_HOST_DEVICE uint32_t Broadcast(uint32_t value, int /*lane*/) const { return value; }
  // Afterwards each lane sees what the others wrote.
  ORBSERVE_HOST_DEVICE void Sync() const {}
  // Reads what another group may have written in an earlier half of a pass.
  template <typename T>
  ORBSERVE_HOST_DEVICE T Load(const T* from) const {
    return *from;
  }
};

// Places that are pixels: the response map of a level (OrderedBits()), of which responses above
// `threshold` are candidates. Rows are `pitch` entries apart.
struct PixelPlaces {
  uint32_t* map;
  int32_t pitch;
  uint32_t threshold;

  // Rank key of the undefined candidate, or kNoCandidate.
  template <typename Lanes>
  ORBSERVE_HOST_DEVICE uint64_t Key(const Lanes& lanes, int u, int v) const {
    const uint32_t order = lanes.Load(map + static_cast<ptrdiff_t>(v) * pitch + u);
    return order > threshold ? static_cast<uint64_t>(~order) << 32 |
                                   static_cast<uint64_t>(v) << 16 | static_cast<uint64_t>(u)
                             : kNoCandidate;
  }
  ORBSERVE_HOST_DEVICE void Remove(int u, int v) const {
    map[static_cast<ptrdiff_t>(v) * pitch + u] = 0;
  }
};

// Places that are blocks of 2x2 pixels: the best candidate of each among the pixels of
// [x_begin, x_end) by [y_begin, y_end).
struct BlockPlaces {
  PixelPlaces pixels;
  int32_t x_begin;
  int32_t y_begin;
  int32_t x_end;
  int32_t y_end;

  template <typename Lanes>
  ORBSERVE_HOST_DEVICE uint64_t Key(const Lanes& lanes, int u, int v) const {
    uint64_t best = kNoCandidate;
    Visit(u, v, [&](int x, int y) { best = Min(best, pixels.Key(lanes, x, y)); });
    return best;
  }
  ORBSERVE_HOST_DEVICE void Remove(int u, int v) const {
    Visit(u, v, [&](int x, int y) { pixels.Remove(x, y); });
  }

 private:
  template <typename OfPixel>
  ORBSERVE_HOST_DEVICE void Visit(int u, int v, const OfPixel& of_pixel) const {
    ORBSERVE_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int x = 2 * u + (i & 1);
      const int y = 2 * v + (i >> 1);
      if (x >= x_begin && y >= y_begin && x < x_end && y < y_end) of_pixel(x, y);
    }
  }
};

// Number of the lowest set bit; `bits` is not 0.
ORBSERVE_HOST_DEVICE inline int LowestBit(uint32_t bits) {
  return PopCount((bits & (0u - bits)) - 1);
}

// A rectangle of places.
struct PlaceRectangle {
  int u;
  int v;
  int width;
  int height;
};

// Cell (column, row), cut at the end of the region.
ORBSERVE_HOST_DEVICE inline PlaceRectangle CellAt(const DistanceGrid& grid, int column, int row) {
  const int side = grid.rule.cell_side;
  const int u = grid.u_begin + column * side;
  const int v = grid.v_begin + row * side;
  return {u, v, Min(side, grid.u_end - u), Min(side, grid.v_end - v)};
}

// The part of `rectangle` that lies within `reach` of (u, v) in u and in v; width and height may be
// 0 or below.
ORBSERVE_HOST_DEVICE inline PlaceRectangle Within(const PlaceRectangle& rectangle, int u, int v,
                                                  int reach) {
  const int u_begin = Max(rectangle.u, u - reach);
  const int v_begin = Max(rectangle.v, v - reach);
  return {u_begin, v_begin, Min(rectangle.u + rectangle.width, u + reach + 1) - u_begin,
          Min(rectangle.v + rectangle.height, v + reach + 1) - v_begin};
}

// Calls `visit` with the key of each place of the rectangle, divided among the lanes, and with
// kNoCandidate here and there. Several loads are under way at a time.
template <typename Lanes, typename Places, typename Visit>
ORBSERVE_HOST_DEVICE inline void VisitKeys(const PlaceRectangle& rectangle, const Places& places,
                                           const Lanes& lanes, const Visit& visit) {
  constexpr int kInFlight = 4;
  if (rectangle.width <= 0) return;
  int u = lanes.lane();
  int v = 0;
  const auto wrap = [&] {
    while (u >= rectangle.width) {
      u -= rectangle.width;
      ++v;
    }
  };
  wrap();
  while (v < rectangle.height) {
    uint64_t keys[kInFlight];
    ORBSERVE_UNROLL
    for (int i = 0; i < kInFlight; ++i) {
      keys[i] =
          v < rectangle.height ? places.Key(lanes, rectangle.u + u, rectangle.v + v) : kNoCandidate;
      u += Lanes::kLanes;
      wrap();
    }
    ORBSERVE_UNROLL
    for (int i = 0; i < kInFlight; ++i) visit(keys[i]);
  }
}

// The best undefined candidate of cell (column, row).
template <typename Lanes, typename Places>
ORBSERVE_HOST_DEVICE inline uint64_t BestOfCell(const DistanceGrid& grid, const Places& places,
                                                int column, int row, const Lanes& lanes) {
  uint64_t best = kNoCandidate;
  VisitKeys(CellAt(grid, column, row), places, lanes, [&](uint64_t key) { best = Min(best, key); });
  return lanes.Least(best);
}

// Half a: true if `own`, the best of its cell, outranks all undefined candidates that it is in
// conflict with. `best`: of each cell, row by row; kNoCandidate for an empty one.
template <typename Lanes, typename Places>
ORBSERVE_HOST_DEVICE inline bool BestBecomesInside(const DistanceGrid& grid, const Places& places,
                                                   const uint64_t* best, uint64_t own,
                                                   const Lanes& lanes) {
  const DistanceRule& rule = grid.rule;
  const int side = rule.cell_side;
  const int u = grid.PlaceU(own);
  const int v = grid.PlaceV(own);
  // Cells under the window. 2 * reach + 1 places in a row lie in four of them at most: a disc's
  // cells are the smallest, with sides above reach / 1.42.
  const int first_column = (Max(u - rule.reach, grid.u_begin) - grid.u_begin) / side;
  const int first_row = (Max(v - rule.reach, grid.v_begin) - grid.v_begin) / side;
  const int columns =
      (Min(u + rule.reach, grid.u_end - 1) - grid.u_begin) / side - first_column + 1;
  const int rows = (Min(v + rule.reach, grid.v_end - 1) - grid.v_begin) / side - first_row + 1;
  bool is_beaten = false;
  uint32_t searched = 0;  // cells whose best is better and too far away
  for (int i = lanes.lane(); i < columns * rows; i += Lanes::kLanes) {
    const int row = first_row + i / columns;
    const int column = first_column + i % columns;
    const uint64_t other = lanes.Load(best + static_cast<ptrdiff_t>(row) * grid.columns + column);
    if (other >= own) continue;
    if (rule.Conflicts(grid.PlaceU(other) - u, grid.PlaceV(other) - v)) {
      is_beaten = true;
    } else {
      searched |= 1u << i;
    }
  }
  if (lanes.Any(is_beaten)) return false;
  searched = lanes.Or(searched);
  for (uint32_t rest = searched; rest != 0; rest &= rest - 1) {
    const int i = LowestBit(rest);
    const PlaceRectangle cell = CellAt(grid, first_column + i % columns, first_row + i / columns);
    VisitKeys(Within(cell, u, v, rule.reach), places, lanes, [&](uint64_t key) {
      if (key < own && rule.Conflicts(grid.PlaceU(key) - u, grid.PlaceV(key) - v)) {
        is_beaten = true;
      }
    });
    if (lanes.Any(is_beaten)) return false;
  }
  return true;
}

// The entry of `own`, which became inside in `pass`.
ORBSERVE_HOST_DEVICE inline uint32_t InsideEntryOf(const DistanceGrid& grid, uint64_t own,
                                                   int pass) {
  const int side = grid.rule.cell_side;
  const int place_v = (grid.PlaceV(own) - grid.v_begin) % side;
  const int place_u = (grid.PlaceU(own) - grid.u_begin) % side;
  return InsideEntry(pass, place_v * side + place_u);
}

// Half b: removes the candidates of cell (column, row) that are in conflict with a place that
// became inside in `pass`. Returns the best of the candidates that are still undefined; it was
// `own`. `inside`: entries of all cells.
template <typename Lanes, typename Places>
ORBSERVE_HOST_DEVICE inline uint64_t RemoveConflicts(const DistanceGrid& grid, const Places& places,
                                                     const uint32_t* inside, int column, int row,
                                                     uint64_t own, int pass, const Lanes& lanes) {
  const DistanceRule& rule = grid.rule;
  const int side = rule.cell_side;
  const auto entry_at = [&](int of_column, int of_row) {
    return lanes.Load(inside + static_cast<ptrdiff_t>(of_row) * grid.columns + of_column);
  };
  if (IsOfPass(entry_at(column, row), pass)) return kNoCandidate;

  const PlaceRectangle cell = CellAt(grid, column, row);
  const int own_u = grid.PlaceU(own);
  const int own_v = grid.PlaceV(own);
  const int reach = grid.CellReach();
  const int across = 2 * reach + 1;
  bool lost_best = false;
  for (int begin = 0; begin < across * across; begin += Lanes::kLanes) {
    const int i = begin + lanes.lane();
    const int other_column = column - reach + i % across;
    const int other_row = row - reach + i / across;
    uint32_t entry = 0;
    if (i < across * across && other_column >= 0 && other_row >= 0 && other_column < grid.columns &&
        other_row < grid.rows) {
      entry = entry_at(other_column, other_row);
    }
    for (uint32_t rest = lanes.Ballot(IsOfPass(entry, pass)); rest != 0; rest &= rest - 1) {
      const int lane = LowestBit(rest);
      const int place = InsidePlace(lanes.Broadcast(entry, lane));
      const int at = begin + lane;
      const int u = grid.u_begin + (column - reach + at % across) * side + place % side;
      const int v = grid.v_begin + (row - reach + at / across) * side + place / side;
      lost_best = lost_best || rule.Conflicts(own_u - u, own_v - v);
      const PlaceRectangle part = Within(cell, u, v, rule.reach);
      if (part.width <= 0) continue;
      int part_u = lanes.lane();
      int part_v = 0;
      while (true) {
        while (part_u >= part.width) {
          part_u -= part.width;
          ++part_v;
        }
        if (part_v >= part.height) break;
        if (rule.Conflicts(part.u + part_u - u, part.v + part_v - v)) {
          places.Remove(part.u + part_u, part.v + part_v);
        }
        part_u += Lanes::kLanes;
      }
    }
  }
  if (!lost_best) return own;
  lanes.Sync();  // removed candidates are gone for all lanes
  return BestOfCell(grid, places, column, row, lanes);
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_DISTANCE_GRID_H_
