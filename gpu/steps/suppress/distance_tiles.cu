// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: response maps of (frame, level), and of corner maps the best response of each frame. Out: per
// (frame, level) the corners of the cells that could be decided, in any order, with the number of
// passes; per cell its inside place; and a list of the other cells. The maps stay as they are.
//
// A block has the orders of all places that it knows in shared memory, up to 50,000 of them: a tile
// of cells and a margin. A thread looks after one cell or a few. Cells that have lost their
// dominating candidate or their best are queued, and all threads share the places of the queue, 1
// to 32 lanes a cell: they take columns, so that neighbouring lanes read neighbouring banks.
// Barriers part the parts of a pass. Late passes have few cells, which get a warp each and need no
// queues.
//
//   1. TilePassesKernel: every tile of every level. Cells that depend on what lies beyond the
//      margin are listed.
//   2. RetryKernel: every listed cell by a block of its own, in the middle of what it knows.
//      Levels with many listed cells (chains, lattices) are passed on as they are, and so are
//      those with very few, which are decided faster in another way.
//
// Neither kernel waits for another block.

#include "gpu/steps/suppress/distance_tiles.h"

#include <algorithm>

#include "features/algo/distance_tile.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/suppress/distance_levels.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kThreads = 1024;
constexpr int kWarps = kThreads / kWarpLanes;
constexpr int kMaxAcross = 64;  // cells that a block knows side by side
static_assert(kMaxAcross * kMaxAcross <= 32 * kThreads, "a thread has a bit for each of its cells");
constexpr int kMaxTileSide = 48;
constexpr int kOwnRounds = (kMaxTileSide * kMaxTileSide + kThreads - 1) / kThreads;
// Listed cells of a level that are tried again.
constexpr int kMaxRetried = 256;
constexpr int kMaxRetryBlocks = 128;
// The list that tiles fill and RetryKernel reads; it fills list 0.
constexpr int kTileList = 1;
constexpr int kTileCount = 3;  // its number among the counts of lists
static_assert(kTileCount < kCellCounts);

// `count` neighbouring lanes of a warp, a power of two (algo::OneTileLane names the functions). All
// lanes of the warp call them together. Groups without work do what another one does, and write
// nothing but what that one writes.
class TileLanes {
 public:
  __device__ __forceinline__ explicit TileLanes(int count)
      : count_(count), lane_(static_cast<int>(threadIdx.x) & (count - 1)) {}

  // Returns these lanes; `has_work` says whether their group has work.
  __device__ __forceinline__ TileLanes With(bool has_work) const {
    TileLanes lanes = *this;
    lanes.has_work_ = has_work;
    return lanes;
  }
  __device__ __forceinline__ int column() const { return lane_; }
  __device__ __forceinline__ int column_step() const { return count_; }
  __device__ __forceinline__ int row() const { return 0; }
  __device__ __forceinline__ int row_step() const { return 1; }
  __device__ __forceinline__ bool Leads() const { return has_work_ && lane_ == 0; }
  __device__ __forceinline__ int count() const { return count_; }
  __device__ __forceinline__ bool Any(bool value) const { return OfGroup(value) != 0; }
  __device__ __forceinline__ bool IsFirst(bool value) const {
    const unsigned having = OfGroup(value);
    return has_work_ && lane_ == __ffs(static_cast<int>(having)) - 1;
  }
  __device__ __forceinline__ uint32_t Most(uint32_t value) const {
    for (int distance = count_ / 2; distance > 0; distance /= 2) {
      value = Max(value, __shfl_xor_sync(kFullWarp, value, distance));
    }
    return value;
  }
  __device__ __forceinline__ uint64_t Least(uint64_t value) const {
    for (int distance = count_ / 2; distance > 0; distance /= 2) {
      value = Min<uint64_t>(
          value, __shfl_xor_sync(kFullWarp, static_cast<unsigned long long>(value), distance));
    }
    return value;
  }

