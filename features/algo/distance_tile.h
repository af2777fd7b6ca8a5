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
//   | ? . +-------+ . ? |   Those that are remain for kernels that know the whole level.
//   | ? . . . . . . . ? |
//   | ? ? ? ? ? ? ? ? ? |
//   +-------------------+
//
// The undecided candidates of a square are the bits of a few words; of a doubtful square they are
// those that may be undecided. The best of a square that is not doubtful becomes inside for certain
// if no candidate that may be undecided beats it, and stays for certain if one that surely is
// undecided does. Otherwise its square is doubtful from then on. So is a square of which a
// candidate is in conflict with one that may have become inside. An inside place and its pass are
// therefore exact, and the map of responses is not changed.
//
// Each pass has three parts, between which all squares must wait for each other: JudgeBest() of all
// squares, RemoveNearInside() of all, IsDoubtful() of all. Inside a part their order does not
// matter, as no square reads what another one writes. IsBeatenNearby() saves most squares the
// first part.

#ifndef ORBSERVE_FEATURES_ALGO_DISTANCE_TILE_H_
#define ORBSERVE_FEATURES_ALGO_DISTANCE_TILE_H_

#include <cmath>
#include <cstdint>

#include "features/algo/distance_squares.h"
#include "features/host_device.h"

namespace orbserve::algo {

// Places of a square as bits of kWords words: rows of 8 bits for squares of up to 8 x 8 places, of
// 16 bits for those of up to 16 x 16. The number of its bit is a place's number in the tile.
template <int kWords>
struct PlaceBits {
  static_assert(kWords == 2 || kWords == 8);
  static constexpr int kMostSide = kWords == 2 ? 8 : 16;
  static constexpr int kRowBits = kMostSide;
  static constexpr int kWordBits = 32;
  static constexpr int kRowsPerWord = kWordBits / kRowBits;
};
inline constexpr int kMostTileSquareSide = PlaceBits<8>::kMostSide;

// Passes that a tile does: an inside entry has eight bits for the pass.
inline constexpr int kMostTilePasses = 32;

// In what the state of a square is in doubt after a pass.
enum class Doubt : uint8_t {
  kNone,
  kBest,  // its best candidate may have become inside
  kAll,   // each of its candidates may have gone before
};

// Squares that a block knows. `squares` describes them as if they were a level. Arrays have an
// entry per square; word w of the bits of square i is undecided[w * stride + i].
template <int kWords>
struct DistanceTile {
  using Bits = PlaceBits<kWords>;

  DistanceSquares squares;
  int32_t stride;
  uint64_t* best;  // the best of the candidates in `undecided`
  uint32_t* undecided;
  uint16_t* inside;      // pass << 8 | place; 0 = none
  uint8_t* is_doubtful;  // before the pass
  Doubt* doubt;          // in the pass

