// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: two sets of descriptors. Out: the nearest rows of the one for each row of the other by their
// metric (features/algo/metric.h), the lowest index first among equals.
//
// Up to two neighbours of 256-bit descriptors: on the integer tensor cores. With the bits of a
// query as +1 and -1 and those of a train descriptor b as 0 and 1, |a xor b| = |a| - a.b, exact in
// 32 bits. A block has 16 queries, expanded to bytes in the registers of every one of its warps;
// the warps share out the train descriptors, eight at a time, which they expand as they come: byte
// group j of a word is (word >> j) & 0x01010101, the same permutation of the bits on both sides. A
// product tile of 16 x 8 costs eight tensor instructions, 32 to expand and four per distance: a
// multiply-add that makes it a packed neighbour, and minimum, maximum, minimum for the two best.
// Where there are too few queries to fill the device, blocks split the train set and the last to
// end merges their partial results (a second launch would cost a third of the time). Minima do not
// depend on order.
//
// Up to two neighbours of vectors of 128 bytes: the same with unsigned bytes as they come, since
// |a - b|^2 = |a|^2 + |b|^2 - 2 a.b. The norm of a train vector is summed up by the four lanes that
// load it. |b|^2 - 2 a.b has 24 bits with its sign, so the numbers that a lane compares have room
// for 8 bits that count the train vectors of the lane; after 256 of them the two best move on to 64
// bits with their index.
//
// Up to two neighbours of 32-bit descriptors: a lane has a query, the same 32 queries in each warp
// of a block; the warps share out the train descriptors, which all lanes read at once, four a load.
// The results of a block go to the host in one piece: single ones took longer than the search.
//
// More neighbours, or other descriptors: a warp per query measures distances, each lane keeps its
// own best, and the warp draws the smallest one k times.
//
// In a window: the same with any number of neighbours. Each lane reads the places of train
// keypoints first, a few at a time, and the descriptors of the admissible ones only, so most pairs
// cost the reading and comparison of a place.

#include "gpu/matching/match_kernel.h"

#include <type_traits>

#include "features/algo/match_window.h"
#include "features/host_device.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kDescriptorBits = 256;
constexpr int kDescriptorWords = kDescriptorBits / 32;

// Tensor-core tiles: m16n8k32 of 8-bit integers.
constexpr int kTileQueries = 16;
constexpr int kTileTrains = 8;
constexpr int kTileBits = 32;
constexpr int kSteps = kDescriptorBits / kTileBits;
constexpr int kWarps = 16;
constexpr int kThreads = kWarps * kWarpLanes;
// Tiles of queries of a block: two share the work of expanding the train set, a third of all; one
// for a single search of some thousand queries, so that every multiprocessor has a block.
constexpr int kTilesAlone = 1;
constexpr int kTilesOfTwo = 2;
constexpr int kProductShift = 6;  // products are +-2^6

constexpr int kLeastTrains = 512;  // that a block is worth having for: four tiles a warp
constexpr int kMaxTrainSplits = 128;
static_assert(kTilesOfTwo * kTileQueries == kMaxBlockQueries);

// A distance less |a| lies in [-256, 256]: biased so that it is never negative.
constexpr uint32_t kOne = 1u << kNeighbourIndexBits;
constexpr uint32_t kBias = kDescriptorBits * kOne;
static_assert(2 * kDescriptorBits < 1 << (32 - kNeighbourIndexBits));

// Bits j, 8 + j, 16 + j, 24 + j of a train word: bytes 0 and 2^j, for j = 7 0 and 2^6.
__device__ __forceinline__ uint32_t ExpandTrain(uint32_t word, int j) {
  return j < 7 ? word & (0x01010101u << j) : (word >> 1) & 0x40404040u;
}

// Expands these bits of a query word to bytes -w and w, so that w times the train's byte is 2^6.
__device__ __forceinline__ uint32_t ExpandQuery(uint32_t word, int j) {
  const uint32_t weight = j < 7 ? 1u << (kProductShift - j) : 1u;
  const uint32_t ones = (word >> j) & 0x01010101u;
  // Each byte on its own: w where the bit is set, else 256 - w.
  return ones * weight + (ones ^ 0x01010101u) * (256 - weight);
}

// d += a b; a 16 x 32, b 32 x 8, d 16 x 8. a is signed.
__device__ __forceinline__ void MultiplyAdd(const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                            int32_t (&d)[4]) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  __trap();  // MatchParams::tensor_cores keeps older devices away
#endif
}

