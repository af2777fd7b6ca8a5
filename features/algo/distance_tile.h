// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Passes of the minimum distance (features/algo/minimum_distance.h) in tiles: a thread block takes
// a part of a level and does all passes over it without the other blocks. It looks at a margin
// round its cells, too, as news of a pass reach a few cells far.
//
//   +-------------------+   Cells of the ring (?) have neighbours that the block does not know:
//   | ? ? ? ? ? ? ? ? ? |   they are uncertain from the first pass on. Cells that depend on
//   | ? . . . . . . . ? |   uncertain cells become uncertain, too, but only while they are still
//   | ? . +-------+ . ? |   undecided, and each pass decides more than half of those that are
//   | ? . | tile  | . ? |   left. So with a margin of eight cells hardly any cell of the tile is
//   | ? . +-------+ . ? |   ever uncertain. Those that are remain for kernels that know more of the
//   | ? . . . . . . . ? |   level.
//   | ? ? ? ? ? ? ? ? ? |
//   +-------------------+
//
// The block has the orders of all places of its part in shared memory, those of decided candidates
// as 0; of an uncertain cell they are those that may be undecided. The best of a cell that is not
// uncertain becomes inside for certain if no candidate that may be undecided beats it, and stays
// for certain if one that surely is undecided does. Otherwise its cell is uncertain from then on.
// So is a cell of which a candidate is in conflict with one that may have become inside. An inside
// place and its pass are therefore exact.
//
// A cell remembers one candidate that beats its best, the dominating candidate: while that one is
// undecided, nothing has to be compared. Few cells of a pass lose it or their best; lanes share the
// places of such a cell, or round its best.
//
// Each pass has four parts, between which all cells must wait for each other:
//
//   1. IsDominated() or FindDominator(), else JudgeBest(), and JudgeClosely(), of all cells
//   2. RemoveConflicts() of the cells whose best became inside
//   3. RefreshBest() of all cells whose best has gone, and PassUncertainty() of all
//   4. HasUncertainBeside() of all cells that are not uncertain
//
// Inside a part their order does not matter, as no cell reads what another one writes.

#ifndef ORBSERVE_FEATURES_ALGO_DISTANCE_TILE_H_
#define ORBSERVE_FEATURES_ALGO_DISTANCE_TILE_H_

#include <cstdint>

#include "features/algo/distance_grid.h"
#include "features/host_device.h"

// Before a short loop without stores, of which a device then has four loads under way at a time.
#if defined(__CUDA_ARCH__)
#define ORBSERVE_UNROLL_BY_4 _Pragma("unroll 4")
#else
#define ORBSERVE_UNROLL_BY_4
#endif

namespace orbserve::algo {

// Longest side of a cell: an inside entry has eight bits for the place.
inline constexpr int kMaxTileCellSide = 16;
// Passes that a tile does: an inside entry has eight bits for the pass.
inline constexpr int kMaxTilePasses = 32;
// Places and cells that a block may know: a dominating candidate has 16 bits for each.
inline constexpr int kMaxTilePlaces = 1 << 16;

// Tells which part of a cell is uncertain after a pass.
enum class Uncertainty : uint8_t {
  kNone,
  kBest,  // its best candidate may have become inside
  kAll,   // each of its candidates may have gone before
};

inline constexpr uint32_t kNoDominator = ~uint32_t{0};

// Cells that a block knows. `grid` describes them as if they were a level. Arrays of cells
// have an entry per cell, row by row.
struct DistanceTile {
  DistanceGrid grid;
  int32_t pitch;         // entries between rows of places, which begin at grid.u_begin
  uint32_t side_factor;  // SideFactor() of the side
  uint32_t* order;       // per place: OrderedBits() of its candidate if it may be undecided; else 0
  uint8_t* pixel;        // per place that is a block: the candidate's pixel in it; null for pixels
  uint64_t* best;        // rank key of the best of the cell's candidates; kNoCandidate
  uint32_t* dominator;   // cell << 16 | place of a candidate that beats the best
  uint16_t* inside;      // pass << 8 | place in the cell; 0 = none
  uint8_t* is_uncertain;     // before the pass
  Uncertainty* uncertainty;  // in the pass