 private:
  // Bit i: `value` of lane i.
  __device__ __forceinline__ unsigned OfGroup(bool value) const {
    const int first = static_cast<int>(threadIdx.x % kWarpLanes) - lane_;
    return __ballot_sync(kFullWarp, value) >> first & (kFullWarp >> (kWarpLanes - count_));
  }

  int count_;
  int lane_;
  bool has_work_ = true;
};

// The lanes of a whole warp work on one cell (algo::OneTileLane names the functions). They share
// rectangles that are `across` places wide, a few rows at a time.
class TileWarp {
 public:
  __device__ __forceinline__ explicit TileWarp(int across)
      : places_(algo::LanePlaces::Of(Lane(), kWarpLanes, across)) {}

  __device__ __forceinline__ int column() const { return places_.column; }
  __device__ __forceinline__ int column_step() const { return places_.column_step; }
  __device__ __forceinline__ int row() const { return places_.row; }
  __device__ __forceinline__ int row_step() const { return places_.row_step; }
  __device__ __forceinline__ bool Leads() const { return Lane() == 0; }
  __device__ __forceinline__ bool Any(bool value) const {
    return __any_sync(kFullWarp, value) != 0;
  }
  __device__ __forceinline__ bool IsFirst(bool value) const {
    return Lane() == __ffs(static_cast<int>(__ballot_sync(kFullWarp, value))) - 1;
  }
  __device__ __forceinline__ uint32_t Most(uint32_t value) const { return WarpMax(value); }
  __device__ __forceinline__ uint64_t Least(uint64_t value) const {
    // The upper halves decide, and the lower ones among equals.
    const auto own_upper = static_cast<uint32_t>(value >> 32);
    const uint32_t upper = WarpMin(own_upper);
    const uint32_t lower = WarpMin(own_upper == upper ? static_cast<uint32_t>(value) : ~0u);
    return static_cast<uint64_t>(upper) << 32 | lower;
  }

 private:
  __device__ __forceinline__ static int Lane() {
    return static_cast<int>(threadIdx.x) % kWarpLanes;
  }

  algo::LanePlaces places_;
};

// Cells that need work in a part of a pass. One queue is read while others are filled.
constexpr int kQueues = 3;
enum Queued { kJudged, kOpen, kInside, kLost, kCertain, kQueuedKinds };

// When no more cells than these can still be judged, each gets a warp for the passes that are
// left: two a warp at most. A pass then needs no queues, and its parts are short.
constexpr int kFewCells = 2 * kWarps;
static_assert(kFewCells <= 32 * kWarps, "a thread has a bit for each of its warp's cells");

// Bytes of shared memory for each place and cell that a block knows.
constexpr int PlaceBytes(bool is_compressed) {
  return static_cast<int>(sizeof(uint32_t)) + (is_compressed ? 1 : 0);
}
constexpr int kCellBytes = static_cast<int>(sizeof(uint64_t) + sizeof(uint32_t) +
                                            (1 + kQueues) * sizeof(uint16_t) + 2 * sizeof(uint8_t));

constexpr int kArrayUnit = 8;  // entries of an array: the next one is aligned

// Counters of a block.
struct TileCounts {
  int queued[kQueuedKinds];
  int corners;
  int first_corner;
  int listed;
  int first_listed;
  int last_pass;
};

// Cells [column, column + columns) by [row, row + rows) of a level, which a block decides, as far
// as it can, with a margin round them.
struct TilePart {
  int column;
  int row;
  int columns;
  int rows;
  int margin;
};

