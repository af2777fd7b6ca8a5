// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

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

#ifndef ORBSERVE_GPU_MATCHING_MATCH_TILES_CUH_
#define ORBSERVE_GPU_MATCHING_MATCH_TILES_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "features/host_device.h"
#include "gpu/matching/match_direction.cuh"
#include "gpu/matching/match_kernel.h"
#include "gpu/runtime/warp.cuh"

namespace orbserve::gpu {

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

// Train descriptors of each of `splits` blocks, whole tiles.
__host__ __device__ inline int TrainsPerBlock(int train_count, int splits) {
  return RoundUp(DivUp(train_count, splits), kTileTrains);
}

// True for the block that is the last of `blocks` to come here. It sees what the others wrote
// before. All threads of the block take part and get the same answer. The ticket is 0 again
// afterwards.
__device__ inline bool IsLastBlock(uint32_t* ticket, int blocks) {
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

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_MATCHING_MATCH_TILES_CUH_
