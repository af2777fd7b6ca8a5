// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: two sets of binary descriptors. Out: the nearest rows of the one for each row of the other by
// Hamming distance, the lowest index first among equals.
//
// Up to two neighbours of 256-bit descriptors: on the integer tensor cores. |a xor b| = |a| + |b| -
// 2 a.b, and a.b of two bit vectors is a product of 0/1 bytes, exact in 32 bits. A block has 128
// queries, 16 per warp with all their bits expanded to bytes in registers, and 128 train
// descriptors, expanded once to shared memory. Byte j of the expansion is the same permutation of
// the bits on both sides, chosen so that four bytes come out of a word by one shift and one mask.
// Each product tile of 16 x 8 costs eight tensor instructions and four instructions per distance:
// a multiply-add that turns it into a packed neighbour, and minimum, maximum, minimum for the two
// best. Blocks of the same queries leave partial results that the last of them to end merges (a
// second launch would cost a third of the time); minima do not depend on order. Shared memory: 42
// KiB; 96 registers.
//
// More neighbours, or other descriptors: a warp per query counts bits, each lane keeps its own
// best, and the warp draws the smallest one k times.

#include "gpu/kernels/match.h"

#include "features/algo/hamming.h"
#include "features/host_device.h"
#include "gpu/runtime/check.h"

namespace orbserve::gpu {
namespace {

constexpr unsigned kFullWarp = 0xffffffffu;
constexpr int kWarpLanes = 32;
constexpr int kDescriptorBits = 256;
constexpr int kDescriptorWords = kDescriptorBits / 32;

// Tensor-core tiles: m16n8k32 of 8-bit integers.
constexpr int kTileQueries = 16;
constexpr int kTileTrains = 8;
constexpr int kTileBits = 32;
constexpr int kSteps = kDescriptorBits / kTileBits;
constexpr int kWarps = 8;
constexpr int kBlockQueries = kWarps * kTileQueries;  // 128
constexpr int kBlockTrains = 128;
// Expanded train descriptor: 256 bytes and 64 of padding, so that the eight lanes of one phase of a
// 16-byte load meet all banks.
constexpr int kTrainPitch = 320;

// |b| - 2 a.b, a distance less |a|, lies in [-256, 256]: biased so that it is never negative.
constexpr uint32_t kOne = 1u << kNeighbourIndexBits;
constexpr uint32_t kBias = kDescriptorBits * kOne;
static_assert(2 * kDescriptorBits < 1 << (32 - kNeighbourIndexBits));

// Four bytes of 0 or 1: bits j, 8 + j, 16 + j, 24 + j of a word.
__device__ __forceinline__ uint32_t Expand(uint32_t word, int j) {
  return (word >> j) & 0x01010101u;
}

// d += a b; a 16 x 32, b 32 x 8, d 16 x 8.
__device__ __forceinline__ void MultiplyAdd(const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                            int32_t (&d)[4]) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  __trap();  // MatchParams::tensor_cores keeps older devices away
#endif
}

// The smallest value of the warp, for every lane.
__device__ __forceinline__ uint32_t WarpMin(uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(kFullWarp, value);
#else
#pragma unroll
  for (int distance = kWarpLanes / 2; distance > 0; distance /= 2) {
    value = min(value, __shfl_xor_sync(kFullWarp, value, distance));
  }
  return value;
#endif
}

struct TwoBest {
  uint32_t first;
  uint32_t second;