// Loads the orders of the rows of a tile, one warp a row, several places of a lane at a time.
__device__ __forceinline__ void LoadPlaces(const algo::DistanceTile& tile,
                                           const algo::PixelPlaces& places) {
  constexpr int kInFlight = 8;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int width = tile.Width();
  for (int v = warp; v < tile.Height(); v += kWarps) {
    const uint32_t* const row =
        places.map + static_cast<int64_t>(v + tile.grid.v_begin) * places.pitch + tile.grid.u_begin;
    for (int begin = lane; begin < width; begin += kInFlight * kWarpLanes) {
      uint32_t orders[kInFlight];
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        const int u = begin + i * kWarpLanes;
        orders[i] = u < width ? row[u] : 0;
      }
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        const int u = begin + i * kWarpLanes;
        if (u < width) tile.OrderAt(u, v) = orders[i] > places.threshold ? orders[i] : 0;
      }
    }
  }
}
__device__ __forceinline__ void LoadPlaces(const algo::DistanceTile& tile,
                                           const algo::BlockPlaces& places) {
  constexpr int kInFlight = 4;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int width = tile.Width();
  for (int v = warp; v < tile.Height(); v += kWarps) {
    for (int begin = lane; begin < width; begin += kInFlight * kWarpLanes) {
      uint64_t keys[kInFlight];
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        const int u = begin + i * kWarpLanes;
        keys[i] = u < width
                      ? places.Key(algo::OneLane(), u + tile.grid.u_begin, v + tile.grid.v_begin)
                      : algo::kNoCandidate;
      }
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        const int u = begin + i * kWarpLanes;
        if (u < width) algo::SetPlace(tile, u, v, keys[i]);
      }
    }
  }
}

