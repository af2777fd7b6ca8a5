// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Passes of the minimum distance (features/algo/minimum_distance.h) in tiles: a thread block takes
// a part of a level and does all passes over it without the other blocks. It looks at a margin
// round its squares, too, as news of a pass reach a few squares far.
//
//   +-------------------+   Squares of the ring (?) have neighbours that the block does not know:
//   | ? ? ? ? ? ? ? ? ? |   their undecided candidates are doubtful from the first pass on. Doubt
//   | ? . . . . . . . ? |   spreads inwards, but only through squares that are still undecided, and
//   | ? . +-------+ . ? |   each pass decides more than half of those that are left. So with a
//   | ? . | tile  | . ? |   margin of eight squares hardly any square of the tile is ever doubtful.
//   | ? . +-------+ . ? |   Those that are remain for kernels that know more of the level.
//   | ? . . . . . . . ? |
//   | ? ? ? ? ? ? ? ? ? |
//   +-------------------+
//
// The block has the orders of all places of its part in shared memory, those of decided candidates
// as 0; of a doubtful square they are those that may be undecided. The best of a square that is not
// doubtful becomes inside for certain if no candidate that may be undecided beats it, and stays for
// certain if one that surely is undecided does. Otherwise its square is doubtful from then on. So
// is a square of which a candidate is in conflict with one that may have become inside. An inside
// place and its pass are therefore exact.
//
// A square remembers one candidate that beats its best, its witness: while that one is undecided,
// nothing has to be compared. Few squares of a pass lose their witness or their best; lanes share
// the places of such a square, or round its best.
//
// Each pass has four parts, between which all squares must wait for each other:
//
//   1. HasWitness() or FindWitness(), else JudgeBest(), and JudgeClosely(), of all squares
//   2. RemoveConflicts() of the squares whose best became inside
//   3. RefreshBest() of all squares whose best has gone, and PassDoubt() of all
//   4. HasDoubtBeside() of all squares that are not doubtful
//
// Inside a part their order does not matter, as no square reads what another one writes.

#ifndef ORBSERVE_FEATURES_ALGO_DISTANCE_TILE_H_
#define ORBSERVE_FEATURES_ALGO_DISTANCE_TILE_H_

#include <cstdint>

#include "features/algo/distance_squares.h"
#include "features/host_device.h"

// Before a short loop without stores, of which a device then has four loads under way at a time.
#if defined(__CUDA_ARCH__)
#define ORBSERVE_UNROLL_BY_4 _Pragma("unroll 4")
#else
#define ORBSERVE_UNROLL_BY_4
#endif

namespace orbserve::algo {

// Longest side of a square: an inside entry has eight bits for the place.
inline constexpr int kMostTileSquareSide = 16;
// Passes that a tile does: an inside entry has eight bits for the pass.
inline constexpr int kMostTilePasses = 32;
// Places and squares that a block may know: a witness has 16 bits for each.
inline constexpr int kMostTilePlaces = 1 << 16;

// In what the state of a square is in doubt after a pass.
enum class Doubt : uint8_t {
  kNone,
  kBest,  // its best candidate may have become inside
  kAll,   // each of its candidates may have gone before
};

inline constexpr uint32_t kNoWitness = ~uint32_t{0};

// Squares that a block knows. `squares` describes them as if they were a level. Arrays of squares
// have an entry per square, row by row.
struct DistanceTile {
  DistanceSquares squares;
  int32_t pitch;         // entries between rows of places, which begin at squares.u_begin
  uint32_t side_factor;  // SideFactor() of the side
  uint32_t* order;       // per place: OrderedBits() of its candidate if it may be undecided; else 0
  uint8_t* pixel;        // per place that is a block: the candidate's pixel in it; null for pixels
  uint64_t* best;        // rank key of the best of the square's candidates; kNoCandidate
  uint32_t* witness;     // square << 16 | place of a candidate that beats the best
  uint16_t* inside;      // pass << 8 | place in the square; 0 = none
  uint8_t* is_doubtful;  // before the pass
  Doubt* doubt;          // in the pass