  __device__ __forceinline__ void Add(uint32_t n) {
    second = min(second, max(first, n));
    first = min(first, n);
  }
  __device__ __forceinline__ void Add(const TwoBest& other) {
    second = min(max(first, other.first), min(second, other.second));
    first = min(first, other.first);
  }
};

// Partial results of a pair: TwoBest [train blocks][queries], then uint32_t [query blocks][trains].
__host__ __device__ int TrainBlocks(int train_count) { return DivUp(train_count, kBlockTrains); }
__host__ __device__ int QueryBlocks(int query_count) { return DivUp(query_count, kBlockQueries); }
__host__ __device__ int64_t ReverseOffset(int query_count, int train_count) {
  return static_cast<int64_t>(sizeof(TwoBest)) * TrainBlocks(train_count) * query_count;
}

// Whether this block is the last of `blocks` to come here; what the others wrote before is visible
// to it then. All threads of the block take part and get the same answer. The ticket is 0 again
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

// Queries [first, first + kBlockQueries) from the partial results of all train blocks.
__device__ void MergeQueries(const MatchPair& pair, int first, int k) {
  const int query = first + static_cast<int>(threadIdx.x);
  if (threadIdx.x >= kBlockQueries || query >= pair.query_count) return;
  const auto* partial = reinterpret_cast<const TwoBest*>(pair.scratch) + query;
  TwoBest best = {kNoPackedNeighbour, kNoPackedNeighbour};
  const int blocks = TrainBlocks(pair.train_count);
#pragma unroll 8
  for (int block = 0; block < blocks; ++block) {
    best.Add(partial[static_cast<int64_t>(block) * pair.query_count]);
  }
  if (k == 1) {
    pair.nearest[query] = best.first;
  } else {
    reinterpret_cast<uint2*>(pair.nearest)[query] = make_uint2(best.first, best.second);
  }
}

// Train descriptors [first, first + kBlockTrains) from the partial results of all query blocks.
__device__ void MergeTrains(const MatchPair& pair, int first) {
  const int train = first + static_cast<int>(threadIdx.x);
  if (threadIdx.x >= kBlockTrains || train >= pair.train_count) return;
  const auto* partial = reinterpret_cast<const uint32_t*>(
                            pair.scratch + ReverseOffset(pair.query_count, pair.train_count)) +
                        train;
  uint32_t best = kNoPackedNeighbour;
  const int blocks = QueryBlocks(pair.query_count);
#pragma unroll 8
  for (int block = 0; block < blocks; ++block) {
    best = min(best, partial[static_cast<int64_t>(block) * pair.train_count]);
  }
  pair.reverse[train] = best;
}

template <bool kReverse>
__global__ __launch_bounds__(kWarps* kWarpLanes,
                             2) void MatchTilesKernel(const __grid_constant__ MatchParams params) {
  __shared__ __align__(16) uint8_t expanded[kBlockTrains * kTrainPitch];
  __shared__ uint32_t train_term[kBlockTrains];  // |train| and index, as a packed neighbour
  __shared__ uint32_t reverse_best[kBlockTrains];
  const MatchPair& pair = params.pair[blockIdx.z];
  const int first_train = static_cast<int>(blockIdx.x) * kBlockTrains;
  const int first_query = static_cast<int>(blockIdx.y) * kBlockQueries;
  if (first_train >= pair.train_count || first_query >= pair.query_count) return;
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarpLanes;
  const int lane = thread % kWarpLanes;
  const int group = lane / 4;   // row of A, column of B
  const int member = lane % 4;  // which two words of a descriptor this lane expands

  // Train descriptors: word w goes to the lanes with member w / 2 as 16-byte pieces, piece j of a
  // member at 64 * j + 16 * member.
  for (int i = thread; i < kBlockTrains * kDescriptorWords; i += kWarps * kWarpLanes) {
    const int train = i / kDescriptorWords;
    const int word_index = i % kDescriptorWords;
    const bool exists = first_train + train < pair.train_count;
    const uint32_t word =
        exists ? reinterpret_cast<const uint32_t*>(
                     pair.train)[static_cast<int64_t>(first_train) * kDescriptorWords + i]
               : 0;
    uint8_t* row = expanded + train * kTrainPitch + 16 * (word_index / 2);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      *reinterpret_cast<uint4*>(row + 64 * (2 * (word_index % 2) + j)) =
          make_uint4(Expand(word, 4 * j), Expand(word, 4 * j + 1), Expand(word, 4 * j + 2),
                     Expand(word, 4 * j + 3));
    }
    int bits = __popc(word);
#pragma unroll
    for (int distance = 1; distance < kDescriptorWords; distance *= 2) {
      bits += __shfl_xor_sync(kFullWarp, bits, distance);
    }
    if (word_index == 0) {
      train_term[train] =
          exists ? static_cast<uint32_t>(bits) * kOne + static_cast<uint32_t>(first_train + train)
                 : 0;
      reverse_best[train] = kNoPackedNeighbour;
    }
  }