// All passes over a part of a level, as far as the block can do them. Cells that it cannot decide
// go to `list`.
template <bool kCompressed>
__device__ void DoTile(const DistanceParams& params, const FrameParams& frame,
                       FrameCounters& counters, int frame_index, int l, const TilePart& part,
                       int32_t* list, int32_t* list_count) {
  extern __shared__ __align__(16) uint8_t tile_memory[];
  __shared__ TileCounts counts;
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarpLanes;
  const int lane = thread % kWarpLanes;
  const LevelData data = DataOf(params, frame_index, l);
  const algo::DistanceGrid& grid = data.level.grid;
  const int side = grid.rule.cell_side;
  const int first_column = max(part.column - part.margin, 0);
  const int first_row = max(part.row - part.margin, 0);
  const int end_column = min(part.column + part.columns + part.margin, grid.columns);
  const int end_row = min(part.row + part.rows + part.margin, grid.rows);
  algo::DistanceTile tile;
  tile.grid = {grid.rule,
               grid.u_begin + first_column * side,
               grid.v_begin + first_row * side,
               min(grid.u_begin + end_column * side, grid.u_end),
               min(grid.v_begin + end_row * side, grid.v_end),
               end_column - first_column,
               end_row - first_row};
  tile.pitch = tile.Width();
  tile.side_factor = algo::DistanceTile::SideFactor(side);
  const TileSizes& sizes = params.tiles;
  tile.best = reinterpret_cast<uint64_t*>(tile_memory);
  tile.order = reinterpret_cast<uint32_t*>(tile.best + sizes.cells);
  tile.dominator = tile.order + sizes.places;
  tile.inside = reinterpret_cast<uint16_t*>(tile.dominator + sizes.cells);
  tile.is_uncertain = reinterpret_cast<uint8_t*>(tile.inside + (1 + kQueues) * sizes.cells);
  tile.uncertainty = reinterpret_cast<algo::Uncertainty*>(tile.is_uncertain + sizes.cells);
  tile.pixel = kCompressed ? tile.is_uncertain + 2 * sizes.cells : nullptr;
  const auto places = MakePlaces<kCompressed>(params, frame, counters, frame_index, l);
  const int columns = tile.grid.columns;
  const int number = tile.grid.count();
  // i / columns is the upper half of i * column_factor: i * columns is below 2^32.
  const uint32_t column_factor = 0xffffffffu / static_cast<uint32_t>(columns) + 1;
  const auto row_of = [&](int i) {
    return columns == 1 ? i : static_cast<int>(__umulhi(static_cast<uint32_t>(i), column_factor));
  };
  const auto is_own = [&](int column, int row) {
    const int c = column + first_column - part.column;
    const int r = row + first_row - part.row;
    return c >= 0 && r >= 0 && c < part.columns && r < part.rows;
  };
  uint16_t* const queue[kQueues] = {tile.inside + sizes.cells, tile.inside + 2 * sizes.cells,
                                    tile.inside + 3 * sizes.cells};
  // Threads look after cells; `n` counts those of a thread.
  const auto for_cells = [&](const auto& visit) {
#pragma unroll 1
    for (int n = 0; n * kThreads < number; ++n) {
      const int i = n * kThreads + thread;
      const int row = row_of(i);
      visit(n, i, i - row * columns, row);
    }
  };
  // Appends the cells of the lanes that have `value`. The whole warp takes part.
  const auto append = [&](bool value, int i, uint16_t* to, Queued kind) {
    const unsigned having = __ballot_sync(kFullWarp, value);
    if (having == 0) return;
    int place = 0;
    if (lane == 0) place = atomicAdd(&counts.queued[kind], __popc(having));
    place = __shfl_sync(kFullWarp, place, 0) + __popc(having & ((1u << lane) - 1));
    if (value) to[place] = static_cast<uint16_t>(i);
  };
  // Calls visit(lanes, i, column, row) for each of `queued` cells, i = of(n), by as many groups
  // of lanes as the block has. Groups of a warp without a cell follow the last one.
  const auto for_groups = [&](int queued, const TileLanes& lanes, const auto& of,
                              const auto& visit) {
    const int groups = kThreads / lanes.count();
    const int group = thread / lanes.count();
#pragma unroll 1
    for (int begin = 0; begin < queued; begin += groups) {
      if (begin + warp * kWarpLanes / lanes.count() >= queued) break;  // the whole warp
      const int n = begin + group;
      const int i = of(min(n, queued - 1));
      const int row = row_of(i);
      visit(lanes.With(n < queued), i, i - row * columns, row);
    }
  };
  // Lanes for each of so many cells, of which they take columns of places.
  const auto lanes_for = [](int queued, int places_across) {
    int count = kWarpLanes;
    while (count > 1 && (queued * count > kThreads || count / 2 >= places_across)) count /= 2;
    return TileLanes(count);
  };
  const int window_side = 2 * grid.rule.reach + 1;

  if (thread == 0) {
    counts.corners = 0;
    counts.listed = 0;
    counts.last_pass = 0;
  }
  if (thread < kQueuedKinds) counts.queued[thread] = 0;
  LoadPlaces(tile, places);
  __syncthreads();  // the orders are there, and nothing is counted yet

  const int reach = grid.CellReach();
  // Columns and rows of the ring, of which some neighbours are unknown, end or begin here.
  const int ring_left = first_column > 0 ? reach : 0;
  const int ring_top = first_row > 0 ? reach : 0;
  const int ring_right = columns - (end_column < grid.columns ? reach : 0);
  const int ring_bottom = tile.grid.rows - (end_row < grid.rows ? reach : 0);
  {
    // Neighbouring cells begin in the same bank. So many lanes of a cell read different banks.
    const TileLanes all_lanes(side & -side);
    for_groups(
        number, all_lanes, [](int n) { return n; },
        [&](const TileLanes& lanes, int i, int column, int row) {
          const uint64_t best = algo::BestInTile(tile, column, row, lanes);
          const bool in_ring =
              column < ring_left || row < ring_top || column >= ring_right || row >= ring_bottom;
          if (lanes.Leads()) algo::StartCell(tile, i, best, in_ring);
        });
  }
  __syncthreads();      // the cells are there
  uint32_t active = 0;  // bit n: the thread's cell n has a candidate
  for_cells([&](int n, int i, int /*column*/, int /*row*/) {
    if (i < number && tile.best[i] != algo::kNoCandidate) active |= 1u << n;
  });

  const int most_passes =
      params.max_passes == 0 ? algo::kMaxTilePasses : min(algo::kMaxTilePasses, params.max_passes);
  int pass = 1;
  bool few_are_left = false;
  for (; pass <= most_passes && !few_are_left; ++pass) {
    bool goes_on = false;  // a cell of the tile has a candidate and is not uncertain
    for_cells([&](int n, int i, int column, int row) {
      bool is_judged = false;
      if ((active >> n & 1) != 0 && algo::IsCertain(tile, i)) {
        is_judged = !algo::IsDominated(tile, i) && !algo::FindDominator(tile, column, row);
        goes_on = goes_on || is_own(column, row);
      }
      append(is_judged, i, queue[0], kJudged);
    });
    if (thread == 0) counts.queued[kLost] = 0;
    if (__syncthreads_or(goes_on) == 0)
      break;  // else the cells without a dominating candidate are known
    const int judged = counts.queued[kJudged];
    if (judged > 0) {
      for_groups(
          judged, lanes_for(judged, window_side), [&](int n) { return queue[0][n]; },
          [&](const TileLanes& lanes, int i, int column, int row) {
            const algo::Lot lot = algo::JudgeBest(tile, column, row, pass, lanes);
            append(lanes.Leads() && lot == algo::Lot::kInside, i, queue[1], kInside);
            append(lanes.Leads() && lot == algo::Lot::kOpen, i, queue[2], kOpen);
          });
    }
    __syncthreads();  // most bests are judged
    const int open = counts.queued[kOpen];
    if (open > 0) {
      for_groups(
          open, lanes_for(open, window_side), [&](int n) { return queue[2][n]; },
          [&](const TileLanes& lanes, int i, int column, int row) {
            const algo::Lot lot = algo::JudgeClosely(tile, column, row, pass, lanes);
            append(lanes.Leads() && lot == algo::Lot::kInside, i, queue[1], kInside);
          });
      __syncthreads();  // and the others
    }
    if (thread == 0) counts.queued[kJudged] = counts.queued[kCertain] = 0;
    const int insides = counts.queued[kInside];
    if (insides > 0) {
      for_groups(
          insides, lanes_for(insides, window_side), [&](int n) { return queue[1][n]; },
          [&](const TileLanes& lanes, int /*i*/, int column, int row) {
            algo::RemoveConflicts(tile, column, row, lanes);
          });
    }
    __syncthreads();  // what is in conflict with the new inside places is gone
    for_cells([&](int n, int i, int /*column*/, int /*row*/) {
      const bool is_active = (active >> n & 1) != 0;
      const bool has_lost = is_active && algo::HasLostBest(tile, i);
      if (is_active && !has_lost) algo::PassUncertainty(tile, i, false);
      append(has_lost, i, queue[0], kLost);
    });
    __syncthreads();  // the cells that have lost their best are known
    if (thread == 0) counts.queued[kInside] = counts.queued[kOpen] = 0;
    const int lost = counts.queued[kLost];
    if (lost > 0) {
      for_groups(
          lost, lanes_for(lost, side), [&](int n) { return queue[0][n]; },
          [&](const TileLanes& lanes, int i, int column, int row) {
            algo::RefreshBest(tile, column, row, lanes);
            if (lanes.Leads()) algo::PassUncertainty(tile, i, true);
          });
    }
    __syncthreads();  // the bests of all cells are there, and what is uncertain of them
    for_cells([&](int n, int i, int column, int row) {
      if ((active >> n & 1) != 0 && tile.best[i] == algo::kNoCandidate) active &= ~(1u << n);
      bool is_certain = (active >> n & 1) != 0 && tile.is_uncertain[i] == 0;
      if (is_certain && algo::HasUncertainBeside(tile, column, row)) {
        tile.is_uncertain[i] = 1;
        is_certain = false;
      }
      append(is_certain, i, queue[1], kCertain);
    });
    __syncthreads();  // it is known which cells are uncertain, and which ones are not
    few_are_left = counts.queued[kCertain] <= kFewCells;
  }

  if (few_are_left) {
    for_cells([&](int n, int i, int /*column*/, int /*row*/) {
      if ((active >> n & 1) != 0 && tile.is_uncertain[i] != 0) algo::StayUncertain(tile, i);
    });
    const TileWarp window(window_side);
    const TileWarp cell(side);
    const TileWarp beside(2 * reach + 1);
    const int few = counts.queued[kCertain];
    // Bit n: the warp's cell n has a candidate; it can be judged, too.
    const int of_warp = (few - warp + kWarps - 1) / kWarps;
    uint32_t undecided = warp < few ? kFullWarp >> (kWarpLanes - of_warp) : 0;
    uint32_t certain = undecided;
    // Calls visit(bit, i, column, row) for the cells of `bits`.
    const auto for_bits = [&](uint32_t bits, const auto& visit) {
#pragma unroll 1
      for (uint32_t rest = bits; rest != 0; rest &= rest - 1) {
        const int i = queue[1][warp + (__ffs(static_cast<int>(rest)) - 1) * kWarps];
        const int row = row_of(i);
        visit(rest & (0u - rest), i, i - row * columns, row);
      }
    };
    bool goes_on = true;
    for (; pass <= most_passes && goes_on; ++pass) {
      uint32_t insides = 0;
      for_bits(certain, [&](uint32_t bit, int i, int column, int row) {
        if (algo::IsDominated(tile, i)) return;
        __syncwarp();  // all lanes have read the dominating candidate that one of them may write
        algo::Lot lot = algo::JudgeBest(tile, column, row, pass, window);
        if (lot == algo::Lot::kOpen) lot = algo::JudgeClosely(tile, column, row, pass, window);
        if (lot == algo::Lot::kInside) insides |= bit;
      });
      __syncthreads();  // all bests are judged
      for_bits(insides, [&](uint32_t /*bit*/, int /*i*/, int column, int row) {
        algo::RemoveConflicts(tile, column, row, window);
      });
      __syncthreads();  // what is in conflict with the new inside places is gone
      for_bits(undecided, [&](uint32_t /*bit*/, int i, int column, int row) {
        const bool has_lost = algo::HasLostBest(tile, i);
        __syncwarp();  // all lanes have read the best that one of them may write
        if (has_lost) algo::RefreshBest(tile, column, row, cell);
        if (lane == 0) algo::PassUncertainty(tile, i, has_lost);
      });
      __syncthreads();  // the bests of all cells are there, and what is uncertain of them
      bool may_go_on = false;
      for_bits(undecided, [&](uint32_t bit, int i, int column, int row) {
        if (tile.best[i] == algo::kNoCandidate) {
          undecided &= ~bit;
          certain &= ~bit;
        } else if ((certain & bit) != 0) {
          if (algo::HasUncertainBeside(tile, column, row, beside)) {
            certain &= ~bit;
            if (lane == 0) tile.is_uncertain[i] = 1;
          } else {
            may_go_on = may_go_on || is_own(column, row);
          }
        }
      });
      goes_on = __syncthreads_or(may_go_on) != 0;  // it is known which cells are uncertain
    }
  }

  // Each thread has a few cells of the tile.
  struct Result {
    int place;  // in its list
    uint16_t inside;
    bool is_listed;
  };
  Result results[kOwnRounds];
  const int own_number = part.columns * part.rows;
  const auto for_own = [&](const auto& visit) {
#pragma unroll
    for (int n = 0; n < kOwnRounds; ++n) {
      const int own = n * kThreads + thread;
      if (own >= own_number) continue;
      const int own_row = own / part.columns;
      const int row = part.row + own_row;
      const int column = part.column + own - own_row * part.columns;
      visit(results[n], column, row, (row - first_row) * columns + column - first_column);
    }
  };
  for_own([&](Result& result, int column, int row, int i) {
    const bool is_dropped =
        params.max_passes != 0 && pass > params.max_passes && tile.is_uncertain[i] == 0;
    result.is_listed =
        !is_dropped && algo::HasCandidate(tile, i, column - first_column, row - first_row);
    result.inside = tile.inside[i];
    uint32_t entry = 0;
    if (result.is_listed) {
      entry = algo::kUndecidedCell;
      result.place = atomicAdd(&counts.listed, 1);
    } else if (result.inside != 0) {
      const int inside_pass = algo::TileInsidePass(result.inside);
      entry = algo::InsideEntry(inside_pass, algo::TileInsidePlace(result.inside));
      result.place = atomicAdd(&counts.corners, 1);
      atomicMax(&counts.last_pass, inside_pass);
    }
    data.inside[row * grid.columns + column] = entry;
  });
  __syncthreads();  // corners and undecided cells are counted
  if (thread == 0) {
    if (counts.corners > 0) {
      counts.first_corner = atomicAdd(&counters.corners[l], counts.corners);
      atomicMax(&counters.suppression_passes[l], counts.last_pass);
    }
    if (counts.listed > 0) counts.first_listed = atomicAdd(list_count, counts.listed);
  }
  __syncthreads();  // the block has its parts of the lists
  for_own([&](const Result& result, int column, int row, int /*i*/) {
    if (result.is_listed) {
      list[counts.first_listed + result.place] = row * grid.columns + column;
    } else if (result.inside != 0) {
      const int place = algo::TileInsidePlace(result.inside);
      const uint64_t key = places.Key(algo::OneLane(), grid.u_begin + column * side + place % side,
                                      grid.v_begin + row * side + place / side);
      StoreCorner(params.sink, params.images, frame, frame_index, l, counters,
                  counts.first_corner + result.place, key, warp);
    }
  });
}

