// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: response maps of (frame, level), and of corner maps the best response of each frame. Out: per
// (frame, level) the corners that are kept, in any order, and the number of passes. Arithmetic:
// features/algo/distance_squares.h and distance_tile.h (paper 5, sec. 3.1, 3.3, 3.4), which divide
// a level into squares that hold one corner at most.
//
// Data decides the number of passes: a dozen on photographs, hundreds where responses fall along a
// line or are equal everywhere. The launches are the same for all of them. With squares of up to
// 16 x 16 places:
//
//   1. TilePassesKernel: all passes over a tile of squares and a margin round it by one block, with
//      the squares in shared memory and a thread per undecided square. The maps stay as they are.
//      Squares that depend on what lies beyond the margin are listed: none or a few dozen of the
//      82,000 of a photograph of 1920x1080 at distance 5.
//   2. LastPassesKernel: the listed squares, from the first pass on. Decided squares round them
//      take part with the corners that they are known to get (they "follow"). A level of a frame
//      has one block, or one cluster of blocks where there are many squares and the device has
//      clusters. Barriers part the halves of a pass. Squares that stay undecided go to a second
//      list. It ends when the list is empty.
//
// With larger squares, which are fewer:
//
//   1. DistanceSquaresKernel: the best candidate of each square, one warp a square.
//   2. InsideKernel and OutsideKernel, the halves of a pass, for each of the first passes. All
//      squares have warps, and the ends of launches part the halves. The last of them lists the
//      squares that are still undecided.
//   3. LastPassesKernel: all other passes.
//
// No kernel waits for a block that may not be running: the blocks of a cluster start together. So
// batches of other lanes cannot hold it up, as they could a barrier of a whole grid.
// Shared memory of a tile: 46 KiB, 24 or 48 bytes a square.

#include "gpu/steps/suppress/minimum_distance.h"

#include <algorithm>

#include "features/algo/distance_tile.h"
#include "gpu/runtime/check.h"
#include "gpu/steps/detect/corner_sink.cuh"
#include "gpu/steps/level_share.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kThreads = 256;  // of kernels that have threads for all squares
// Threads of a block of the last passes. A larger block would wait for a multiprocessor of its own.
constexpr int kLastThreads = 512;
constexpr int kMostClusterBlocks = 8;  // every device with clusters has as many
// Squares left by tiles that one block works on alone, with up to nine times as many that follow:
// its barriers and its first-level cache are several times as fast as a cluster's barriers and the
// second-level cache.
constexpr int kFewSquares = 96;

// Threads of a block that has a tile. Photographs have candidates in most of its squares.
constexpr int kTileThreads = 1024;

// Lanes that share a square of a tile where few squares are left: most have eight neighbours.
constexpr int kLanesOfTiledSquares = 8;

// Sides of tiles and their margins, in squares. With a small margin doubts reach more squares of
// the tile, with a large one more squares are worked on twice.
struct TileSides {
  int smallest;
  int largest;
  int margin;
};
constexpr TileSides kTilesOfSmallSquares = {8, 28, 8};   // squares of up to 8 x 8 places
constexpr TileSides kTilesOfMediumSquares = {6, 18, 6};  // up to 16 x 16

// kCount lanes of a warp that work on one square together (algo::OneLane names the functions).
// Groups of a warp take ways of their own. `kAlone`: no other block works on their level meanwhile.
template <int kCount, bool kAlone>
class WarpLanes {
 public:
  static constexpr int kLanes = kCount;

  __device__ __forceinline__ WarpLanes()
      : lane_(static_cast<int>(threadIdx.x % kCount)),
        first_(static_cast<int>(threadIdx.x % kWarpLanes) - lane_),
        mask_((kCount == kWarpLanes ? kFullWarp : (1u << (kCount % kWarpLanes)) - 1) << first_) {}

  __device__ __forceinline__ int lane() const { return lane_; }
  __device__ __forceinline__ bool Any(bool value) const {
    return kCount == 1 ? value : __any_sync(mask_, value) != 0;
  }
  __device__ __forceinline__ uint32_t Or(uint32_t value) const {
#pragma unroll
    for (int distance = kCount / 2; distance > 0; distance /= 2) {
      value |= __shfl_xor_sync(mask_, value, distance);
    }
    return value;
  }
  __device__ __forceinline__ uint64_t Least(uint64_t value) const {
#pragma unroll
    for (int distance = kCount / 2; distance > 0; distance /= 2) {
      value = Min<uint64_t>(
          value, __shfl_xor_sync(mask_, static_cast<unsigned long long>(value), distance));
    }
    return value;
  }
  __device__ __forceinline__ uint32_t Ballot(bool value) const {
    return kCount == 1 ? (value ? 1u : 0u) : (__ballot_sync(mask_, value) & mask_) >> first_;
  }
  __device__ __forceinline__ uint32_t Broadcast(uint32_t value, int lane) const {
    return kCount == 1 ? value : __shfl_sync(mask_, value, lane, kCount);
  }
  __device__ __forceinline__ void Sync() const {
    if (kCount > 1) __syncwarp(mask_);
  }
  // Past the first-level cache, which may hold what other blocks of the cluster have replaced.
  template <typename T>
  __device__ __forceinline__ T Load(const T* from) const {
    if constexpr (kAlone) return *from;
    return *static_cast<const volatile T*>(from);
  }