  ORBSERVE_HOST_DEVICE static constexpr uint32_t SideFactor(int side) {
    return (1u << 16) / static_cast<uint32_t>(side) + 1;
  }
  // `distance` / side; 0 <= distance, distance * side < 2^16.
  ORBSERVE_HOST_DEVICE int SidesIn(int distance) const {
    return static_cast<int>(static_cast<uint32_t>(distance) * side_factor >> 16);
  }
  // The place is (u, v), counted from the first one that the block knows.
  ORBSERVE_HOST_DEVICE uint32_t& OrderAt(int u, int v) const { return order[v * pitch + u]; }
  ORBSERVE_HOST_DEVICE int U(uint64_t key) const { return squares.PlaceU(key) - squares.u_begin; }
  ORBSERVE_HOST_DEVICE int V(uint64_t key) const { return squares.PlaceV(key) - squares.v_begin; }
  ORBSERVE_HOST_DEVICE int Width() const { return squares.u_end - squares.u_begin; }
  ORBSERVE_HOST_DEVICE int Height() const { return squares.v_end - squares.v_begin; }
  // Rank key of the candidate at (u, v), whose order is not 0.
  ORBSERVE_HOST_DEVICE uint64_t KeyOf(uint32_t own_order, int u, int v) const {
    uint32_t x = static_cast<uint32_t>(u + squares.u_begin);
    uint32_t y = static_cast<uint32_t>(v + squares.v_begin);
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

// Finds the best candidate of square (column, row), by all lanes.
template <typename Lanes>
ORBSERVE_HOST_DEVICE inline uint64_t BestInTile(const DistanceTile& tile, int column, int row,
                                                const Lanes& lanes) {
  const int side = tile.squares.rule.square_side;
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

// Sets the entries of square i before the first pass. `in_ring`: the block does not know all
// squares round it. Before the first pass all candidates are undecided, also those of the ring.
ORBSERVE_HOST_DEVICE inline void StartSquare(const DistanceTile& tile, int i, uint64_t best,
                                             bool in_ring) {
  tile.best[i] = best;
  tile.witness[i] = kNoWitness;
  tile.inside[i] = 0;
  tile.is_doubtful[i] = 0;
  tile.doubt[i] = in_ring ? Doubt::kAll : Doubt::kNone;
}

// True if the best candidate of square i, which has one, can be judged.
ORBSERVE_HOST_DEVICE inline bool IsCertain(const DistanceTile& tile, int i) {
  return tile.is_doubtful[i] == 0 && tile.doubt[i] == Doubt::kNone;
}

// First part of a pass: true if the best candidate of square i, which IsCertain(), is surely beaten
// by its witness.
ORBSERVE_HOST_DEVICE inline bool HasWitness(const DistanceTile& tile, int i) {
  const uint32_t witness = tile.witness[i];
  return witness != kNoWitness && tile.order[witness & 0xffff] != 0 &&
         tile.is_doubtful[witness >> 16] == 0;
}

// Else: finds a witness among the bests of the squares beside square (column, row). True if there
// is one, as there is for most bests that are beaten: that is faster than to look at all places.
ORBSERVE_HOST_DEVICE inline bool FindWitness(const DistanceTile& tile, int column, int row) {
  const DistanceSquares& squares = tile.squares;
  const uint64_t own = tile.best[row * squares.columns + column];
  const int u = squares.PlaceU(own);
  const int v = squares.PlaceV(own);
  uint64_t best = own;
  int best_i = 0;
  ORBSERVE_UNROLL
  for (int n = 0; n < 9; ++n) {
    const int c = Clamp(column + n % 3 - 1, 0, squares.columns - 1);
    const int r = Clamp(row + n / 3 - 1, 0, squares.rows - 1);
    const int i = r * squares.columns + c;
    const uint64_t other = tile.best[i];
    const bool is_better =
        other < best && tile.is_doubtful[i] == 0 &&
        squares.rule.Conflicts(squares.PlaceU(other) - u, squares.PlaceV(other) - v);
    best = is_better ? other : best;
    best_i = is_better ? i : best_i;
  }
  if (best == own) return false;
  tile.witness[row * squares.columns + column] =
      static_cast<uint32_t>(best_i) << 16 |
      static_cast<uint32_t>(tile.V(best) * tile.pitch + tile.U(best));
  return true;
}

// A pass decides about the best candidate of a square in one of these ways.
enum class Lot : uint8_t {
  kBeaten,  // it has a witness now
  kInside,
  kOpen,     // JudgeClosely() tells
  kInDoubt,  // it may be beaten
};

ORBSERVE_HOST_DEVICE inline void SetInside(const DistanceTile& tile, int column, int row,
                                           int pass) {
  const int i = row * tile.squares.columns + column;
  const uint64_t own = tile.best[i];
  const int side = tile.squares.rule.square_side;
  tile.inside[i] =
      TileInside(pass, (tile.V(own) - row * side) * side + tile.U(own) - column * side);
}

// Decides the lot of the best candidate of such a square without a witness, by all lanes. Almost
// always the greatest order round it tells: it is its own, or that of one that surely beats it.
template <typename Lanes>
ORBSERVE_HOST_DEVICE inline Lot JudgeBest(const DistanceTile& tile, int column, int row, int pass,
                                          const Lanes& lanes) {
  const DistanceSquares& squares = tile.squares;
  const DistanceRule& rule = squares.rule;
  const int own_i = row * squares.columns + column;
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
  const int most_i = tile.SidesIn(most_v) * squares.columns + tile.SidesIn(most_u);
  const bool is_doubtful = lanes.Any(tells && tile.is_doubtful[most_i] != 0);
  if (beaten_by == own_order) {
    if (has_tie) return Lot::kOpen;
    if (lanes.Leads()) SetInside(tile, column, row, pass);
    return Lot::kInside;
  }
  if (is_doubtful) return Lot::kOpen;
  if (tells) {
    tile.witness[own_i] =
        static_cast<uint32_t>(most_i) << 16 | static_cast<uint32_t>(most_v * tile.pitch + most_u);
  }
  return Lot::kBeaten;
}

// Decides about an open candidate: others have its order, or the best that beats it is doubtful.
template <typename Lanes>
ORBSERVE_HOST_DEVICE inline Lot JudgeClosely(const DistanceTile& tile, int column, int row,
                                             int pass, const Lanes& lanes) {
  const DistanceSquares& squares = tile.squares;
  const DistanceRule& rule = squares.rule;
  const int own_i = row * squares.columns + column;
  const uint64_t own = tile.best[own_i];
  const uint32_t own_order = ~static_cast<uint32_t>(own >> 32);
  const int own_u = tile.U(own);
  const int own_v = tile.V(own);
  uint32_t most = 0;  // order of the best that surely beats it
  uint32_t witness = kNoWitness;
  bool may_be_beaten = false;
  VisitOrders(tile, 2 * rule.reach + 1, own_u - rule.reach, own_v - rule.reach, lanes,
              [&](const uint32_t* at, int u, int v) {
                const uint32_t order = *at;
                if (order < own_order || !rule.Conflicts(u - own_u, v - own_v)) return;
                if (order == own_order && tile.KeyOf(order, u, v) >= own) return;
                const int i = tile.SidesIn(v) * squares.columns + tile.SidesIn(u);
                if (tile.is_doubtful[i] != 0) {
                  may_be_beaten = true;
                } else if (order > most) {
                  most = order;
                  witness =
                      static_cast<uint32_t>(i) << 16 | static_cast<uint32_t>(v * tile.pitch + u);
                }
              });
  const uint32_t beaten_by = lanes.Most(most);
  const bool tells = lanes.IsFirst(most == beaten_by);
  const bool is_in_doubt = lanes.Any(may_be_beaten);
  if (beaten_by != 0) {
    if (tells) tile.witness[own_i] = witness;
    return Lot::kBeaten;
  }
  if (lanes.Leads()) {
    if (is_in_doubt) {
      tile.doubt[own_i] = Doubt::kBest;
    } else {
      SetInside(tile, column, row, pass);
    }
  }
  return is_in_doubt ? Lot::kInDoubt : Lot::kInside;
}

// Second part: removes the best candidate of square (column, row), which became inside, and those
// in conflict with it.
template <typename Lanes>
ORBSERVE_HOST_DEVICE inline void RemoveConflicts(const DistanceTile& tile, int column, int row,
                                                 const Lanes& lanes) {
  const DistanceRule& rule = tile.squares.rule;
  const uint64_t own = tile.best[row * tile.squares.columns + column];
  const int own_u = tile.U(own);
  const int own_v = tile.V(own);
  const bool is_disc = rule.below_squared > 0;
  VisitOrders(tile, 2 * rule.reach + 1, own_u - rule.reach, own_v - rule.reach, lanes,
              [&](uint32_t* at, int u, int v) {
                if (!is_disc || rule.Conflicts(u - own_u, v - own_v)) *at = 0;
              });
}

// Third part: true if the best candidate of square i, which has one, has gone.
ORBSERVE_HOST_DEVICE inline bool HasLostBest(const DistanceTile& tile, int i) {
  const uint64_t best = tile.best[i];
  return tile.OrderAt(tile.U(best), tile.V(best)) == 0;
}

// Finds the best of the candidates that such a square has left, by all lanes.
template <typename Lanes>
ORBSERVE_HOST_DEVICE inline void RefreshBest(const DistanceTile& tile, int column, int row,
                                             const Lanes& lanes) {
  const uint64_t best = BestInTile(tile, column, row, lanes);
  if (lanes.Leads()) {
    const int i = row * tile.squares.columns + column;
    tile.best[i] = best;
    tile.witness[i] = kNoWitness;
  }
}

// Then, for each square that had a candidate before the pass: in what it is in doubt.
ORBSERVE_HOST_DEVICE inline void PassDoubt(const DistanceTile& tile, int i, bool lost_best) {
  if (tile.best[i] == kNoCandidate) {
    tile.doubt[i] = Doubt::kNone;  // none of its candidates has become inside
  } else if (tile.is_doubtful[i] != 0) {
    tile.doubt[i] = Doubt::kAll;
  } else if (tile.doubt[i] == Doubt::kAll) {
    return;  // of the ring, in the first pass
  } else if (lost_best) {
    tile.doubt[i] = Doubt::kNone;  // the one in doubt has not become inside
  }
}

// Fourth part: true if a square beside square (column, row) is in doubt.
ORBSERVE_HOST_DEVICE inline bool HasDoubtBeside(const DistanceTile& tile, int column, int row) {
  const DistanceSquares& squares = tile.squares;
  const int reach = squares.SquareReach();
  for (int r = Max(row - reach, 0); r <= Min(row + reach, squares.rows - 1); ++r) {
    for (int c = Max(column - reach, 0); c <= Min(column + reach, squares.columns - 1); ++c) {
      if (tile.doubt[r * squares.columns + c] != Doubt::kNone) return true;
    }
  }
  return false;
}

// All lanes ask the same together: each looks at a few squares.
template <typename Lanes>
ORBSERVE_HOST_DEVICE inline bool HasDoubtBeside(const DistanceTile& tile, int column, int row,
                                                const Lanes& lanes) {
  const DistanceSquares& squares = tile.squares;
  const int reach = squares.SquareReach();
  bool has_doubt = false;
  for (int r = row - reach + lanes.row(); r <= Min(row + reach, squares.rows - 1);
       r += lanes.row_step()) {
    for (int c = column - reach + lanes.column(); c <= Min(column + reach, squares.columns - 1);
         c += lanes.column_step()) {
      if (r < 0 || c < 0) continue;
      has_doubt = has_doubt || tile.doubt[r * squares.columns + c] != Doubt::kNone;
    }
  }
  return lanes.Any(has_doubt);
}

// Few squares that are not doubtful are left, and the passes go on for them alone. Then square i,
// which is doubtful and has a candidate, stays in doubt for good: other squares must wait for no
// part of it. Its best is not renewed, so that it may have gone.
ORBSERVE_HOST_DEVICE inline void StayInDoubt(const DistanceTile& tile, int i) {
  tile.doubt[i] = Doubt::kAll;
}

// True if square i, in column `column` and row `row`, has a candidate after such passes.
ORBSERVE_HOST_DEVICE inline bool HasCandidate(const DistanceTile& tile, int i, int column,
                                              int row) {
  if (tile.best[i] == kNoCandidate) return false;
  return !HasLostBest(tile, i) || BestInTile(tile, column, row, OneTileLane()) != kNoCandidate;
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_DISTANCE_TILE_H_