// Does the same where a is unsigned.
__device__ __forceinline__ void MultiplyAddUnsigned(const uint32_t (&a)[4], uint32_t b0,
                                                    uint32_t b1, int32_t (&d)[4]) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  __trap();
#endif
}

// The two smallest numbers.
template <typename Number>
struct TwoBest {
  Number first;
  Number second;

  __device__ __forceinline__ void Add(Number n) {
    second = min(second, max(first, n));
    first = min(first, n);
  }
  __device__ __forceinline__ void Add(const TwoBest& other) {
    second = min(max(first, other.first), min(second, other.second));
    first = min(first, other.first);
  }
};

// Train descriptors of each of `splits` blocks, whole tiles.
__host__ __device__ int TrainsPerBlock(int train_count, int splits) {
  return RoundUp(DivUp(train_count, splits), kTileTrains);
}

// True for the block that is the last of `blocks` to come here. It sees what the others wrote
// before. All threads of the block take part and get the same answer. The ticket is 0 again
// afterwards.
__device__ bool IsLastBlock(uint32_t* ticket, int blocks) {
  __shared__ bool last;
  __threadfence();  // what this thread wrote is seen before the ticket is drawn
  __syncthreads();  // by all threads of the block
  if (threadIdx.x == 0) {
    last = atomicAdd(ticket, 1u) == static_cast<uint32_t>(blocks) - 1;
    if (last) *ticket = 0;
  }
  __syncthreads();  // `last` is known
  __threadfence();
  return last;
}

// One search: forwards or backwards.
struct Direction {
  const uint8_t* query;
  const uint8_t* train;
  int query_count;
  int train_count;
  int k;
  void* nearest;
};

// False when nothing is to be done. `index`: the pair, and where there are two directions twice the
// pair, plus 1 for backwards.
__device__ bool FindDirection(const MatchParams& params, int index, Direction* direction) {
  const bool two = params.directions == 2;
  const MatchPair& pair = params.pair[two ? index / 2 : index];
  if (!two || index % 2 == 0) {
    *direction = {pair.query,       pair.train, pair.query_count,
                  pair.train_count, params.k,   pair.nearest};
    return true;
  }
  *direction = {pair.train, pair.query, pair.train_count, pair.query_count, 1, pair.reverse};
  return pair.reverse != nullptr;
}

__device__ void StoreNearest(const Direction& pair, int query, const TwoBest<uint32_t>& best) {
  if (pair.k == 1) {
    static_cast<uint32_t*>(pair.nearest)[query] = best.first;
  } else {
    static_cast<uint2*>(pair.nearest)[query] = make_uint2(best.first, best.second);
  }
}

__device__ void StoreNearest(const Direction& pair, int query, const TwoBest<uint64_t>& best) {
  if (pair.k == 1) {
    static_cast<uint64_t*>(pair.nearest)[query] = best.first;
  } else {
    static_cast<ulonglong2*>(pair.nearest)[query] = make_ulonglong2(best.first, best.second);
  }
}

// Part of a search that a block does: queries from `first_query` on, train descriptors
// [first_train, last_train).
struct BlockPart {
  int first_query;
  int per_block;
  int first_train;
  int last_train;
};

// False when there is nothing to do.
template <int kBlockQueries>
__device__ __forceinline__ bool FindPart(const MatchParams& params, const Direction& pair,
                                         BlockPart* part) {
  part->first_query = static_cast<int>(blockIdx.x) * kBlockQueries;
  part->per_block = TrainsPerBlock(pair.train_count, params.train_splits);
  part->first_train = static_cast<int>(blockIdx.y) * part->per_block;
  part->last_train = min(part->first_train + part->per_block, pair.train_count);
  return part->first_query < pair.query_count && part->first_train < pair.train_count;
}

// Gives each of the four lanes that share a row of a tile the two best of all four.
template <typename Number>
__device__ __forceinline__ void JoinMembers(TwoBest<Number>* mine) {
#pragma unroll
  for (int distance = 1; distance < 4; distance *= 2) {
    const TwoBest<Number> theirs = {__shfl_xor_sync(kFullWarp, mine->first, distance),
                                    __shfl_xor_sync(kFullWarp, mine->second, distance)};
    mine->Add(theirs);
  }
}