 private:
  int lane_;
  int first_;  // of the group's lanes in the warp
  unsigned mask_;
};

// LevelData is the view that kernels have of one level of a frame.
struct LevelData {
  const DistanceParams::Level& level;
  uint64_t* best;
  uint32_t* inside;
  int32_t* list[kSquareLists];
  int32_t* list_count;
};
__device__ __forceinline__ LevelData DataOf(const DistanceParams& params, int frame_index, int l) {
  const DistanceParams::Level& level = params.level[l];
  const int64_t first = frame_index * params.square_stride + level.first_square;
  return {level,
          params.best + first,
          params.inside + first,
          {params.list[0] + first, params.list[1] + first},
          params.frames.counters[frame_index].undecided_squares[l]};
}

// The places of a level.
template <bool kCompressed>
struct PlacesOf;
template <>
struct PlacesOf<false> {
  using Places = algo::PixelPlaces;
};
template <>
struct PlacesOf<true> {
  using Places = algo::BlockPlaces;
};
template <bool kCompressed>
__device__ __forceinline__ typename PlacesOf<kCompressed>::Places MakePlaces(
    const DistanceParams& params, const FrameParams& frame, const FrameCounters& counters,
    int frame_index, int l) {
  const algo::PixelPlaces pixels = {params.maps.Of(frame_index, l), params.maps.pitch[l],
                                    CandidateThreshold(params.is_corner_map, frame, counters)};
  if constexpr (kCompressed) {
    const Region& region = params.level[l].region;
    return {pixels, region.x_begin, region.y_begin, region.x_end, region.y_end};
  } else {
    return pixels;
  }
}

// The level that a thread block works on.
__device__ __forceinline__ int LevelOfBlock(const DistanceParams& params) {
  int l = 0;
  while (l + 1 < params.levels && static_cast<int>(blockIdx.x) >= params.level[l + 1].first_block) {
    ++l;
  }
  return l;
}
// The warp's square in it; the last block has warps without a square.
using WideLanes = WarpLanes<kWarpLanes, false>;
constexpr int kSquaresPerBlock = kThreads / kWarpLanes;
__device__ __forceinline__ int SquareOfWarp(const DistanceParams::Level& level) {
  return (static_cast<int>(blockIdx.x) - level.first_block) * kSquaresPerBlock +
         static_cast<int>(threadIdx.x) / kWarpLanes;
}

template <bool kCompressed>
__global__ __launch_bounds__(kThreads) void DistanceSquaresKernel(
    const __grid_constant__ DistanceParams params) {
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  const FrameCounters& counters = params.frames.counters[frame_index];
  const int l = LevelOfBlock(params);
  const LevelData data = DataOf(params, frame_index, l);
  const algo::DistanceSquares& squares = data.level.squares;
  const int i = SquareOfWarp(data.level);
  if (i >= squares.count()) return;  // the whole warp; no barrier follows
  const WideLanes lanes;
  const uint64_t best =
      algo::BestOfSquare(squares, MakePlaces<kCompressed>(params, frame, counters, frame_index, l),
                         i % squares.columns, i / squares.columns, lanes);
  if (lanes.lane() == 0) {
    data.best[i] = best;
    data.inside[i] = 0;
  }
}

// Half a of a pass.
template <bool kCompressed>
__global__ __launch_bounds__(kThreads) void InsideKernel(
    const __grid_constant__ DistanceParams params, int pass) {
  __shared__ int block_corners;
  __shared__ int list_begin;
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  FrameCounters& counters = params.frames.counters[frame_index];
  if (frame.mode != FrameMode::kDetect) return;  // the whole block
  const int l = LevelOfBlock(params);
  const LevelData data = DataOf(params, frame_index, l);
  const algo::DistanceSquares& squares = data.level.squares;
  const int i = SquareOfWarp(data.level);
  const WideLanes lanes;
  const uint64_t own = i < squares.count() ? lanes.Load(data.best + i) : algo::kNoCandidate;
  if (threadIdx.x == 0) block_corners = 0;
  // No corner is counted yet. Most blocks of late passes end here: nothing is undecided.
  if (__syncthreads_or(own != algo::kNoCandidate) == 0) return;

  const bool becomes_inside =
      own != algo::kNoCandidate &&
      algo::BestBecomesInside(squares,
                              MakePlaces<kCompressed>(params, frame, counters, frame_index, l),
                              data.best, own, lanes);
  const bool stores = becomes_inside && lanes.lane() == 0;
  int place = 0;
  if (stores) {
    data.inside[i] = algo::InsideEntryOf(squares, own, pass);
    place = atomicAdd(&block_corners, 1);
  }
  __syncthreads();  // all corners of the block are counted
  if (threadIdx.x == 0 && block_corners > 0) {
    list_begin = atomicAdd(&counters.corners[l], block_corners);
    atomicMax(&counters.suppression_passes[l], pass);
  }
  __syncthreads();  // the block has its part of the list
  if (stores) {
    StoreCorner(params.sink, params.images, frame, frame_index, l, counters, list_begin + place,
                own, static_cast<int>(threadIdx.x / kWarpLanes));
  }
}