  ORBSERVE_HOST_DEVICE static constexpr uint32_t SideFactor(int side) {
    return (1u << 16) / static_cast<uint32_t>(side) + 1;
  }
  // `distance` / side; 0 <= distance, distance * side < 2^16.
  ORBSERVE_HOST_DEVICE int SidesIn(int distance) const {
    return static_cast<int>(static_cast<uint32_t>(distance) * side_factor >> 16);
  }
  // The place is (u, v), counted from the first one that the block knows.
  ORBSERVE_HOST_DEVICE uint32_t& OrderAt(int u, int v) const { return order[v * pitch + u]; }
  ORBSERVE_HOST_DEVICE int U(uint64_t key) const { return grid.PlaceU(key) - grid.u_begin; }
  ORBSERVE_HOST_DEVICE int V(uint64_t key) const { return grid.PlaceV(key) - grid.v_begin; }
  ORBSERVE_HOST_DEVICE int Width() const { return grid.u_end - grid.u_begin; }
  ORBSERVE_HOST_DEVICE int Height() const { return grid.v_end - grid.v_begin; }
  // Rank key of the candidate at (u, v), whose order is not 0.
  ORBSERVE_HOST_DEVICE uint64_t KeyOf(uint32_t own_order, int u, int v) const {
    uint32_t x = static_cast<uint32_t>(u + grid.u_begin);
    uint32_t y = static_cast<uint32_t>(v + grid.v_begin);
    if (pixel != nullptr) {
      const uint32_t at = pixel[v * pitch + u];
      x = 2 * x + (at & 1);
      y = 2 * y + (at >> 1);
    }
    return static_cast<uint64_t>(~own_order) << 32 | y << 16 | x;
  }
};

ORBSERVE_HOST_DEVICE constexpr uint16_t TileInside(int pass, int place) {
  return static_cast<uint16_t>(pass << 8 | place);
}
ORBSERVE_HOST_DEVICE constexpr int TileInsidePass(uint16_t inside) { return inside >> 8; }
ORBSERVE_HOST_DEVICE constexpr int TileInsidePlace(uint16_t inside) { return inside & 0xff; }

// Says which places of rectangles a lane looks at: columns from `column` on and rows from `row` on,
// in steps. The rectangles are up to `across` places wide.
struct LanePlaces {
  int32_t column;
  int32_t row;
  int32_t column_step;
  int32_t row_step;