  // This warp's queries: rows group and group + 8 of its tile.
  const int query[2] = {first_query + warp * kTileQueries + group,
                        first_query + warp * kTileQueries + group + 8};
  uint32_t a[kSteps][4];
  uint32_t query_bits[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    uint2 words = make_uint2(0, 0);
    if (query[r] < pair.query_count) {
      words = reinterpret_cast<const uint2*>(
          pair.query)[static_cast<int64_t>(query[r]) * (kDescriptorWords / 2) + member];
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      // Byte group j of the first word is in step j / 2, then those of the second word.
      a[j / 2][r + 2 * (j % 2)] = Expand(words.x, j);
      a[4 + j / 2][r + 2 * (j % 2)] = Expand(words.y, j);
    }
    int bits = __popc(words.x) + __popc(words.y);
    bits += __shfl_xor_sync(kFullWarp, bits, 1);
    bits += __shfl_xor_sync(kFullWarp, bits, 2);
    query_bits[r] = static_cast<uint32_t>(bits) * kOne;
  }
  __syncthreads();  // train descriptors are expanded

  TwoBest best[2] = {{kNoPackedNeighbour, kNoPackedNeighbour},
                     {kNoPackedNeighbour, kNoPackedNeighbour}};
  const int trains = min(kBlockTrains, pair.train_count - first_train);
  for (int tile = 0; tile < trains; tile += kTileTrains) {
    const auto* b =
        reinterpret_cast<const uint4*>(expanded + (tile + group) * kTrainPitch) + member;
    int32_t product[4] = {0, 0, 0, 0};
#pragma unroll
    for (int piece = 0; piece < kSteps / 2; ++piece) {
      const uint4 bytes = b[4 * piece];
      MultiplyAdd(a[2 * piece], bytes.x, bytes.y, product);
      MultiplyAdd(a[2 * piece + 1], bytes.z, bytes.w, product);
    }
    const int column = tile + 2 * member;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const bool exists = column + c < trains;
      const uint32_t term = train_term[column + c];
      uint32_t backwards = kNoPackedNeighbour;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const auto common = static_cast<uint32_t>(product[2 * r + c]);
        // |query| is the same for all neighbours of a query: added at the end.
        if (exists) best[r].Add(term + kBias - 2 * kOne * common);
        if constexpr (kReverse) {
          if (query[r] < pair.query_count) {
            backwards = min(backwards, term / kOne * kOne + query_bits[r] - 2 * kOne * common +
                                           static_cast<uint32_t>(query[r]));
          }
        }
      }
      if constexpr (kReverse) {
#pragma unroll
        for (int distance = 4; distance < kWarpLanes; distance *= 2) {
          backwards = min(backwards, __shfl_xor_sync(kFullWarp, backwards, distance));
        }
        if (group == 0 && exists) atomicMin(&reverse_best[column + c], backwards);
      }
    }
  }

  auto* partial = reinterpret_cast<TwoBest*>(pair.scratch);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#pragma unroll
    for (int distance = 1; distance < 4; distance *= 2) {
      const TwoBest other = {__shfl_xor_sync(kFullWarp, best[r].first, distance),
                             __shfl_xor_sync(kFullWarp, best[r].second, distance)};
      best[r].Add(other);
    }
    if (member == 0 && query[r] < pair.query_count) {
      const uint32_t term = query_bits[r] - kBias;
      if (best[r].first != kNoPackedNeighbour) best[r].first += term;
      if (best[r].second != kNoPackedNeighbour) best[r].second += term;
      partial[static_cast<int64_t>(blockIdx.x) * pair.query_count + query[r]] = best[r];
    }
  }
  if constexpr (kReverse) {
    if (pair.reverse != nullptr) {
      __syncthreads();  // every warp has put in its minima
      auto* reverse = reinterpret_cast<uint32_t*>(
          pair.scratch + ReverseOffset(pair.query_count, pair.train_count));
      if (thread < trains) {
        reverse[static_cast<int64_t>(blockIdx.y) * pair.train_count + first_train + thread] =
            reverse_best[thread];
      }
    }
  }
  const int query_blocks = QueryBlocks(pair.query_count);
  if (IsLastBlock(pair.tickets + blockIdx.y, TrainBlocks(pair.train_count))) {
    MergeQueries(pair, first_query, params.k);
  }
  if constexpr (kReverse) {
    if (pair.reverse != nullptr &&
        IsLastBlock(pair.tickets + query_blocks + blockIdx.x, query_blocks)) {
      MergeTrains(pair, first_train);
    }
  }
}