// Half b of a pass.
template <bool kCompressed>
__global__ __launch_bounds__(kThreads) void OutsideKernel(
    const __grid_constant__ DistanceParams params, int pass, bool lists) {
  __shared__ int block_squares;
  __shared__ int list_begin;
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  const FrameCounters& counters = params.frames.counters[frame_index];
  if (frame.mode != FrameMode::kDetect) return;  // the whole block
  const int l = LevelOfBlock(params);
  const LevelData data = DataOf(params, frame_index, l);
  const algo::DistanceSquares& squares = data.level.squares;
  const int i = SquareOfWarp(data.level);
  const WideLanes lanes;
  const uint64_t own = i < squares.count() ? lanes.Load(data.best + i) : algo::kNoCandidate;
  uint64_t best = algo::kNoCandidate;
  if (own != algo::kNoCandidate) {
    best = algo::RemoveConflicts(
        squares, MakePlaces<kCompressed>(params, frame, counters, frame_index, l), data.inside,
        i % squares.columns, i / squares.columns, own, pass, lanes);
    if (lanes.lane() == 0 && best != own) data.best[i] = best;
  }
  if (!lists) return;

  const bool is_listed = best != algo::kNoCandidate && lanes.lane() == 0;
  if (threadIdx.x == 0) block_squares = 0;
  __syncthreads();  // no square is counted yet
  int place = 0;
  if (is_listed) place = atomicAdd(&block_squares, 1);
  __syncthreads();  // all undecided squares of the block are counted
  if (threadIdx.x == 0 && block_squares > 0) {
    list_begin = atomicAdd(&data.list_count[0], block_squares);
  }
  __syncthreads();  // the block has its part of the list
  if (is_listed) data.list[0][list_begin + place] = i;
}

// Waits for all threads of the cluster, or of the block where there are no clusters. What they have
// written can be read afterwards.
__device__ __forceinline__ void SyncCluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
#else
  __syncthreads();
#endif
}

// Squares, states and lists of a tile.
template <int kWords>
struct TileMemory {
  static constexpr TileSides kSides = kWords == 2 ? kTilesOfSmallSquares : kTilesOfMediumSquares;
  static constexpr int kMostAcross = kSides.largest + 2 * kSides.margin;
  static constexpr int kMostSquares = kMostAcross * kMostAcross;
  static_assert(kSides.largest * kSides.largest <= kTileThreads,
                "a square of the tile has a thread");

  uint64_t best[kMostSquares];
  uint32_t undecided[kWords * kMostSquares];
  uint16_t inside[kMostSquares];
  uint8_t is_doubtful[kMostSquares];
  algo::Doubt doubt[kMostSquares];
  // Squares with candidates: one list is read while the other one is filled.
  uint16_t list[kSquareLists][kMostSquares];
  // Their numbers, with those of the tile's own squares in the upper half; three take turns.
  uint32_t count[3];
  uint32_t judged;  // squares that need a closer look
  int corners;
  int first_corner;
  int listed;
  int first_listed;
  int last_pass;
};
static_assert(sizeof(TileMemory<2>) <= 48 << 10 && sizeof(TileMemory<8>) <= 48 << 10,
              "more shared memory would have to be asked for");

// Entry of a list: row and column of the square in what the block knows.
constexpr int kListColumnBits = 6;
static_assert(TileMemory<2>::kMostAcross <= 1 << kListColumnBits);

// Appends the squares of the lanes that have one. The whole warp takes part.
__device__ __forceinline__ void AppendSquare(bool has_square, bool is_own, int entry,
                                             uint16_t* list, uint32_t* count) {
  const unsigned squares = __ballot_sync(kFullWarp, has_square);
  if (squares == 0) return;
  const unsigned own = __ballot_sync(kFullWarp, has_square && is_own);
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  uint32_t before = 0;
  if (lane == 0) {
    before = atomicAdd(count, static_cast<uint32_t>(__popc(squares) | __popc(own) << 16));
  }
  before = __shfl_sync(kFullWarp, before, 0);
  if (has_square) {
    list[static_cast<int>(before & 0xffff) + __popc(squares & ((1u << lane) - 1))] =
        static_cast<uint16_t>(entry);
  }
}