// Joins the results of the warps of a block, and of the blocks that share queries, and stores them.
template <typename Number, int kBlockQueries>
__device__ __forceinline__ void StoreBlock(
    const MatchParams& params, const Direction& pair, const BlockPart& part,
    const TwoBest<Number> (&warp_best)[kWarps][kBlockQueries]) {
  __syncthreads();  // every warp has put in its best
  const int thread = static_cast<int>(threadIdx.x);
  const int mine = part.first_query + thread;
  // The blocks that share these queries, and each other group of blocks, have a ticket and partial
  // results [split][query of the block].
  const int shared_queries = static_cast<int>(blockIdx.z * gridDim.x + blockIdx.x);
  TwoBest<Number>* const partial = reinterpret_cast<TwoBest<Number>*>(params.scratch) +
                                   shared_queries * params.train_splits * kBlockQueries + thread;
  if (thread < kBlockQueries && mine < pair.query_count) {
    TwoBest<Number> all = warp_best[0][thread];
#pragma unroll
    for (int w = 1; w < kWarps; ++w) all.Add(warp_best[w][thread]);
    if (params.train_splits == 1) {
      StoreNearest(pair, mine, all);
    } else {
      partial[static_cast<int>(blockIdx.y) * kBlockQueries] = all;
    }
  }

  const int splits = DivUp(pair.train_count, part.per_block);  // those that have something to do
  if (params.train_splits > 1 && IsLastBlock(params.tickets + shared_queries, splits)) {
    if (thread < kBlockQueries && mine < pair.query_count) {
      TwoBest<Number> all = {kNobody<Number>, kNobody<Number>};
#pragma unroll 8
      for (int split = 0; split < splits; ++split) {
        all.Add(partial[split * kBlockQueries]);
      }
      StoreNearest(pair, mine, all);
    }
  }
}

// blockIdx.x: queries, y: part of the train set, z: pair and direction.
template <int kTiles>
__global__ __launch_bounds__(kThreads,
                             1) void MatchTilesKernel(const __grid_constant__ MatchParams params) {
  constexpr int kBlockQueries = kTiles * kTileQueries;
  __shared__ TwoBest<uint32_t> warp_best[kWarps][kBlockQueries];
  Direction pair;
  if (!FindDirection(params, static_cast<int>(blockIdx.z), &pair)) return;
  BlockPart part;
  if (!FindPart<kBlockQueries>(params, pair, &part)) return;
  const int first_query = part.first_query;
  const int first_train = part.first_train;
  const int last_train = part.last_train;
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarpLanes;
  const int lane = thread % kWarpLanes;
  const int group = lane / 4;   // row of A, column of B
  const int member = lane % 4;  // which two words of a descriptor this lane expands

  uint32_t a[kTiles][kSteps][4];
  uint32_t query_bits[kTiles][2];
  TwoBest<uint32_t> best[kTiles][2];
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      best[t][r] = {kNoPackedNeighbour, kNoPackedNeighbour};
      const int query = first_query + kTileQueries * t + group + 8 * r;  // rows of the tile
      uint2 words = make_uint2(0, 0);
      if (query < pair.query_count) {
        words = reinterpret_cast<const uint2*>(
            pair.query)[static_cast<int64_t>(query) * (kDescriptorWords / 2) + member];
      }
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        a[t][j / 2][r + 2 * (j % 2)] = ExpandQuery(words.x, j);
        a[t][4 + j / 2][r + 2 * (j % 2)] = ExpandQuery(words.y, j);
      }
      int bits = __popc(words.x) + __popc(words.y);
      bits += __shfl_xor_sync(kFullWarp, bits, 1);
      bits += __shfl_xor_sync(kFullWarp, bits, 2);
      query_bits[t][r] = static_cast<uint32_t>(bits) * kOne;
    }
  }

  const auto load = [&](int tile) -> uint2 {
    const int train = tile + group;
    if (train >= last_train) return make_uint2(0, 0);
    return reinterpret_cast<const uint2*>(
        pair.train)[static_cast<int64_t>(train) * (kDescriptorWords / 2) + member];
  };
  constexpr int kStride = kWarps * kTileTrains;
  int tile = first_train + warp * kTileTrains;
  uint2 next = load(tile);
  uint2 after_next = load(tile + kStride);
  for (; tile < last_train; tile += kStride) {
    const uint2 words = next;
    next = after_next;
    after_next = load(tile + 2 * kStride);
    // Two chains of products a tile, so that one need not wait for the other.
    int32_t product[kTiles][2][4] = {};
#pragma unroll
    for (int step = 0; step < kSteps / 2; ++step) {
      const uint32_t x[2] = {ExpandTrain(words.x, 2 * step), ExpandTrain(words.x, 2 * step + 1)};
      const uint32_t y[2] = {ExpandTrain(words.y, 2 * step), ExpandTrain(words.y, 2 * step + 1)};
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
        MultiplyAdd(a[t][step], x[0], x[1], product[t][0]);
        MultiplyAdd(a[t][4 + step], y[0], y[1], product[t][1]);
      }
    }
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const int train = tile + 2 * member + c;
      // Those that do not exist were read as zeros: their products are 0 and they stay nobody.
      const uint32_t term =
          train < last_train ? static_cast<uint32_t>(train) + kBias : kNoPackedNeighbour;
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          // |query| is the same for all neighbours of a query: added at the end.
          constexpr uint32_t kScale = kOne >> kProductShift;
          best[t][r].Add(term - static_cast<uint32_t>(product[t][0][2 * r + c]) * kScale -
                         static_cast<uint32_t>(product[t][1][2 * r + c]) * kScale);
        }
      }
    }
  }