constexpr int kSearchWarps = 4;
constexpr int kMostNeighbours = 16;

// The k nearest rows of `train` for row `row` of `query`; a whole warp.
__device__ void SearchRow(const uint8_t* query, int row, const uint8_t* train, int train_count,
                          int descriptor_bytes, int k, PackedNeighbour* nearest) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const uint8_t* mine = query + static_cast<int64_t>(row) * descriptor_bytes;
  PackedNeighbour list[kMostNeighbours];
#pragma unroll
  for (int i = 0; i < kMostNeighbours; ++i) list[i] = kNoPackedNeighbour;
  for (int t = lane; t < train_count; t += kWarpLanes) {
    const int distance =
        HammingDistance(mine, train + static_cast<int64_t>(t) * descriptor_bytes, descriptor_bytes);
    PackedNeighbour candidate = static_cast<uint32_t>(distance) * kOne + static_cast<uint32_t>(t);
    if (candidate >= list[kMostNeighbours - 1]) continue;
      // A sorted list takes the candidate in and pushes its last out.
#pragma unroll
    for (int i = 0; i < kMostNeighbours; ++i) {
      const PackedNeighbour smaller = min(list[i], candidate);
      candidate = max(list[i], candidate);
      list[i] = smaller;
    }
  }
  for (int i = 0; i < k; ++i) {
    const PackedNeighbour smallest = WarpMin(list[0]);
    if (lane == 0) nearest[static_cast<int64_t>(row) * k + i] = smallest;
    if (list[0] == smallest) {
#pragma unroll
      for (int j = 0; j + 1 < kMostNeighbours; ++j) list[j] = list[j + 1];
      list[kMostNeighbours - 1] = kNoPackedNeighbour;
    }
  }
}

__global__ __launch_bounds__(kSearchWarps* kWarpLanes) void SearchKernel(
    const __grid_constant__ MatchParams params) {
  const MatchPair& pair = params.pair[blockIdx.y];
  const int row =
      static_cast<int>(blockIdx.x) * kSearchWarps + static_cast<int>(threadIdx.x) / kWarpLanes;
  if (row < pair.query_count) {
    SearchRow(pair.query, row, pair.train, pair.train_count, params.descriptor_bytes, params.k,
              pair.nearest);
  }
  if (pair.reverse != nullptr && row < pair.train_count) {
    SearchRow(pair.train, row, pair.query, pair.query_count, params.descriptor_bytes, 1,
              pair.reverse);
  }
}

}  // namespace

size_t MatchScratchBytes(int query_count, int train_count) {
  return static_cast<size_t>(ReverseOffset(query_count, train_count) +
                             static_cast<int64_t>(sizeof(uint32_t)) * QueryBlocks(query_count) *
                                 train_count);
}

size_t MatchTickets(int query_count, int train_count) {
  return static_cast<size_t>(QueryBlocks(query_count) + TrainBlocks(train_count));
}

absl::Status LaunchMatch(const MatchParams& params, cudaStream_t stream) {
  if (params.pairs == 0) return absl::OkStatus();
  int queries = 0;
  int trains = 0;
  bool reverse = false;
  for (int i = 0; i < params.pairs; ++i) {
    queries = Max(queries, params.pair[i].query_count);
    trains = Max(trains, params.pair[i].train_count);
    reverse = reverse || params.pair[i].reverse != nullptr;
  }
  const int rows = reverse ? Max(queries, trains) : queries;
  if (!params.tensor_cores || params.k > 2 || params.descriptor_bytes != kDescriptorBits / 8) {
    const dim3 grid(DivUp(rows, kSearchWarps), params.pairs);
    SearchKernel<<<grid, kSearchWarps * kWarpLanes, 0, stream>>>(params);
    return CheckLaunch("SearchKernel");
  }
  const dim3 grid(TrainBlocks(trains), QueryBlocks(queries), params.pairs);
  if (reverse) {
    MatchTilesKernel<true><<<grid, kWarps * kWarpLanes, 0, stream>>>(params);
  } else {
    MatchTilesKernel<false><<<grid, kWarps * kWarpLanes, 0, stream>>>(params);
  }
  return CheckLaunch("MatchTilesKernel");
}

}  // namespace orbserve::gpu