// All passes over a tile, as far as the block can do them.
template <int kWords, bool kCompressed>
__global__ __launch_bounds__(kTileThreads) void TilePassesKernel(
    const __grid_constant__ DistanceParams params) {
  __shared__ TileMemory<kWords> memory;
  using Bits = algo::PlaceBits<kWords>;
  const int thread = static_cast<int>(threadIdx.x);
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  FrameCounters& counters = params.frames.counters[frame_index];
  if (frame.mode != FrameMode::kDetect) return;  // the whole block
  const int l = LevelOfBlock(params);
  const LevelData data = DataOf(params, frame_index, l);
  const algo::DistanceSquares& squares = data.level.squares;
  const int side = squares.rule.square_side;
  const int tile = static_cast<int>(blockIdx.x) - data.level.first_block;
  const int tile_column = tile % data.level.tile_columns * params.tile_side;
  const int tile_row = tile / data.level.tile_columns * params.tile_side;
  // The block knows the tile and its margin, cut at the sides of the level.
  const int margin = TileMemory<kWords>::kSides.margin;
  const int first_column = max(tile_column - margin, 0);
  const int first_row = max(tile_row - margin, 0);
  const int end_column = min(tile_column + params.tile_side + margin, squares.columns);
  const int end_row = min(tile_row + params.tile_side + margin, squares.rows);
  algo::DistanceTile<kWords> known;
  known.squares = {squares.rule,
                   squares.u_begin + first_column * side,
                   squares.v_begin + first_row * side,
                   min(squares.u_begin + end_column * side, squares.u_end),
                   min(squares.v_begin + end_row * side, squares.v_end),
                   end_column - first_column,
                   end_row - first_row};
  known.stride = TileMemory<kWords>::kMostSquares;
  known.best = memory.best;
  known.undecided = memory.undecided;
  known.inside = memory.inside;
  known.is_doubtful = memory.is_doubtful;
  known.doubt = memory.doubt;
  const auto places = MakePlaces<kCompressed>(params, frame, counters, frame_index, l);
  const int columns = known.squares.columns;
  const auto is_own = [&](int column, int row) {
    const int c = column + first_column - tile_column;
    const int r = row + first_row - tile_row;
    return c >= 0 && r >= 0 && c < params.tile_side && r < params.tile_side;
  };
  const auto column_of = [](int entry) { return entry & ((1 << kListColumnBits) - 1); };
  const auto row_of = [](int entry) { return entry >> kListColumnBits; };

  if (thread < 3) memory.count[thread] = 0;
  if (thread == 0) {
    memory.judged = 0;
    memory.corners = 0;
    memory.listed = 0;
    memory.last_pass = 0;
  }
  __syncthreads();  // nothing is counted yet
  const int reach = squares.SquareReach();
  // Columns and rows of the ring, of which some neighbours are unknown, end or begin here.
  const int ring_left = first_column > 0 ? reach : 0;
  const int ring_top = first_row > 0 ? reach : 0;
  const int ring_right = columns - (end_column < squares.columns ? reach : 0);
  const int ring_bottom = known.squares.rows - (end_row < squares.rows ? reach : 0);
  bool sees_certain = false;  // a square with candidates that are not doubtful
  for (int begin = 0; begin < known.squares.count(); begin += kTileThreads) {
    const int i = begin + thread;
    const int row = i / columns;
    const int column = i - row * columns;
    bool has_candidates = false;
    if (i < known.squares.count()) {
      const bool in_ring =
          column < ring_left || row < ring_top || column >= ring_right || row >= ring_bottom;
      has_candidates = algo::LoadSquare(known, places, column, row, in_ring);
      sees_certain = sees_certain || (has_candidates && !in_ring);
    }
    AppendSquare(has_candidates, is_own(column, row), row << kListColumnBits | column,
                 memory.list[0], &memory.count[0]);
  }
  bool goes_on = __syncthreads_or(sees_certain) != 0;  // and the squares and their list are there

  const int most_passes = params.max_passes == 0 ? algo::kMostTilePasses
                                                 : min(algo::kMostTilePasses, params.max_passes);
  int pass = 1;
  for (; goes_on && pass <= most_passes; ++pass) {
    const uint16_t* const from = memory.list[(pass - 1) % kSquareLists];
    uint16_t* const to = memory.list[pass % kSquareLists];
    const uint32_t count = memory.count[(pass - 1) % 3];
    const int number = static_cast<int>(count & 0xffff);
    if (count >> 16 == 0) break;  // the whole block: the tile is decided
    if (thread == 0) memory.count[(pass + 1) % 3] = 0;
    // The few squares that need a closer look are gathered, in the place of the next list, so that
    // whole warps look. Eight lanes a square take less time, and more work.
    for (int begin = 0; begin < number; begin += kTileThreads) {
      const int n = begin + thread;
      const int entry = n < number ? from[n] : 0;
      const int column = column_of(entry);
      const int row = row_of(entry);
      const bool is_judged = n < number && known.is_doubtful[row * columns + column] == 0 &&
                             !algo::IsBeatenNearby(known, places, column, row);
      AppendSquare(is_judged, false, entry, to, &memory.judged);
    }
    __syncthreads();  // they are gathered
    const int judged = static_cast<int>(memory.judged);
    using Lanes = WarpLanes<kLanesOfTiledSquares, true>;
    if (judged * Lanes::kLanes <= kTileThreads) {
      const int n = thread / Lanes::kLanes;
      if (n < judged) {
        algo::JudgeBest(known, places, column_of(to[n]), row_of(to[n]), pass, Lanes());
      }
    } else {
      for (int n = thread; n < judged; n += kTileThreads) {
        algo::JudgeBest(known, places, column_of(to[n]), row_of(to[n]), pass, algo::OneLane());
      }
    }
    __syncthreads();  // all new inside places are there
    if (thread == 0) memory.judged = 0;
    for (int n = thread; n < number; n += kTileThreads) {
      algo::RemoveNearInside(known, places, column_of(from[n]), row_of(from[n]), pass);
    }
    __syncthreads();  // what is in conflict with them is gone, and doubts of this pass are known
    sees_certain = false;
    for (int begin = 0; begin < number; begin += kTileThreads) {
      const int n = begin + thread;
      const int entry = n < number ? from[n] : 0;
      const int column = column_of(entry);
      const int row = row_of(entry);
      const int i = row * columns + column;
      const bool has_candidates = n < number && known.best[i] != algo::kNoCandidate;
      if (has_candidates) {
        const bool is_doubtful = algo::IsDoubtful(known, column, row);
        known.is_doubtful[i] = is_doubtful ? 1 : 0;
        sees_certain = sees_certain || !is_doubtful;
      }
      AppendSquare(has_candidates, is_own(column, row), entry, to, &memory.count[pass % 3]);
    }
    goes_on = __syncthreads_or(sees_certain) != 0;  // and the next list is complete
  }

  // Each thread has a square of the tile.
  const int own_columns = min(params.tile_side, squares.columns - tile_column);
  const int own_rows = min(params.tile_side, squares.rows - tile_row);
  const int own_row = thread / own_columns;
  const int own_column = thread - own_row * own_columns;
  const int column = tile_column + own_column - first_column;
  const int row = tile_row + own_row - first_row;
  const int square = (tile_row + own_row) * squares.columns + tile_column + own_column;
  bool is_listed = false;
  uint16_t inside = 0;
  int corner = 0;
  int listed = 0;
  if (own_row < own_rows) {
    const int i = row * columns + column;
    const bool is_dropped =
        params.max_passes != 0 && pass > params.max_passes && known.is_doubtful[i] == 0;
    is_listed = known.best[i] != algo::kNoCandidate && !is_dropped;
    inside = known.inside[i];
    if (is_listed) {
      data.inside[square] = algo::kUndecidedSquare;
      listed = atomicAdd(&memory.listed, 1);
    } else if (inside != 0) {
      const int place = algo::TileInsidePlace(inside);
      const int inside_pass = algo::TileInsidePass(inside);
      data.inside[square] =
          algo::InsideEntry(inside_pass, place / Bits::kRowBits * side + place % Bits::kRowBits);
      corner = atomicAdd(&memory.corners, 1);
      atomicMax(&memory.last_pass, inside_pass);
    } else {
      data.inside[square] = 0;
    }
  }
  __syncthreads();  // corners and undecided squares are counted
  if (thread == 0) {
    if (memory.corners > 0) {
      memory.first_corner = atomicAdd(&counters.corners[l], memory.corners);
      atomicMax(&counters.suppression_passes[l], memory.last_pass);
    }
    if (memory.listed > 0) memory.first_listed = atomicAdd(&data.list_count[0], memory.listed);
  }
  __syncthreads();  // the block has its parts of the lists
  if (is_listed) {
    data.list[0][memory.first_listed + listed] = square;
  } else if (inside != 0) {
    const int place = algo::TileInsidePlace(inside);
    const uint64_t key = places.Key(algo::OneLane(), known.FirstU(column) + place % Bits::kRowBits,
                                    known.FirstV(row) + place / Bits::kRowBits);
    StoreCorner(params.sink, params.images, frame, frame_index, l, counters,
                memory.first_corner + corner, key, thread / kWarpLanes);
  }
}