#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      TwoBest<uint32_t>& mine = best[t][r];
      JoinMembers(&mine);
      if (member == 0) {
        const uint32_t term = query_bits[t][r] - kBias;
        if (mine.first != kNoPackedNeighbour) mine.first += term;
        if (mine.second != kNoPackedNeighbour) mine.second += term;
        warp_best[warp][kTileQueries * t + group + 8 * r] = mine;
      }
    }
  }
  StoreBlock(params, pair, part, warp_best);
}

constexpr int kVectorSteps = algo::kVectorBytes / kTileBits;
constexpr int kVectorParts = algo::kVectorBytes / 16;  // loads of 16 bytes
constexpr int kOrdinalBits = 8;
constexpr int kTilesOfOrdinals = (1 << kOrdinalBits) / 2;  // a lane has two columns of a tile
constexpr int32_t kNoOrdinal = INT32_MAX;
static_assert((int64_t{algo::kLargestSquaredDistance} + 1) << kOrdinalBits <= kNoOrdinal);

// A quarter of a vector, of the lane `member`: parts `member` and 4 + `member`.
struct VectorQuarter {
  uint32_t word[8];

  __device__ __forceinline__ void Load(const uint8_t* rows, int row, int member) {
    const uint4* const parts =
        reinterpret_cast<const uint4*>(rows) + static_cast<int64_t>(row) * kVectorParts + member;
    const uint4 a = parts[0];
    const uint4 b = parts[4];
    word[0] = a.x;
    word[1] = a.y;
    word[2] = a.z;
    word[3] = a.w;
    word[4] = b.x;
    word[5] = b.y;
    word[6] = b.z;
    word[7] = b.w;
  }
  __device__ __forceinline__ void Clear() {
#pragma unroll
    for (uint32_t& w : word) w = 0;
  }
  // The square of the whole vector, for its four lanes.
  __device__ __forceinline__ uint32_t Square() const {
    uint32_t square = 0;
#pragma unroll
    for (const uint32_t w : word) square = __dp4a(w, w, square);
    square += __shfl_xor_sync(kFullWarp, square, 1);
    return square + __shfl_xor_sync(kFullWarp, square, 2);
  }
};