template <bool kCompressed>
__global__ __launch_bounds__(kThreads) void TilePassesKernel(
    const __grid_constant__ DistanceParams params) {
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;  // the whole block
  const int l = LevelOfBlock(params);
  const LevelData data = DataOf(params, frame_index, l);
  const algo::DistanceGrid& grid = data.level.grid;
  const int side = params.tiles.side;
  const int tile = static_cast<int>(blockIdx.x) - data.level.first_block;
  const int column = tile % data.level.tile_columns * side;
  const int row = tile / data.level.tile_columns * side;
  const TilePart part = {column, row, min(side, grid.columns - column), min(side, grid.rows - row),
                         params.tiles.margin};
  DoTile<kCompressed>(params, frame, params.frames.counters[frame_index], frame_index, l, part,
                      data.list[kTileList], &data.list_count[kTileCount]);
}

// Blocks [l * retry_blocks, (l + 1) * retry_blocks) of a frame are those of its level l.
template <bool kCompressed>
__global__ __launch_bounds__(kThreads) void RetryKernel(
    const __grid_constant__ DistanceParams params) {
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;  // the whole block
  const int blocks = params.tiles.retry_blocks;
  const int l = static_cast<int>(blockIdx.x) / blocks;
  const int block = static_cast<int>(blockIdx.x) - l * blocks;
  const LevelData data = DataOf(params, frame_index, l);
  const int32_t* const listed = data.list[kTileList];
  const int number = data.list_count[kTileCount];
  if (number > kMaxRetried || params.DecidesAtOnce(number)) {
    for (int n = block * kThreads + static_cast<int>(threadIdx.x); n < number;
         n += blocks * kThreads) {
      data.list[0][n] = listed[n];
    }
    if (block == 0 && threadIdx.x == 0) data.list_count[0] = number;
    return;
  }
  const int columns = data.level.grid.columns;
  for (int n = block; n < number; n += blocks) {
    const int cell = listed[n];
    const TilePart part = {cell % columns, cell / columns, 1, 1, params.tiles.retry_margin};
    __syncthreads();  // nothing of the cell before is read any more
    DoTile<kCompressed>(params, frame, params.frames.counters[frame_index], frame_index, l, part,
                        data.list[0], &data.list_count[0]);
  }
}

}  // namespace