// Prepares the squares that tiles have left undecided, and lists the squares that follow them as
// their complements, which are negative: decided ones with candidates, not farther away than a
// candidate reaches. Counts them in *followers.
template <typename Lanes, typename Places>
__device__ void ListFollowers(const LevelData& data, const Places& places, int undecided, int group,
                              int groups, int32_t* followers, const Lanes& lanes) {
  const algo::DistanceSquares& squares = data.level.squares;
  const int reach = squares.SquareReach();
  // Calls visit(square) for those near square i, row by row, until it returns true.
  const auto visit_near = [&](int i, const auto& visit) {
    const int column = i % squares.columns;
    const int row = i / squares.columns;
    const int last_column = min(column + reach, squares.columns - 1);
    const int last_row = min(row + reach, squares.rows - 1);
    for (int r = max(row - reach, 0); r <= last_row; ++r) {
      for (int c = max(column - reach, 0); c <= last_column; ++c) {
        if (visit(r * squares.columns + c)) return;
      }
    }
  };
  const auto is_undecided = [&](int i) {
    return lanes.Load(data.inside + i) == algo::kUndecidedSquare;
  };
  for (int n = group; n < undecided; n += groups) {
    const int own = lanes.Load(data.list[0] + n);
    visit_near(own, [&](int i) {
      if (i != own) {
        // Only the first undecided square near it lists a follower.
        int first = -1;
        if (is_undecided(i)) return false;
        visit_near(i, [&](int other) {
          first = other;
          return is_undecided(other);
        });
        if (first != own) return false;
      }
      const uint64_t best =
          algo::BestOfSquare(squares, places, i % squares.columns, i / squares.columns, lanes);
      if (lanes.lane() == 0) {
        data.best[i] = best;
        if (i != own && best != algo::kNoCandidate) {
          data.list[0][undecided + atomicAdd(followers, 1)] = ~i;
        }
      }
      return false;
    });
  }
}