// Its blocks are those of MatchTilesKernel.
template <int kTiles>
__global__ __launch_bounds__(kThreads, 1) void MatchVectorTilesKernel(
    const __grid_constant__ MatchParams params) {
  constexpr int kBlockQueries = kTiles * kTileQueries;
  __shared__ TwoBest<uint64_t> warp_best[kWarps][kBlockQueries];
  Direction pair;
  if (!FindDirection(params, static_cast<int>(blockIdx.z), &pair)) return;
  BlockPart part;
  if (!FindPart<kBlockQueries>(params, pair, &part)) return;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int group = lane / 4;   // row of A, column of B
  const int member = lane % 4;  // which quarter of a vector this lane loads

  uint32_t a[kTiles][kVectorSteps][4];
  uint32_t squares[kTiles][2];
  TwoBest<uint64_t> best[kTiles][2];
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      best[t][r] = {kNobody<uint64_t>, kNobody<uint64_t>};
      const int query = part.first_query + kTileQueries * t + group + 8 * r;  // rows of the tile
      VectorQuarter quarter;
      quarter.Clear();
      if (query < pair.query_count) quarter.Load(pair.query, query, member);
#pragma unroll
      for (int j = 0; j < 8; ++j) a[t][j / 2][r + 2 * (j % 2)] = quarter.word[j];
      squares[t][r] = quarter.Square();
    }
  }

  const auto load = [&](int tile) {
    VectorQuarter quarter;
    quarter.Clear();
    if (tile + group < part.last_train) quarter.Load(pair.train, tile + group, member);
    return quarter;
  };
  constexpr int kStride = kWarps * kTileTrains;
  int tile = part.first_train + warp * kTileTrains;
  VectorQuarter next = load(tile);
  while (tile < part.last_train) {
    const int first_column = tile + 2 * member;
    TwoBest<int32_t> near[kTiles][2];
#pragma unroll
    for (int t = 0; t < kTiles; ++t) near[t][0] = near[t][1] = {kNoOrdinal, kNoOrdinal};
    for (int i = 0; i < kTilesOfOrdinals && tile < part.last_train; ++i, tile += kStride) {
      const VectorQuarter quarter = next;
      next = load(tile + kStride);
      int32_t product[kTiles][4] = {};
#pragma unroll
      for (int step = 0; step < kVectorSteps; ++step) {
#pragma unroll
        for (int t = 0; t < kTiles; ++t) {
          MultiplyAddUnsigned(a[t][step], quarter.word[2 * step], quarter.word[2 * step + 1],
                              product[t]);
        }
      }
      const uint32_t square = quarter.Square();
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        // Lanes 4 n to 4 n + 3 know the square of column n.
        const uint32_t column = __shfl_sync(kFullWarp, square, 4 * (2 * member + c));
        const bool exists = tile + 2 * member + c < part.last_train;
        const uint32_t term = (column << kOrdinalBits) + static_cast<uint32_t>(2 * i + c);
#pragma unroll
        for (int t = 0; t < kTiles; ++t) {
#pragma unroll
          for (int r = 0; r < 2; ++r) {
            const auto value = static_cast<int32_t>(
                term - (static_cast<uint32_t>(product[t][2 * r + c]) << (kOrdinalBits + 1)));
            near[t][r].Add(exists ? value : kNoOrdinal);
          }
        }
      }
    }
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const auto widen = [&](int32_t value) -> uint64_t {
          if (value == kNoOrdinal) return kNobody<uint64_t>;
          const int ordinal = value & ((1 << kOrdinalBits) - 1);
          const auto train =
              static_cast<uint32_t>(first_column + ordinal / 2 * kStride + ordinal % 2);
          const uint32_t distance = static_cast<uint32_t>(value >> kOrdinalBits) + squares[t][r];
          return uint64_t{distance} << kIndexBits<uint64_t> | train;
        };
        const TwoBest<uint64_t> wide = {widen(near[t][r].first), widen(near[t][r].second)};
        best[t][r].Add(wide);
      }
    }
  }

#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      JoinMembers(&best[t][r]);
      if (member == 0) warp_best[warp][kTileQueries * t + group + 8 * r] = best[t][r];
    }
  }
  StoreBlock(params, pair, part, warp_best);
}

constexpr int kWordWarps = 8;
constexpr int kWordDescriptorBytes = 4;

// blockIdx.x: 32 queries, y: pair and direction.
__global__ __launch_bounds__(kWordWarps* kWarpLanes) void MatchWordsKernel(
    const __grid_constant__ MatchParams params) {
  __shared__ TwoBest<uint32_t> warp_best[kWordWarps][kWarpLanes];
  Direction pair;
  if (!FindDirection(params, static_cast<int>(blockIdx.y), &pair)) return;
  const int first_query = static_cast<int>(blockIdx.x) * kWarpLanes;
  if (first_query >= pair.query_count) return;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int query = first_query + lane;
  const uint32_t word =
      query < pair.query_count ? reinterpret_cast<const uint32_t*>(pair.query)[query] : 0;
  TwoBest<uint32_t> best = {kNoPackedNeighbour, kNoPackedNeighbour};
  const auto add = [&](uint32_t train, int index) {
    best.Add(static_cast<uint32_t>(__popc(word ^ train)) * kOne + static_cast<uint32_t>(index));
  };
  const int quads = pair.train_count / 4;
#pragma unroll 4
  for (int i = warp; i < quads; i += kWordWarps) {
    const uint4 trains = reinterpret_cast<const uint4*>(pair.train)[i];
    add(trains.x, 4 * i);
    add(trains.y, 4 * i + 1);
    add(trains.z, 4 * i + 2);
    add(trains.w, 4 * i + 3);
  }
  const int last = 4 * quads + warp;
  if (last < pair.train_count) add(reinterpret_cast<const uint32_t*>(pair.train)[last], last);
  warp_best[warp][lane] = best;
  __syncthreads();  // every warp has put in its best
  if (warp != 0 || query >= pair.query_count) return;
#pragma unroll
  for (int w = 1; w < kWordWarps; ++w) best.Add(warp_best[w][lane]);
  StoreNearest(pair, query, best);
}