  ORBSERVE_HOST_DEVICE uint32_t& Word(int i, int w) const { return undecided[w * stride + i]; }
  ORBSERVE_HOST_DEVICE int FirstU(int column) const {
    return squares.u_begin + column * squares.rule.square_side;
  }
  ORBSERVE_HOST_DEVICE int FirstV(int row) const {
    return squares.v_begin + row * squares.rule.square_side;
  }
  // Number of the place of `key`, which lies in square (column, row).
  ORBSERVE_HOST_DEVICE int PlaceOf(uint64_t key, int column, int row) const {
    return (squares.PlaceV(key) - FirstV(row)) * Bits::kRowBits + squares.PlaceU(key) -
           FirstU(column);
  }
};

ORBSERVE_HOST_DEVICE constexpr uint16_t TileInside(int pass, int place) {
  return static_cast<uint16_t>(pass << 8 | place);
}
ORBSERVE_HOST_DEVICE constexpr int TileInsidePass(uint16_t inside) { return inside >> 8; }
ORBSERVE_HOST_DEVICE constexpr int TileInsidePlace(uint16_t inside) { return inside & 0xff; }

// Word w of the places of square (column, row) that are in conflict with place (u, v).
template <int kWords>
ORBSERVE_HOST_DEVICE inline uint32_t ConflictWord(const DistanceTile<kWords>& tile, int column,
                                                  int row, int w, int u, int v) {
  using Bits = PlaceBits<kWords>;
  const DistanceRule& rule = tile.squares.rule;
  const int from_u = u - tile.FirstU(column);
  const int from_v = v - tile.FirstV(row) - w * Bits::kRowsPerWord;
  const int first_row = Max(from_v - rule.reach, 0);
  const int last_row = Min(from_v + rule.reach, Bits::kRowsPerWord - 1);
  // Bits of the columns that are `reach` away or less, in the lowest row.
  const auto bits_within = [from_u](int reach) {
    const int first = Max(from_u - reach, 0);
    const int last = Min(from_u + reach, Bits::kRowBits - 1);
    return first <= last ? (2u << last) - (1u << first) : 0u;
  };
  if (rule.below_squared == 0) {
    if (first_row > last_row) return 0;
    constexpr uint32_t kEachRow = Bits::kRowBits == 8 ? 0x01010101u : 0x00010001u;
    const uint32_t up_to_last =
        0xffffffffu >> ((Bits::kRowsPerWord - 1 - last_row) * Bits::kRowBits);
    return bits_within(rule.reach) * kEachRow & up_to_last &
           0xffffffffu << (first_row * Bits::kRowBits);
  }
  uint32_t word = 0;
  for (int i = first_row; i <= last_row; ++i) {
    // Largest du with du^2 + dv^2 < below_squared: the root of a square is exact.
    const int dv = i - from_v;
    const auto rest = static_cast<float>(rule.below_squared - 1 - dv * dv);
    word |= bits_within(static_cast<int>(std::sqrt(rest))) << (i * Bits::kRowBits);
  }
  return word;
}

// Calls `visit` with the keys of the candidates in `rest`, part of word w of square (column, row),
// and with kNoCandidate here and there. Ends early and returns false if a call returns false.
// Several loads are under way at a time.
template <int kWords, typename Places, typename Visit>
ORBSERVE_HOST_DEVICE inline bool VisitWord(const DistanceTile<kWords>& tile, const Places& places,
                                           int column, int row, int w, uint32_t rest,
                                           const Visit& visit) {
  using Bits = PlaceBits<kWords>;
  constexpr int kInFlight = 4;
  const int first_u = tile.FirstU(column);
  const int first_v = tile.FirstV(row) + w * Bits::kRowsPerWord;
  while (rest != 0) {
    uint64_t keys[kInFlight];
    ORBSERVE_UNROLL
    for (int i = 0; i < kInFlight; ++i) {
      keys[i] = kNoCandidate;
      if (rest == 0) continue;
      const int bit = LowestBit(rest);
      rest &= rest - 1;
      keys[i] =
          places.Key(OneLane(), first_u + bit % Bits::kRowBits, first_v + bit / Bits::kRowBits);
    }
    ORBSERVE_UNROLL
    for (int i = 0; i < kInFlight; ++i) {
      if (!visit(keys[i])) return false;
    }
  }
  return true;
}

// Sets the entries of square (column, row) before the first pass. `in_ring`: the block does not
// know all squares round it. True if the square has a candidate.
template <int kWords, typename Places>
ORBSERVE_HOST_DEVICE inline bool LoadSquare(const DistanceTile<kWords>& tile, const Places& places,
                                            int column, int row, bool in_ring) {
  using Bits = PlaceBits<kWords>;
  const PlaceRectangle square = SquareAt(tile.squares, column, row);
  const int i = row * tile.squares.columns + column;
  uint64_t best = kNoCandidate;
  for (int w = 0; w < kWords; ++w) {
    uint32_t word = 0;
    ORBSERVE_UNROLL
    for (int r = 0; r < Bits::kRowsPerWord; ++r) {
      const int v = w * Bits::kRowsPerWord + r;
      if (v >= square.height) continue;
      ORBSERVE_UNROLL
      for (int u = 0; u < Bits::kMostSide; ++u) {
        if (u >= square.width) continue;
        const uint64_t key = places.Key(OneLane(), square.u + u, square.v + v);
        best = Min(best, key);
        if (key != kNoCandidate) word |= 1u << (r * Bits::kRowBits + u);
      }
    }
    tile.Word(i, w) = word;
  }
  tile.best[i] = best;
  tile.inside[i] = 0;
  tile.is_doubtful[i] = in_ring ? 1 : 0;
  tile.doubt[i] = Doubt::kNone;
  return best != kNoCandidate;
}

// Before the first part of a pass: true if the best candidate of square (column, row), which has
// one and is not doubtful, is surely beaten by the best of a square beside its own or by a
// candidate beside it. Responses are smooth, so that few others are beaten.
template <int kWords, typename Places>
ORBSERVE_HOST_DEVICE inline bool IsBeatenNearby(const DistanceTile<kWords>& tile,
                                                const Places& places, int column, int row) {
  using Bits = PlaceBits<kWords>;
  const DistanceSquares& squares = tile.squares;
  const uint64_t own = tile.best[row * squares.columns + column];
  const int u = squares.PlaceU(own);
  const int v = squares.PlaceV(own);
  const int side = squares.rule.square_side;
  const int in_u = u - tile.FirstU(column);
  const int in_v = v - tile.FirstV(row);
  bool is_beaten = false;
  ORBSERVE_UNROLL
  for (int dr = -1; dr <= 1; ++dr) {
    ORBSERVE_UNROLL
    for (int dc = -1; dc <= 1; ++dc) {
      const int c = column + dc;
      const int r = row + dr;
      if (c < 0 || r < 0 || c >= squares.columns || r >= squares.rows) continue;
      const int i = r * squares.columns + c;
      if (tile.best[i] >= own || tile.is_doubtful[i] != 0) continue;
      is_beaten = is_beaten || squares.rule.Conflicts(squares.PlaceU(tile.best[i]) - u,
                                                      squares.PlaceV(tile.best[i]) - v);
    }
  }
  if (is_beaten) return true;
  ORBSERVE_UNROLL
  for (int n = 0; n < 9; ++n) {
    const int to_u = in_u + n % 3 - 1;
    const int to_v = in_v + n / 3 - 1;
    const int dc = to_u < 0 ? -1 : to_u >= side ? 1 : 0;
    const int dr = to_v < 0 ? -1 : to_v >= side ? 1 : 0;
    const int c = column + dc;
    const int r = row + dr;
    if ((dc == 0 && dr == 0) || c < 0 || r < 0 || c >= squares.columns || r >= squares.rows) {
      continue;  // no candidate of its own square is better
    }
    const int i = r * squares.columns + c;
    const int place = (to_v - dr * side) * Bits::kRowBits + to_u - dc * side;
    const uint32_t word = tile.Word(i, place / Bits::kWordBits);
    if ((word >> (place % Bits::kWordBits) & 1) == 0 || tile.is_doubtful[i] != 0) continue;
    is_beaten = is_beaten || places.Key(OneLane(), u + n % 3 - 1, v + n / 3 - 1) < own;
  }
  return is_beaten;
}

// First part of a pass: decides the lot of the best candidate of square (column, row), which has
// one and is not doubtful. It becomes inside, or the square is in doubt, or nothing changes. The
// lanes share the squares round it.
template <int kWords, typename Places, typename Lanes>
ORBSERVE_HOST_DEVICE inline void JudgeBest(const DistanceTile<kWords>& tile, const Places& places,
                                           int column, int row, int pass, const Lanes& lanes) {
  const DistanceSquares& squares = tile.squares;
  const uint64_t own = tile.best[row * squares.columns + column];
  const int u = squares.PlaceU(own);
  const int v = squares.PlaceV(own);
  // True if a candidate of square (c, r), which may be undecided, beats its own and is in conflict.
  const auto is_beaten_by = [&](int c, int r) {
    const int i = r * squares.columns + c;
    const uint64_t other = tile.best[i];
    if (other >= own) return false;
    if (squares.rule.Conflicts(squares.PlaceU(other) - u, squares.PlaceV(other) - v)) return true;
    for (int w = 0; w < kWords; ++w) {
      const uint32_t near = tile.Word(i, w) & ConflictWord(tile, c, r, w, u, v);
      if (!VisitWord(tile, places, c, r, w, near, [&](uint64_t key) { return key >= own; })) {
        return true;
      }
    }
    return false;
  };
  const int reach = squares.SquareReach();
  const int last_column = Min(column + reach, squares.columns - 1);
  const int last_row = Min(row + reach, squares.rows - 1);
  bool is_beaten = false;
  bool may_be_beaten = false;
  int turn = 0;  // the lane whose square it is
  for (int r = Max(row - reach, 0); r <= last_row && !is_beaten; ++r) {
    for (int c = Max(column - reach, 0); c <= last_column && !is_beaten; ++c) {
      if (c == column && r == row) continue;
      const bool is_mine = turn == lanes.lane();
      turn = turn + 1 < Lanes::kLanes ? turn + 1 : 0;
      if (!is_mine) continue;
      const bool is_doubtful = tile.is_doubtful[r * squares.columns + c] != 0;
      if ((is_doubtful && may_be_beaten) || !is_beaten_by(c, r)) continue;
      (is_doubtful ? may_be_beaten : is_beaten) = true;
    }
  }
  if (lanes.Any(is_beaten)) return;
  may_be_beaten = lanes.Any(may_be_beaten);
  if (lanes.lane() != 0) return;
  const int i = row * squares.columns + column;
  if (may_be_beaten) {
    tile.doubt[i] = Doubt::kBest;
  } else {
    tile.inside[i] = TileInside(pass, tile.PlaceOf(own, column, row));
  }
}

// Second part, of a square with candidates: removes those in conflict with a place that became
// inside in `pass`, and finds the best of the rest.
template <int kWords, typename Places>
ORBSERVE_HOST_DEVICE inline void RemoveNearInside(const DistanceTile<kWords>& tile,
                                                  const Places& places, int column, int row,
                                                  int pass) {
  using Bits = PlaceBits<kWords>;
  const DistanceSquares& squares = tile.squares;
  const int i = row * squares.columns + column;
  if (TileInsidePass(tile.inside[i]) == pass) {
    for (int w = 0; w < kWords; ++w) tile.Word(i, w) = 0;
    tile.best[i] = kNoCandidate;
    tile.doubt[i] = Doubt::kNone;
    return;
  }
  const int reach = squares.SquareReach();
  bool is_changed = false;
  for (int r = Max(row - reach, 0); r <= Min(row + reach, squares.rows - 1); ++r) {
    for (int c = Max(column - reach, 0); c <= Min(column + reach, squares.columns - 1); ++c) {
      const uint16_t inside = tile.inside[r * squares.columns + c];
      if (TileInsidePass(inside) != pass) continue;
      const int place = TileInsidePlace(inside);
      const int u = tile.FirstU(c) + place % Bits::kRowBits;
      const int v = tile.FirstV(r) + place / Bits::kRowBits;
      for (int w = 0; w < kWords; ++w) tile.Word(i, w) &= ~ConflictWord(tile, column, row, w, u, v);
      is_changed = true;
    }
  }
  bool keeps_best = true;
  if (is_changed) {
    const int place = tile.PlaceOf(tile.best[i], column, row);
    keeps_best = (tile.Word(i, place / Bits::kWordBits) >> (place % Bits::kWordBits) & 1) != 0;
    if (!keeps_best) {
      uint64_t best = kNoCandidate;
      for (int w = 0; w < kWords; ++w) {
        VisitWord(tile, places, column, row, w, tile.Word(i, w), [&](uint64_t key) {
          best = Min(best, key);
          return true;
        });
      }
      tile.best[i] = best;
    }
  }
  if (tile.best[i] == kNoCandidate) {
    tile.doubt[i] = Doubt::kNone;  // none of its candidates has become inside
  } else if (tile.is_doubtful[i] != 0) {
    tile.doubt[i] = Doubt::kAll;
  } else if (!keeps_best) {
    tile.doubt[i] = Doubt::kNone;  // the one in doubt has not become inside
  }
}

// The places from the first to the last row and column of some, which are not none.
struct PlaceBox {
  int u_begin;
  int v_begin;
  int u_last;
  int v_last;
};
ORBSERVE_HOST_DEVICE inline int HighestBit(uint32_t bits) {
  bits |= bits >> 1;
  bits |= bits >> 2;
  bits |= bits >> 4;
  bits |= bits >> 8;
  bits |= bits >> 16;
  return PopCount(bits) - 1;
}
template <int kWords>
ORBSERVE_HOST_DEVICE inline PlaceBox BoxOf(const DistanceTile<kWords>& tile, int column, int row) {
  using Bits = PlaceBits<kWords>;
  const int i = row * tile.squares.columns + column;
  uint32_t columns = 0;
  int first_row = 0;
  int last_row = 0;
  for (int w = 0; w < kWords; ++w) {
    const uint32_t word = tile.Word(i, w);
    if (word == 0) continue;
    if (columns == 0) first_row = w * Bits::kRowsPerWord + LowestBit(word) / Bits::kRowBits;
    last_row = w * Bits::kRowsPerWord + HighestBit(word) / Bits::kRowBits;
    columns |= word;
  }
  columns |= columns >> 16;
  if (Bits::kRowBits == 8) columns |= columns >> 8;
  columns &= (1u << Bits::kRowBits) - 1;
  const int u = tile.FirstU(column);
  const int v = tile.FirstV(row);
  return {u + LowestBit(columns), v + first_row, u + HighestBit(columns), v + last_row};
}

// Third part, of a square with candidates: true if they are doubtful after the pass.
template <int kWords>
ORBSERVE_HOST_DEVICE inline bool IsDoubtful(const DistanceTile<kWords>& tile, int column, int row) {
  const DistanceSquares& squares = tile.squares;
  const int i = row * squares.columns + column;
  if (tile.doubt[i] != Doubt::kNone) return true;
  const PlaceBox own = BoxOf(tile, column, row);
  const int reach = squares.SquareReach();
  for (int r = Max(row - reach, 0); r <= Min(row + reach, squares.rows - 1); ++r) {
    for (int c = Max(column - reach, 0); c <= Min(column + reach, squares.columns - 1); ++c) {
      const int other = r * squares.columns + c;
      const Doubt doubt = tile.doubt[other];
      if (doubt == Doubt::kNone) continue;
      PlaceBox box;
      if (doubt == Doubt::kAll) {
        box = BoxOf(tile, c, r);
      } else {
        box.u_begin = box.u_last = squares.PlaceU(tile.best[other]);
        box.v_begin = box.v_last = squares.PlaceV(tile.best[other]);
      }
      const int gap_u = Max(box.u_begin - own.u_last, own.u_begin - box.u_last);
      const int gap_v = Max(box.v_begin - own.v_last, own.v_begin - box.v_last);
      if (gap_u <= squares.rule.reach && gap_v <= squares.rule.reach) return true;
    }
  }
  return false;
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_DISTANCE_TILE_H_