// The passes from `first_pass` on over the squares of list 0 by `groups` groups of lanes, of blocks
// that `sync` waits for. `number`: their number. `counts`: three that take turns, of which
// counts[read] and the next one may be written. Returns the last pass in which this thread stored a
// corner, or 0.
template <typename Lanes, typename Places, typename Sync>
__device__ int DoPasses(const DistanceParams& params, const FrameParams& frame,
                        FrameCounters& counters, int frame_index, int l, const LevelData& data,
                        const Places& places, int first_pass, int number, int group, int groups,
                        bool leads, int32_t* counts, int read, const Lanes& lanes,
                        const Sync& sync) {
  const algo::DistanceSquares& squares = data.level.squares;
  int last_pass = 0;
  int32_t* from = data.list[0];
  int32_t* to = data.list[1];
  for (int pass = first_pass; number > 0 && (params.max_passes == 0 || pass <= params.max_passes);
       ++pass) {
    const int filled = (read + 1) % 3;
    // Read for the last time two barriers ago, and counted up from the barrier after the next on.
    if (leads) counts[(read + 2) % 3] = 0;
    for (int n = group; n < number; n += groups) {
      const int i = lanes.Load(from + n);
      if (i < 0) continue;  // follows
      const uint64_t own = lanes.Load(data.best + i);
      if (!algo::BestBecomesInside(squares, places, data.best, own, lanes)) continue;
      if (lanes.lane() == 0) {
        data.inside[i] = algo::InsideEntryOf(squares, own, pass);
        StoreCorner(params.sink, params.images, frame, frame_index, l, counters,
                    atomicAdd(&counters.corners[l], 1), own,
                    static_cast<int>(threadIdx.x / kWarpLanes));
        last_pass = pass;
      }
    }
    sync();  // all new inside places are there
    for (int n = group; n < number; n += groups) {
      const int entry = lanes.Load(from + n);
      const int i = entry < 0 ? ~entry : entry;
      const uint64_t own = lanes.Load(data.best + i);
      const uint64_t best = algo::RemoveConflicts(squares, places, data.inside, i % squares.columns,
                                                  i / squares.columns, own, pass, lanes);
      if (lanes.lane() == 0) {
        if (best != own) data.best[i] = best;
        if (best != algo::kNoCandidate) to[atomicAdd(&counts[filled], 1)] = entry;
      }
    }
    sync();  // the next list and its count are complete
    int32_t* const emptied = from;
    from = to;
    to = emptied;
    read = filled;
    number = lanes.Load(counts + read);
  }
  return last_pass;
}

// Blocks [l * cluster_blocks, (l + 1) * cluster_blocks) of a frame are the cluster of its level l.
// `after_tiles`: list 0 has what tiles have left; else what the passes before first_pass have left.
template <int kLanes, bool kCompressed>
__global__ __launch_bounds__(kLastThreads) void LastPassesKernel(
    const __grid_constant__ DistanceParams params, int first_pass, int cluster_blocks,
    bool after_tiles) {
  __shared__ int32_t block_counts[kSquareCounts];
  constexpr int kGroups = kLastThreads / kLanes;
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  FrameCounters& counters = params.frames.counters[frame_index];
  if (frame.mode != FrameMode::kDetect) return;  // the whole cluster
  const int l = static_cast<int>(blockIdx.x) / cluster_blocks;
  const int rank = static_cast<int>(blockIdx.x) - l * cluster_blocks;
  const LevelData data = DataOf(params, frame_index, l);
  int number = data.list_count[0];
  if (number == 0) return;  // the whole cluster
  const auto places = MakePlaces<kCompressed>(params, frame, counters, frame_index, l);
  const int group = static_cast<int>(threadIdx.x) / kLanes;
  const bool leads = rank == 0 && threadIdx.x == 0;
  const auto do_passes = [&](auto lanes, int first_group, int groups, int32_t* counts,
                             const auto& sync) {
    int read = 0;
    if (after_tiles) {
      ListFollowers(data, places, number, first_group + group, groups, counts + 1, lanes);
      sync();  // the list is complete
      number += lanes.Load(counts + 1);
      read = 1;
    }
    return DoPasses(params, frame, counters, frame_index, l, data, places, first_pass, number,
                    first_group + group, groups, leads, counts, read, lanes, sync);
  };
  int last_pass = 0;
  if (after_tiles && number <= kFewSquares) {
    if (rank != 0) return;  // the whole block; nobody waits for it
    if (threadIdx.x < kSquareCounts) block_counts[threadIdx.x] = 0;
    __syncthreads();  // nothing is counted yet
    last_pass =
        do_passes(WarpLanes<kLanes, true>(), 0, kGroups, block_counts, [] { __syncthreads(); });
  } else {
    last_pass = do_passes(WarpLanes<kLanes, false>(), rank * kGroups, cluster_blocks * kGroups,
                          data.list_count, [] { SyncCluster(); });
  }
  if (last_pass > 0) atomicMax(&counters.suppression_passes[l], last_pass);
}

// Calls `launch` with std::true_type or std::false_type, by compression.
template <typename Launch>
auto WithCompression(const DistanceParams& params, const Launch& launch) {
  return params.is_compressed ? launch(std::true_type()) : launch(std::false_type());
}

struct ClusterLaunch {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute cluster = {};

  ClusterLaunch(dim3 grid, int cluster_blocks, cudaStream_t stream) {
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = static_cast<unsigned>(cluster_blocks);
    cluster.val.clusterDim.y = 1;
    cluster.val.clusterDim.z = 1;
    config.gridDim = grid;
    config.blockDim = dim3(kLastThreads);
    config.stream = stream;
    config.attrs = &cluster;
    config.numAttrs = 1;
  }
  ClusterLaunch(const ClusterLaunch&) = delete;
  ClusterLaunch& operator=(const ClusterLaunch&) = delete;
};