constexpr int kSearchWarps = 4;
constexpr int kMaxNeighbours = 16;
// Train places that a lane reads before it compares them, so that it waits for memory once.
constexpr int kPlacesAtOnce = 4;

__device__ __forceinline__ uint32_t SmallestOfWarp(uint32_t n) { return WarpMin(n); }
__device__ __forceinline__ uint64_t SmallestOfWarp(uint64_t n) {
  return JoinOfWarp(n, [](uint64_t a, uint64_t b) { return Min(a, b); });
}

// The nearest that one lane has met, ascending.
template <int kMax, typename Neighbour>
struct NearestList {
  Neighbour entry[kMax];

  __device__ __forceinline__ NearestList() {
#pragma unroll
    for (int i = 0; i < kMax; ++i) entry[i] = kNobody<Neighbour>;
  }

  __device__ __forceinline__ void Add(uint32_t distance, int train) {
    Neighbour candidate =
        Neighbour{distance} << kIndexBits<Neighbour> | static_cast<uint32_t>(train);
    if (candidate >= entry[kMax - 1]) return;
      // A sorted list takes the candidate in and pushes its last out.
#pragma unroll
    for (int i = 0; i < kMax; ++i) {
      const Neighbour smaller = min(entry[i], candidate);
      candidate = max(entry[i], candidate);
      entry[i] = smaller;
    }
  }

  // Writes the k nearest of all lanes of the warp, k <= kMax, which takes them out of the lists.
  __device__ __forceinline__ void Store(int lane, int k, Neighbour* nearest) {
    for (int i = 0; i < k; ++i) {
      const Neighbour smallest = SmallestOfWarp(entry[0]);
      if (lane == 0) nearest[i] = smallest;
      if (entry[0] == smallest) {
#pragma unroll
        for (int j = 0; j + 1 < kMax; ++j) entry[j] = entry[j + 1];
        entry[kMax - 1] = kNobody<Neighbour>;
      }
    }
  }
};

// A descriptor in registers.
template <int kWords>
struct RowWords {
  static constexpr bool kIsVector = algo::MetricOf(4 * kWords) == algo::Metric::kSquaredEuclidean;
  using Neighbour = std::conditional_t<kIsVector, WideNeighbour, PackedNeighbour>;

  uint32_t word[kWords];

  // `rows`: aligned to a row.
  __device__ __forceinline__ RowWords(const uint8_t* rows, int row) {
    if constexpr (kWords == 1) {
      word[0] = reinterpret_cast<const uint32_t*>(rows)[row];
    } else if constexpr (kWords == 2) {
      const uint2 both = reinterpret_cast<const uint2*>(rows)[row];
      word[0] = both.x;
      word[1] = both.y;
    } else {
      static_assert(kWords % 4 == 0);
      constexpr int kParts = kWords / 4;
      const uint4* const at =
          reinterpret_cast<const uint4*>(rows) + static_cast<int64_t>(row) * kParts;
#pragma unroll
      for (int i = 0; i < kParts; ++i) {
        const uint4 part = at[i];
        word[4 * i] = part.x;
        word[4 * i + 1] = part.y;
        word[4 * i + 2] = part.z;
        word[4 * i + 3] = part.w;
      }
    }
  }

  __device__ __forceinline__ uint32_t Distance(const RowWords& other) const {
    uint32_t distance = 0;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      if constexpr (kIsVector) {
        const uint32_t difference = __vabsdiffu4(word[i], other.word[i]);
        distance = __dp4a(difference, difference, distance);
      } else {
        distance += static_cast<uint32_t>(__popc(word[i] ^ other.word[i]));
      }
    }
    return distance;
  }
};

// The k <= kMax nearest rows of `train` for row `row` of `query`; a whole warp.
template <int kMax, int kWords>
__device__ void SearchRow(const uint8_t* query, int row, const uint8_t* train, int train_count,
                          int k, void* nearest) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const RowWords<kWords> mine(query, row);
  using Neighbour = typename RowWords<kWords>::Neighbour;
  NearestList<kMax, Neighbour> list;
  for (int t = lane; t < train_count; t += kWarpLanes) {
    list.Add(mine.Distance(RowWords<kWords>(train, t)), t);
  }
  list.Store(lane, k, static_cast<Neighbour*>(nearest) + static_cast<int64_t>(row) * k);
}