absl::StatusOr<int> AllowTileBytes(int device, bool is_compressed) {
  int most = 0;
  ORBSERVE_CUDA_RETURN_IF_ERROR(
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  int bytes = most;
  const auto allow = [&](auto* kernel) -> absl::Status {
    cudaFuncAttributes attributes;
    ORBSERVE_CUDA_RETURN_IF_ERROR(cudaFuncGetAttributes(&attributes, kernel));
    bytes = std::min(bytes, most - static_cast<int>(attributes.sharedSizeBytes));
    return StatusFromCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               most - static_cast<int>(attributes.sharedSizeBytes)),
                          "cudaFuncSetAttribute");
  };
  if (is_compressed) {
    ORBSERVE_RETURN_IF_ERROR(allow(TilePassesKernel<true>));
    ORBSERVE_RETURN_IF_ERROR(allow(RetryKernel<true>));
  } else {
    ORBSERVE_RETURN_IF_ERROR(allow(TilePassesKernel<false>));
    ORBSERVE_RETURN_IF_ERROR(allow(RetryKernel<false>));
  }
  return bytes;
}

bool SetTiles(int tile_bytes, int multiprocessors, DistanceParams* params) {
  const int cell_side = params->level[0].grid.rule.cell_side;
  if (cell_side > algo::kMaxTileCellSide) return false;
  const auto places = [&](int across) { return across * cell_side * across * cell_side; };
  const auto bytes = [&](int across) {
    return RoundUp(places(across), kArrayUnit) * PlaceBytes(params->is_compressed) +
           RoundUp(across * across, kArrayUnit) * kCellBytes;
  };
  int most_across = kMaxAcross;
  while (most_across > 0 &&
         (places(most_across) > algo::kMaxTilePlaces || bytes(most_across) > tile_bytes)) {
    --most_across;
  }
  // Cells of a margin: uncertain ones seldom lie farther inside, the less the larger cells are. A
  // wider one where its cells have threads anyway.
  constexpr int kWidestMargin = 12;
  const int least_margin = cell_side <= 5 ? 8 : cell_side <= 8 ? 6 : 4;
  const int largest_side = std::min(most_across - 2 * least_margin, kMaxTileSide);
  if (largest_side < 1) return false;
  // The smallest tiles for which every block has a multiprocessor of its own at once.
  const auto divide = [&](int side) {
    params->thread_blocks = 0;
    for (int l = 0; l < params->levels; ++l) {
      DistanceParams::Level& level = params->level[l];
      level.first_block = params->thread_blocks;
      level.tile_columns = std::max(DivUp(level.grid.columns, side), 1);  // a divisor
      params->thread_blocks += level.tile_columns * DivUp(level.grid.rows, side);
    }
  };
  TileSizes& tiles = params->tiles;
  tiles.side = std::min(largest_side, 4);
  divide(tiles.side);
  while (tiles.side < largest_side &&
         params->thread_blocks * params->frames.count > multiprocessors) {
    divide(++tiles.side);
  }
  constexpr int kCellsOfOneRound = 32;  // side by side
  tiles.margin = std::min((most_across - tiles.side) / 2,
                          Clamp((kCellsOfOneRound - tiles.side) / 2, least_margin, kWidestMargin));
  // A thread has one cell round a single one, and there are enough to know more than a tile did.
  tiles.retry_margin =
      std::min((most_across - 1) / 2, std::max((kCellsOfOneRound - 1) / 2, tiles.margin + 4));
  tiles.retry_blocks =
      Clamp(multiprocessors / Max(params->levels * params->frames.count, 1), 1, kMaxRetryBlocks);
  const int across = std::max(tiles.side + 2 * tiles.margin, 2 * tiles.retry_margin + 1);
  tiles.places = RoundUp(places(across), kArrayUnit);
  tiles.cells = RoundUp(across * across, kArrayUnit);
  return true;
}

absl::Status LaunchTilePasses(const DistanceParams& params, cudaStream_t stream) {
  const TileSizes& tiles = params.tiles;
  const dim3 grid(params.thread_blocks, params.frames.count);
  const dim3 retry_grid(params.levels * tiles.retry_blocks, params.frames.count);
  const size_t bytes = static_cast<size_t>(tiles.places) * PlaceBytes(params.is_compressed) +
                       static_cast<size_t>(tiles.cells) * kCellBytes;
  return WithCompression(params, [&](auto compressed) -> absl::Status {
    constexpr bool kCompressed = compressed.value;
    TilePassesKernel<kCompressed><<<grid, kThreads, bytes, stream>>>(params);
    ORBSERVE_RETURN_IF_ERROR(CheckLaunch("TilePassesKernel"));
    RetryKernel<kCompressed><<<retry_grid, kThreads, bytes, stream>>>(params);
    return CheckLaunch("RetryKernel");
  });
}

}  // namespace orbserve::gpu