// Blocks of the largest cluster that the current device runs `kernel` in, 1 where it has none. The
// code must be of 9.0 or newer, besides the device: older code has no cluster barrier.
absl::StatusOr<int> MostClusterBlocks(int device, const void* kernel) {
  int has_clusters = 0;
  ORBSERVE_CUDA_RETURN_IF_ERROR(
      cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, device));
  cudaFuncAttributes attributes;
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaFuncGetAttributes(&attributes, kernel));
  if (has_clusters == 0 || attributes.ptxVersion < 90) return 1;
  for (int blocks = kMostClusterBlocks; blocks > 1; blocks /= 2) {
    const ClusterLaunch launch(dim3(static_cast<unsigned>(blocks)), blocks, nullptr);
    int clusters = 0;
    if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &launch.config) == cudaSuccess) {
      if (clusters > 0) return blocks;
    } else {
      (void)cudaGetLastError();  // not sticky: the size is not possible
    }
  }
  return 1;
}

}  // namespace

absl::Status LaunchTilePasses(const DistanceParams& params, cudaStream_t stream) {
  const dim3 grid(params.thread_blocks, params.frames.count);
  return WithCompression(params, [&](auto compressed) {
    constexpr bool kCompressed = compressed.value;
    if (params.level[0].squares.rule.square_side <= algo::PlaceBits<2>::kMostSide) {
      TilePassesKernel<2, kCompressed><<<grid, kTileThreads, 0, stream>>>(params);
    } else {
      TilePassesKernel<8, kCompressed><<<grid, kTileThreads, 0, stream>>>(params);
    }
    return CheckLaunch("TilePassesKernel");
  });
}

absl::Status LaunchDistanceSquares(const DistanceParams& params, cudaStream_t stream) {
  const dim3 grid(params.thread_blocks, params.frames.count);
  return WithCompression(params, [&](auto compressed) {
    DistanceSquaresKernel<compressed.value><<<grid, kThreads, 0, stream>>>(params);
    return CheckLaunch("DistanceSquaresKernel");
  });
}

absl::Status LaunchPass(const DistanceParams& params, int pass, bool lists, cudaStream_t stream) {
  const dim3 grid(params.thread_blocks, params.frames.count);
  return WithCompression(params, [&](auto compressed) -> absl::Status {
    InsideKernel<compressed.value><<<grid, kThreads, 0, stream>>>(params, pass);
    ORBSERVE_RETURN_IF_ERROR(CheckLaunch("InsideKernel"));
    if (pass == params.max_passes) return absl::OkStatus();  // nothing looks at what is left
    OutsideKernel<compressed.value><<<grid, kThreads, 0, stream>>>(params, pass, lists);
    return CheckLaunch("OutsideKernel");
  });
}

absl::Status LaunchLastPasses(const DistanceParams& params, int first_pass, int cluster_blocks,
                              cudaStream_t stream) {
  const dim3 grid(params.levels * cluster_blocks, params.frames.count);
  const bool after_tiles = params.in_tiles;
  const auto launch = [&](auto* kernel) -> absl::Status {
    if (cluster_blocks == 1) {
      kernel<<<grid, kLastThreads, 0, stream>>>(params, first_pass, cluster_blocks, after_tiles);
      return CheckLaunch("LastPassesKernel");
    }
    const ClusterLaunch cluster(grid, cluster_blocks, stream);
    return StatusFromCuda(cudaLaunchKernelEx(&cluster.config, kernel, params, first_pass,
                                             cluster_blocks, after_tiles),
                          "LastPassesKernel");
  };
  return WithCompression(params, [&](auto compressed) {
    constexpr bool kCompressed = compressed.value;
    return after_tiles ? launch(LastPassesKernel<kLanesOfTiledSquares, kCompressed>)
                       : launch(LastPassesKernel<kWarpLanes, kCompressed>);
  });
}

MinimumDistanceStep::MinimumDistanceStep(const CompiledPipeline& pipeline,
                                         const LevelImageBuffers& images,
                                         const ResponseMapBuffers& maps,
                                         const CornerSinkBuffers& sink, ArenaLayout* layout)
    : images_(images), maps_(maps), sink_(sink) {
  const PipelineOptions& options = pipeline.spec.pipeline;
  const SuppressOptions& suppress = options.suppress;
  const algo::DistanceRule rule = algo::DistanceRuleOf(
      suppress.minimum_distance_px, suppress.distance_shape == DistanceShape::kDisc,
      suppress.cornerness_compression);
  params_.is_corner_map = options.detect.detector != Detector::kFast;
  many_candidates_ = options.detect.detector == Detector::kShiTomasi;
  params_.is_compressed = rule.pixels_per_place > 1;
  params_.max_passes = suppress.max_passes;
  params_.in_tiles = rule.square_side <= algo::kMostTileSquareSide;
  params_.levels = pipeline.pyramid.detecting_levels;
  int first_square = 0;
  for (int l = 0; l < params_.levels; ++l) {
    const Region& region = pipeline.level(l).region;
    DistanceParams::Level& level = params_.level[l];
    level.squares =
        algo::DistanceSquares::Of(rule, region.x_begin, region.y_begin, region.x_end, region.y_end);
    level.region = region;
    level.first_square = first_square;
    const int squares = level.squares.count();
    most_squares_ = std::max(most_squares_, squares);
    first_square += squares;
  }
  params_.square_stride = first_square;
  const auto squares = static_cast<size_t>(first_square);
  best_ = layout->Add("best of squares", squares * sizeof(uint64_t));
  inside_ = layout->Add("inside places", squares * sizeof(uint32_t));
  for (BufferId& list : list_) list = layout->Add("undecided squares", squares * sizeof(int32_t));
}