  // Deals out rectangles to `lanes` lanes, of which neighbours get neighbouring columns.
  ORBSERVE_HOST_DEVICE static LanePlaces Of(int lane, int lanes, int across) {
    constexpr int kBeyond = 1 << 20;  // a column that no tile has
    const int columns = Min(across, lanes);
    const int row_step = lanes / columns;
    const int row = lane / columns;
    return {row < row_step ? lane - row * columns : kBeyond, row, columns, row_step};
  }
};

// A group of one. Other groups bring these functions, too; all lanes call them together and, apart
// from column(), row(), Leads() and IsFirst(), get the same value.
struct OneTileLane {
  // These tell the lane's places (LanePlaces).
  ORBSERVE_HOST_DEVICE int column() const { return 0; }
  ORBSERVE_HOST_DEVICE int column_step() const { return 1; }
  ORBSERVE_HOST_DEVICE int row() const { return 0; }
  ORBSERVE_HOST_DEVICE int row_step() const { return 1; }
  // True for one lane of a group, the one that writes; for none of a group without work, which
  // follows another one.
  ORBSERVE_HOST_DEVICE bool Leads() const { return true; }
  ORBSERVE_HOST_DEVICE bool Any(bool value) const { return value; }
  ORBSERVE_HOST_DEVICE uint64_t Least(uint64_t value) const { return value; }
  ORBSERVE_HOST_DEVICE uint32_t Most(uint32_t value) const { return value; }
  // True for one of the lanes with a true value; for none of a group without work.
  ORBSERVE_HOST_DEVICE bool IsFirst(bool value) const { return value; }
};

// Calls visit(order, u, v) for the places of `side` by `side` ones from (first_u, first_v) on that
// the block knows. Lanes take columns in turn, or share a column's rows as well.
template <typename Lanes, typename Visit>
ORBSERVE_HOST_DEVICE inline void VisitOrders(const DistanceTile& tile, int side, int first_u,
                                             int first_v, const Lanes& lanes, const Visit& visit) {
  const int v_begin = Max(first_v, 0);
  const int v_end = Min(first_v + side, tile.Height());
  const int u_end = Min(first_u + side, tile.Width());
  for (int u = first_u + lanes.column(); u < u_end; u += lanes.column_step()) {
    if (u < 0) continue;
    uint32_t* at = &tile.OrderAt(u, v_begin + lanes.row());
    ORBSERVE_UNROLL_BY_4
    for (int v = v_begin + lanes.row(); v < v_end; v += lanes.row_step()) {
      visit(at, u, v);
      at += lanes.row_step() * tile.pitch;
    }
  }
}

// Sets the place (u, v), counted from the first one that the block knows, to its candidate with
// rank key `key`, or kNoCandidate.
ORBSERVE_HOST_DEVICE inline void SetPlace(const DistanceTile& tile, int u, int v, uint64_t key) {
  tile.OrderAt(u, v) = ~static_cast<uint32_t>(key >> 32);
  if (tile.pixel != nullptr) {
    tile.pixel[v * tile.pitch + u] =
        static_cast<uint8_t>((RankKeyY(key) & 1) << 1 | (RankKeyX(key) & 1));
  }
}

// Finds the best candidate of cell (column, row), by all lanes.
template <typename Lanes>
ORBSERVE_HOST_DEVICE inline uint64_t BestInTile(const DistanceTile& tile, int column, int row,
                                                const Lanes& lanes) {
  const int side = tile.grid.rule.cell_side;
  uint32_t best_order = 0;
  int best_u = 0;
  int best_v = 0;
  VisitOrders(tile, side, column * side, row * side, lanes, [&](const uint32_t* at, int u, int v) {
    const uint32_t order = *at;
    bool is_better = order > best_order;
    if (order == best_order && order != 0) {  // seldom
      is_better = tile.KeyOf(order, u, v) < tile.KeyOf(order, best_u, best_v);
    }
    best_order = is_better ? order : best_order;
    best_u = is_better ? u : best_u;
    best_v = is_better ? v : best_v;
  });
  return lanes.Least(best_order == 0 ? kNoCandidate : tile.KeyOf(best_order, best_u, best_v));
}

// Sets the entries of cell i before the first pass. `in_ring`: the block does not know all
// cells round it. Before the first pass all candidates are undecided, also those of the ring.
ORBSERVE_HOST_DEVICE inline void StartCell(const DistanceTile& tile, int i, uint64_t best,
                                           bool in_ring) {
  tile.best[i] = best;
  tile.dominator[i] = kNoDominator;
  tile.inside[i] = 0;
  tile.is_uncertain[i] = 0;
  tile.uncertainty[i] = in_ring ? Uncertainty::kAll : Uncertainty::kNone;
}

// True if the best candidate of cell i, which has one, can be judged.
ORBSERVE_HOST_DEVICE inline bool IsCertain(const DistanceTile& tile, int i) {
  return tile.is_uncertain[i] == 0 && tile.uncertainty[i] == Uncertainty::kNone;
}

// First part of a pass: true if the best candidate of cell i, which IsCertain(), is surely beaten
// by its dominating candidate.
ORBSERVE_HOST_DEVICE inline bool IsDominated(const DistanceTile& tile, int i) {
  const uint32_t dominator = tile.dominator[i];
  return dominator != kNoDominator && tile.order[dominator & 0xffff] != 0 &&
         tile.is_uncertain[dominator >> 16] == 0;
}

// Else: finds a dominating candidate among the bests of the cells beside cell (column, row). True
// if there is one, as there is for most bests that are beaten: that is faster than to look at all
// places.
ORBSERVE_HOST_DEVICE inline bool FindDominator(const DistanceTile& tile, int column, int row) {
  const DistanceGrid& grid = tile.grid;
  const uint64_t own = tile.best[row * grid.columns + column];
  const int u = grid.PlaceU(own);
  const int v = grid.PlaceV(own);
  uint64_t best = own;
  int best_i = 0;
  ORBSERVE_UNROLL
  for (int n = 0; n < 9; ++n) {
    const int c = Clamp(column + n % 3 - 1, 0, grid.columns - 1);
    const int r = Clamp(row + n / 3 - 1, 0, grid.rows - 1);
    const int i = r * grid.columns + c;
    const uint64_t other = tile.best[i];
    const bool is_better = other < best && tile.is_uncertain[i] == 0 &&
                           grid.rule.Conflicts(grid.PlaceU(other) - u, grid.PlaceV(other) - v);
    best = is_better ? other : best;
    best_i = is_better ? i : best_i;
  }
  if (best == own) return false;
  tile.dominator[row * grid.columns + column] =
      static_cast<uint32_t>(best_i) << 16 |
      static_cast<uint32_t>(tile.V(best) * tile.pitch + tile.U(best));
  return true;
}

// A pass decides about the best candidate of a cell in one of these ways.
enum class Lot : uint8_t {
  kBeaten,  // it has a dominating candidate now
  kInside,
  kOpen,       // JudgeClosely() tells
  kUncertain,  // it may be beaten
};

ORBSERVE_HOST_DEVICE inline void SetInside(const DistanceTile& tile, int column, int row,
                                           int pass) {
  const int i = row * tile.grid.columns + column;
  const uint64_t own = tile.best[i];
  const int side = tile.grid.rule.cell_side;
  tile.inside[i] =
      TileInside(pass, (tile.V(own) - row * side) * side + tile.U(own) - column * side);
}

// Decides the lot of the best candidate of such a cell without a dominating candidate, by all
// lanes. Almost always the greatest order round it tells: it is its own, or that of one that surely
// beats it.
template <typename Lanes>
ORBSERVE_HOST_DEVICE inline Lot JudgeBest(const DistanceTile& tile, int column, int row, int pass,
                                          const Lanes& lanes) {
  const DistanceGrid& grid = tile.grid;
  const DistanceRule& rule = grid.rule;
  const int own_i = row * grid.columns + column;
  const uint64_t own = tile.best[own_i];
  const uint32_t own_order = ~static_cast<uint32_t>(own >> 32);
  const int own_u = tile.U(own);
  const int own_v = tile.V(own);
  const bool is_disc = rule.below_squared > 0;
  uint32_t most = own_order;
  int most_u = own_u;
  int most_v = own_v;
  bool is_tie = false;
  VisitOrders(tile, 2 * rule.reach + 1, own_u - rule.reach, own_v - rule.reach, lanes,
              [&](const uint32_t* at, int u, int v) {
                const uint32_t order = is_disc && !rule.Conflicts(u - own_u, v - own_v) ? 0 : *at;
                is_tie = is_tie || (order == own_order && (u != own_u || v != own_v));
                const bool is_more = order > most;
                most = is_more ? order : most;
                most_u = is_more ? u : most_u;
                most_v = is_more ? v : most_v;
              });
  // Lanes of other groups may be in the same warp, so that all come by these calls.
  const uint32_t beaten_by = lanes.Most(most);
  const bool has_tie = lanes.Any(is_tie);
  // Any of those with this order: which one it is does not show in an answer.
  const bool tells = lanes.IsFirst(most == beaten_by);
  const int most_i = tile.SidesIn(most_v) * grid.columns + tile.SidesIn(most_u);
  const bool is_uncertain = lanes.Any(tells && tile.is_uncertain[most_i] != 0);
  if (beaten_by == own_order) {
    if (has_tie) return Lot::kOpen;
    if (lanes.Leads()) SetInside(tile, column, row, pass);
    return Lot::kInside;
  }
  if (is_uncertain) return Lot::kOpen;
  if (tells) {
    tile.dominator[own_i] =
        static_cast<uint32_t>(most_i) << 16 | static_cast<uint32_t>(most_v * tile.pitch + most_u);
  }
  return Lot::kBeaten;
}

// Decides about an open candidate: others have its order, or the best that beats it is uncertain.
template <typename Lanes>
ORBSERVE_HOST_DEVICE inline Lot JudgeClosely(const DistanceTile& tile, int column, int row,
                                             int pass, const Lanes& lanes) {
  const DistanceGrid& grid = tile.grid;
  const DistanceRule& rule = grid.rule;
  const int own_i = row * grid.columns + column;
  const uint64_t own = tile.best[own_i];
  const uint32_t own_order = ~static_cast<uint32_t>(own >> 32);
  const int own_u = tile.U(own);
  const int own_v = tile.V(own);
  uint32_t most = 0;  // order of the best that surely beats it
  uint32_t dominator = kNoDominator;
  bool may_be_beaten = false;
  VisitOrders(tile, 2 * rule.reach + 1, own_u - rule.reach, own_v - rule.reach, lanes,
              [&](const uint32_t* at, int u, int v) {
                const uint32_t order = *at;
                if (order < own_order || !rule.Conflicts(u - own_u, v - own_v)) return;
                if (order == own_order && tile.KeyOf(order, u, v) >= own) return;
                const int i = tile.SidesIn(v) * grid.columns + tile.SidesIn(u);
                if (tile.is_uncertain[i] != 0) {
                  may_be_beaten = true;
                } else if (order > most) {
                  most = order;
                  dominator =
                      static_cast<uint32_t>(i) << 16 | static_cast<uint32_t>(v * tile.pitch + u);
                }
              });
  const uint32_t beaten_by = lanes.Most(most);
  const bool tells = lanes.IsFirst(most == beaten_by);
  const bool is_uncertain = lanes.Any(may_be_beaten);
  if (beaten_by != 0) {
    if (tells) tile.dominator[own_i] = dominator;
    return Lot::kBeaten;
  }
  if (lanes.Leads()) {
    if (is_uncertain) {
      tile.uncertainty[own_i] = Uncertainty::kBest;
    } else {
      SetInside(tile, column, row, pass);
    }
  }
  return is_uncertain ? Lot::kUncertain : Lot::kInside;
}

// Second part: removes the best candidate of cell (column, row), which became inside, and those
// in conflict with it.
template <typename Lanes>
ORBSERVE_HOST_DEVICE inline void RemoveConflicts(const DistanceTile& tile, int column, int row,
                                                 const Lanes& lanes) {
  const DistanceRule& rule = tile.grid.rule;
  const uint64_t own = tile.best[row * tile.grid.columns + column];
  const int own_u = tile.U(own);
  const int own_v = tile.V(own);
  const bool is_disc = rule.below_squared > 0;
  VisitOrders(tile, 2 * rule.reach + 1, own_u - rule.reach, own_v - rule.reach, lanes,
              [&](uint32_t* at, int u, int v) {
                if (!is_disc || rule.Conflicts(u - own_u, v - own_v)) *at = 0;
              });
}

// Third part: true if the best candidate of cell i, which has one, has gone.
ORBSERVE_HOST_DEVICE inline bool HasLostBest(const DistanceTile& tile, int i) {
  const uint64_t best = tile.best[i];
  return tile.OrderAt(tile.U(best), tile.V(best)) == 0;
}

// Finds the best of the candidates that such a cell has left, by all lanes.
template <typename Lanes>
ORBSERVE_HOST_DEVICE inline void RefreshBest(const DistanceTile& tile, int column, int row,
                                             const Lanes& lanes) {
  const uint64_t best = BestInTile(tile, column, row, lanes);
  if (lanes.Leads()) {
    const int i = row * tile.grid.columns + column;
    tile.best[i] = best;
    tile.dominator[i] = kNoDominator;
  }
}

// Then, for each cell that had a candidate before the pass: what is uncertain of it.
ORBSERVE_HOST_DEVICE inline void PassUncertainty(const DistanceTile& tile, int i, bool lost_best) {
  if (tile.best[i] == kNoCandidate) {
    tile.uncertainty[i] = Uncertainty::kNone;  // none of its candidates has become inside
  } else if (tile.is_uncertain[i] != 0) {
    tile.uncertainty[i] = Uncertainty::kAll;
  } else if (tile.uncertainty[i] == Uncertainty::kAll) {
    return;  // of the ring, in the first pass
  } else if (lost_best) {
    tile.uncertainty[i] = Uncertainty::kNone;  // the best that was uncertain has not become inside
  }
}

// Fourth part: true if a cell beside cell (column, row) is uncertain.
ORBSERVE_HOST_DEVICE inline bool HasUncertainBeside(const DistanceTile& tile, int column, int row) {
  const DistanceGrid& grid = tile.grid;
  const int reach = grid.CellReach();
  for (int r = Max(row - reach, 0); r <= Min(row + reach, grid.rows - 1); ++r) {
    for (int c = Max(column - reach, 0); c <= Min(column + reach, grid.columns - 1); ++c) {
      if (tile.uncertainty[r * grid.columns + c] != Uncertainty::kNone) return true;
    }
  }
  return false;
}

// All lanes ask the same together: each looks at a few cells.
template <typename Lanes>
ORBSERVE_HOST_DEVICE inline bool HasUncertainBeside(const DistanceTile& tile, int column, int row,
                                                    const Lanes& lanes) {
  const DistanceGrid& grid = tile.grid;
  const int reach = grid.CellReach();
  bool has_uncertain = false;
  for (int r = row - reach + lanes.row(); r <= Min(row + reach, grid.rows - 1);
       r += lanes.row_step()) {
    for (int c = column - reach + lanes.column(); c <= Min(column + reach, grid.columns - 1);
         c += lanes.column_step()) {
      if (r < 0 || c < 0) continue;
      has_uncertain = has_uncertain || tile.uncertainty[r * grid.columns + c] != Uncertainty::kNone;
    }
  }
  return lanes.Any(has_uncertain);
}

// Few cells that are not uncertain are left, and the passes go on for them alone. Then cell i,
// which is uncertain and has a candidate, stays uncertain for good: other cells must wait for no
// part of it. Its best is not renewed, so that it may have gone.
ORBSERVE_HOST_DEVICE inline void StayUncertain(const DistanceTile& tile, int i) {
  tile.uncertainty[i] = Uncertainty::kAll;
}

// True if cell i, in column `column` and row `row`, has a candidate after such passes.
ORBSERVE_HOST_DEVICE inline bool HasCandidate(const DistanceTile& tile, int i, int column,
                                              int row) {
  if (tile.best[i] == kNoCandidate) return false;
  return !HasLostBest(tile, i) || BestInTile(tile, column, row, OneTileLane()) != kNoCandidate;
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_DISTANCE_TILE_H_