// One side of a search in a window.
struct PlacedSide {
  const uint8_t* rows;
  int count;
  const MatchPlaces& places;
};

// The k <= kMax nearest admissible rows of `train` for row `row` of `query`; a whole warp.
template <int kMax, int kWords>
__device__ void SearchWindow(const PlacedSide& query, int row, const PlacedSide& train,
                             float half_side_px, int k, void* nearest) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const RowWords<kWords> mine(query.rows, row);
  const float x = query.places.x[row] + query.places.offset_x_px;
  const float y = query.places.y[row] + query.places.offset_y_px;
  using Neighbour = typename RowWords<kWords>::Neighbour;
  NearestList<kMax, Neighbour> list;
  for (int first = lane; first < train.count; first += kPlacesAtOnce * kWarpLanes) {
    float train_x[kPlacesAtOnce];
    float train_y[kPlacesAtOnce];
#pragma unroll
    for (int i = 0; i < kPlacesAtOnce; ++i) {
      // Past the end the last place stands for the others, which are not compared.
      const int t = min(first + i * kWarpLanes, train.count - 1);
      train_x[i] = train.places.x[t];
      train_y[i] = train.places.y[t];
    }
#pragma unroll
    for (int i = 0; i < kPlacesAtOnce; ++i) {
      const int t = first + i * kWarpLanes;
      if (t >= train.count ||
          !algo::IsNear(half_side_px, train_x[i] + train.places.offset_x_px, x) ||
          !algo::IsNear(half_side_px, train_y[i] + train.places.offset_y_px, y)) {
        continue;
      }
      list.Add(mine.Distance(RowWords<kWords>(train.rows, t)), t);
    }
  }
  list.Store(lane, k, static_cast<Neighbour*>(nearest) + static_cast<int64_t>(row) * k);
}

// blockIdx.x: rows of both sides, a warp each, y: pair.
template <int kMax, int kWords>
__global__ __launch_bounds__(kSearchWarps* kWarpLanes) void SearchWindowKernel(
    const __grid_constant__ MatchParams params, const __grid_constant__ MatchWindows windows) {
  const MatchPair& pair = params.pair[blockIdx.y];
  const WindowPair& window = windows.pair[blockIdx.y];
  const PlacedSide query = {pair.query, pair.query_count, window.query};
  const PlacedSide train = {pair.train, pair.train_count, window.train};
  const int row =
      static_cast<int>(blockIdx.x) * kSearchWarps + static_cast<int>(threadIdx.x) / kWarpLanes;
  if (row < pair.query_count) {
    SearchWindow<kMax, kWords>(query, row, train, window.half_side_px, params.k, pair.nearest);
  }
  if (pair.reverse != nullptr && row < pair.train_count) {
    SearchWindow<kMax, kWords>(train, row, query, window.half_side_px, 1, pair.reverse);
  }
}

template <int kMax, int kWords>
__global__ __launch_bounds__(kSearchWarps* kWarpLanes) void SearchKernel(
    const __grid_constant__ MatchParams params) {
  const MatchPair& pair = params.pair[blockIdx.y];
  const int row =
      static_cast<int>(blockIdx.x) * kSearchWarps + static_cast<int>(threadIdx.x) / kWarpLanes;
  if (row < pair.query_count) {
    SearchRow<kMax, kWords>(pair.query, row, pair.train, pair.train_count, params.k, pair.nearest);
  }
  if (pair.reverse != nullptr && row < pair.train_count) {
    SearchRow<kMax, kWords>(pair.train, row, pair.query, pair.query_count, 1, pair.reverse);
  }
}

// The largest numbers of rows of all pairs, and whether any wants its reverse.
struct Sides {
  int queries = 0;
  int trains = 0;
  bool reverse = false;
};

Sides LargestSides(const MatchParams& params) {
  Sides sides;
  for (int i = 0; i < params.pairs; ++i) {
    sides.queries = Max(sides.queries, params.pair[i].query_count);
    sides.trains = Max(sides.trains, params.pair[i].train_count);
    sides.reverse = sides.reverse || params.pair[i].reverse != nullptr;
  }
  return sides;
}

// Search kernels have a warp a row and a row of blocks a pair.
dim3 SearchGrid(const MatchParams& params) {
  const auto [queries, trains, reverse] = LargestSides(params);
  return dim3(DivUp(reverse ? Max(queries, trains) : queries, kSearchWarps), params.pairs);
}