absl::Status MinimumDistanceStep::AddDevice(int device,
                                            const std::shared_ptr<MemoryBudget>& /*budget*/) {
  return WithCompression(params_, [&](auto compressed) -> absl::Status {
    constexpr bool kCompressed = compressed.value;
    const auto* const kernel =
        params_.in_tiles
            ? reinterpret_cast<const void*>(LastPassesKernel<kLanesOfTiledSquares, kCompressed>)
            : reinterpret_cast<const void*>(LastPassesKernel<kWarpLanes, kCompressed>);
    ORBSERVE_ASSIGN_OR_RETURN(const int blocks, MostClusterBlocks(device, kernel));
    most_cluster_blocks_.push_back(blocks);
    return absl::OkStatus();
  });
}

void MinimumDistanceStep::SetBlocks(int tile_side, DistanceParams* params) const {
  params->tile_side = tile_side;
  params->thread_blocks = 0;
  for (int l = 0; l < params->levels; ++l) {
    DistanceParams::Level& level = params->level[l];
    level.first_block = params->thread_blocks;
    if (!params->in_tiles) {
      params->thread_blocks += DivUp(level.squares.count(), kSquaresPerBlock);
      continue;
    }
    level.tile_columns = std::max(DivUp(level.squares.columns, tile_side), 1);  // a divisor
    params->thread_blocks += level.tile_columns * DivUp(level.squares.rows, tile_side);
  }
}

DistanceParams MinimumDistanceStep::ParamsFor(const StepContext& context) const {
  DistanceParams params = params_;
  params.frames = context.frames;
  params.images = images_.At(context);
  params.maps = maps_.At(context);
  params.sink = sink_.At(context);
  params.best = reinterpret_cast<uint64_t*>(context.At(best_));
  params.inside = reinterpret_cast<uint32_t*>(context.At(inside_));
  for (int i = 0; i < kSquareLists; ++i) {
    params.list[i] = reinterpret_cast<int32_t*>(context.At(list_[i]));
  }
  const TileSides& sides = params.level[0].squares.rule.square_side <= algo::PlaceBits<2>::kMostSide
                               ? kTilesOfSmallSquares
                               : kTilesOfMediumSquares;
  // The smallest tiles for which every block has a multiprocessor of its own at once.
  int side = sides.smallest;
  SetBlocks(side, &params);
  while (params.in_tiles && side < sides.largest &&
         params.thread_blocks * params.frames.count > context.tables->multiprocessors) {
    SetBlocks(++side, &params);
  }
  return params;
}

int MinimumDistanceStep::ClusterBlocks(const StepContext& context) const {
  int blocks = most_cluster_blocks_[context.device_index];
  // All levels of all frames at once, one block a multiprocessor.
  while (blocks > 1 &&
         blocks * params_.levels * context.frames.count > context.tables->multiprocessors) {
    blocks /= 2;
  }
  return blocks;
}

int MinimumDistanceStep::WidePasses(int cluster_blocks) const {
  // Share of the squares that a pass leaves undecided, as on photographs. Smaller eigenvalues have
  // many more candidates than Harris responses. The last passes begin when a group of lanes has
  // two squares at most.
  const float undecided_share = many_candidates_ ? 0.6f : 0.4f;
  constexpr int kMostPasses = 8;
  const int groups = cluster_blocks * kLastThreads / kWarpLanes;
  int passes = 1;
  float squares = undecided_share * static_cast<float>(most_squares_);
  while (passes < kMostPasses && squares > 2.0f * static_cast<float>(groups)) {
    squares *= undecided_share;
    ++passes;
  }
  return passes;
}

absl::Status MinimumDistanceStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  const DistanceParams params = ParamsFor(context);
  if (params.frames.count == 0 || params.thread_blocks == 0) return absl::OkStatus();
  const int cluster_blocks = ClusterBlocks(context);
  if (params.in_tiles) {
    ORBSERVE_RETURN_IF_ERROR(LaunchTilePasses(params, stream));
    return LaunchLastPasses(params, 1, cluster_blocks, stream);
  }
  ORBSERVE_RETURN_IF_ERROR(LaunchDistanceSquares(params, stream));
  const int wide_passes = WidePasses(cluster_blocks);
  for (int pass = 1; pass <= wide_passes; ++pass) {
    ORBSERVE_RETURN_IF_ERROR(LaunchPass(params, pass, pass == wide_passes, stream));
    if (pass == params.max_passes) return absl::OkStatus();
  }
  return LaunchLastPasses(params, wide_passes + 1, cluster_blocks, stream);
}

}  // namespace orbserve::gpu