template <int kMax, int kWords>
absl::Status LaunchSearchOf(const MatchParams& params, const MatchWindows* windows,
                            cudaStream_t stream) {
  const dim3 grid = SearchGrid(params);
  if (windows == nullptr) {
    SearchKernel<kMax, kWords><<<grid, kSearchWarps * kWarpLanes, 0, stream>>>(params);
    return CheckLaunch("SearchKernel");
  }
  SearchWindowKernel<kMax, kWords>
      <<<grid, kSearchWarps * kWarpLanes, 0, stream>>>(params, *windows);
  return CheckLaunch("SearchWindowKernel");
}

template <int kWords>
absl::Status LaunchSearch(const MatchParams& params, const MatchWindows* windows,
                          cudaStream_t stream) {
  return params.k <= 2 ? LaunchSearchOf<2, kWords>(params, windows, stream)
                       : LaunchSearchOf<kMaxNeighbours, kWords>(params, windows, stream);
}

// `windows`: null = everywhere.
absl::Status LaunchSearchOfSize(const MatchParams& params, const MatchWindows* windows,
                                cudaStream_t stream) {
  switch (params.descriptor_bytes) {
    case 4:
      return LaunchSearch<1>(params, windows, stream);
    case 8:
      return LaunchSearch<2>(params, windows, stream);
    case 16:
      return LaunchSearch<4>(params, windows, stream);
    case 32:
      return LaunchSearch<8>(params, windows, stream);
    case 64:
      return LaunchSearch<16>(params, windows, stream);
    default:
      return LaunchSearch<algo::kVectorBytes / 4>(params, windows, stream);
  }
}

}  // namespace

bool MatchUsesTensorCores(const MatchParams& params) {
  return params.tensor_cores && params.k <= 2 &&
         (params.descriptor_bytes == kDescriptorBits / 8 ||
          params.descriptor_bytes == algo::kVectorBytes);
}

absl::Status LaunchMatch(MatchParams params, cudaStream_t stream) {
  if (params.pairs == 0) return absl::OkStatus();
  const auto [queries, trains, reverse] = LargestSides(params);
  const int rows = reverse ? Max(queries, trains) : queries;
  params.directions = reverse ? 2 : 1;
  const int searches = params.directions * params.pairs;
  if (params.descriptor_bytes == kWordDescriptorBytes && params.k <= 2) {
    const dim3 grid(DivUp(rows, kWarpLanes), searches);
    MatchWordsKernel<<<grid, kWordWarps * kWarpLanes, 0, stream>>>(params);
    return CheckLaunch("MatchWordsKernel");
  }
  if (!MatchUsesTensorCores(params)) return LaunchSearchOfSize(params, nullptr, stream);
  const bool two_tiles = reverse || !params.split_trains ||
                         DivUp(rows, kMaxBlockQueries) * params.pairs >= params.multiprocessors;
  const int query_blocks = DivUp(rows, (two_tiles ? kTilesOfTwo : kTilesAlone) * kTileQueries);
  const int searched = reverse ? rows : trains;
  // If there is more than one split, the number of multiprocessors bounds the grid, and the grid
  // bounds tickets and scratch.
  params.train_splits = params.split_trains
                            ? Clamp(params.multiprocessors / (query_blocks * searches), 1,
                                    Min(DivUp(searched, kLeastTrains), kMaxTrainSplits))
                            : 1;
  const dim3 grid(query_blocks, params.train_splits, searches);
  if (params.descriptor_bytes == algo::kVectorBytes) {
    if (two_tiles) {
      MatchVectorTilesKernel<kTilesOfTwo><<<grid, kThreads, 0, stream>>>(params);
    } else {
      MatchVectorTilesKernel<kTilesAlone><<<grid, kThreads, 0, stream>>>(params);
    }
    return CheckLaunch("MatchVectorTilesKernel");
  }
  if (two_tiles) {
    MatchTilesKernel<kTilesOfTwo><<<grid, kThreads, 0, stream>>>(params);
  } else {
    MatchTilesKernel<kTilesAlone><<<grid, kThreads, 0, stream>>>(params);
  }
  return CheckLaunch("MatchTilesKernel");
}

absl::Status LaunchWindowMatch(const MatchParams& params, const MatchWindows& windows,
                               cudaStream_t stream) {
  if (params.pairs == 0) return absl::OkStatus();
  return LaunchSearchOfSize(params, &windows, stream);
}

}  // namespace orbserve::gpu
