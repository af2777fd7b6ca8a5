// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: survivors of each (frame, level) as rank keys (features/algo/order.h) in any order. Out: the
// best `second_cut` of them and those whose response equals the last one's, in rank order.
//
// Keys are different from each other, so the place of a key is the number of smaller ones, and it
// is kept exactly if fewer than `second_cut` responses are greater: counting gives cut, ties and
// order at once, in one launch, whatever the order of arrival. The count is quadratic, but the
// lists are short: 2,000 features of 8 levels have 2.4 million comparisons, half a microsecond of
// an H200, where a sort of so few keys in shared memory takes ten. A block has 16 keys, four per
// warp; the list passes through shared memory (16 KiB at a time, nearly always all of it), and each
// warp walks over it with its lanes. Beyond kMaxRanked survivors the slow path sorts with CUB.

#include "gpu/kernels/rank.h"

#include <cub/device/device_radix_sort.cuh>

#include "features/host_device.h"
#include "gpu/kernels/level_share.cuh"
#include "gpu/runtime/check.h"

namespace orbserve::gpu {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarpLanes;
constexpr int kKeysPerWarp = 4;
constexpr int kKeysPerBlock = kWarps * kKeysPerWarp;
constexpr int kChunkKeys = 2048;
constexpr int kOrderShift = 32;  // the upper half of a key orders responses
// Both counts of a key are below 2^16 within a level.
static_assert(kMaxRanked < 1 << 16);
constexpr uint32_t kBetterOne = 1u << 16;

__device__ __forceinline__ uint32_t WarpSum(uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kFullWarp, value);
#else
#pragma unroll
  for (int distance = kWarpLanes / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kFullWarp, value, distance);
  }
  return value;
#endif
}

// Copies `count` keys, at most kChunkKeys, two per load; of an odd number the last comes with
// whatever lies behind it. `keys` is aligned to 16 bytes.
__device__ __forceinline__ void LoadChunk(const uint64_t* __restrict__ keys, int count,
                                          uint64_t* __restrict__ chunk) {
  const auto* from = reinterpret_cast<const ulonglong2*>(keys);
  auto* to = reinterpret_cast<ulonglong2*>(chunk);
#pragma unroll 8
  for (int i = static_cast<int>(threadIdx.x); 2 * i < count; i += kThreads) to[i] = from[i];
}

__global__ __launch_bounds__(kThreads) void RankKernel(const __grid_constant__ RankParams params) {
  alignas(16) __shared__ uint64_t chunk[kChunkKeys];
  const BatchView& batch = params.batch;
  const int frame_index = static_cast<int>(blockIdx.y);
  const FrameParams& frame = batch.params[frame_index];
  FrameCounters& counters = batch.counters[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  // Lane l knows level l.
  const int survivors = lane < batch.levels ? counters.survivors[lane] : 0;
  // One list that is too long sends the whole frame to the slow path, which ranks every level.
  if (__ballot_sync(kFullWarp, survivors > kMaxRanked) != 0) return;
  const LevelShare share = ShareOfLevel(DivUp(survivors, kKeysPerBlock));
  const uint64_t* __restrict__ lists = batch.survivors + frame_index * batch.corner_stride;
  for (int group = static_cast<int>(blockIdx.x); group < share.total;
       group += static_cast<int>(gridDim.x)) {
    const int l = LevelOf(share, group);
    const int count = __shfl_sync(kFullWarp, survivors, l);
    const int begin =
        (group - __shfl_sync(kFullWarp, share.begin, l)) * kKeysPerBlock + warp * kKeysPerWarp;
    uint64_t mine[kKeysPerWarp];
#pragma unroll
    for (int k = 0; k < kKeysPerWarp; ++k) {
      mine[k] = begin + k < count ? lists[batch.level[l].corner_offset + begin + k] : 0;
    }
    uint32_t better[kKeysPerWarp] = {};     // responses greater than mine, times kBetterOne, plus
                                            // keys smaller than mine
    uint32_t elsewhere[kKeysPerWarp] = {};  // greater responses of other levels
    const int first_level = params.all_levels ? 0 : l;
    const int last_level = params.all_levels ? batch.levels - 1 : l;
    for (int m = first_level; m <= last_level; ++m) {
      const int others = __shfl_sync(kFullWarp, survivors, m);
      const uint64_t* __restrict__ list = lists + batch.level[m].corner_offset;
      for (int chunk_begin = 0; chunk_begin < others; chunk_begin += kChunkKeys) {
        const int chunk_count = Min(others - chunk_begin, kChunkKeys);
        __syncthreads();  // nobody needs the last chunk any more
        LoadChunk(list + chunk_begin, chunk_count, chunk);
        __syncthreads();  // this one is there
        if (m == l) {
#pragma unroll 4
          for (int i = lane; i < chunk_count; i += kWarpLanes) {
            const uint64_t other = chunk[i];
#pragma unroll
            for (int k = 0; k < kKeysPerWarp; ++k) {
              better[k] += other < mine[k] ? 1u : 0u;
              better[k] += (other >> kOrderShift) < (mine[k] >> kOrderShift) ? kBetterOne : 0u;
            }
          }
        } else {
          for (int i = lane; i < chunk_count; i += kWarpLanes) {
            const uint64_t order = chunk[i] >> kOrderShift;
#pragma unroll
            for (int k = 0; k < kKeysPerWarp; ++k) {
              elsewhere[k] += order < (mine[k] >> kOrderShift) ? 1u : 0u;
            }
          }
        }
      }
    }
    const auto cut = static_cast<uint32_t>(frame.second_cut[params.all_levels ? 0 : l]);
    uint64_t* __restrict__ ranked =
        batch.ranked + (static_cast<int64_t>(frame_index) * kMaxLevels + l) * kMaxRanked;
    int kept = 0;
#pragma unroll
    for (int k = 0; k < kKeysPerWarp; ++k) {
      const uint32_t counts = WarpSum(better[k]);
      const uint32_t more = params.all_levels ? WarpSum(elsewhere[k]) : 0;
      if (begin + k < count && counts / kBetterOne + more < cut) {
        if (lane == 0) ranked[counts % kBetterOne] = mine[k];
        ++kept;
      }
    }
    // Sums of integers do not depend on their order.
    if (lane == 0 && kept > 0) atomicAdd(&counters.kept[l], kept);
  }
}

// Number of sorted keys whose order is at most `last`.
__device__ int CountUpTo(const uint64_t* sorted, int count, uint32_t last) {
  int low = 0;
  int high = count;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (static_cast<uint32_t>(sorted[middle] >> kOrderShift) <= last) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// One warp, a level per lane.
__global__ void CutSortedKernel(const __grid_constant__ LargeRankParams params) {
  const int l = static_cast<int>(threadIdx.x);
  const int count = l < params.levels ? params.survivor_count[l] : 0;
  const uint64_t* sorted = l < params.levels ? params.sorted[l] : nullptr;
  int kept = count;
  if (params.all_levels) {
    const int64_t wanted = params.second_cut[0];
    const auto up_to = [&](uint32_t last) {
      int64_t sum = CountUpTo(sorted, count, last);
      for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(kFullWarp, sum, distance);
      }
      return sum;
    };
    // The smallest order up to which there are at least `wanted`.
    uint32_t low = 0;
    uint32_t high = 0xffffffffu;
    if (wanted <= 0) {
      kept = 0;
    } else {
      while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (up_to(middle) >= wanted) {
          high = middle;
        } else {
          low = middle + 1;
        }
      }
      kept = CountUpTo(sorted, count, low);
    }
  } else if (l < params.levels) {
    const int wanted = params.second_cut[l];
    if (wanted <= 0) {
      kept = 0;
    } else if (count > wanted) {
      kept = CountUpTo(sorted, count, static_cast<uint32_t>(sorted[wanted - 1] >> kOrderShift));
    }
  }
  if (l < kMaxLevels) params.kept[l] = kept;
}

}  // namespace

absl::Status LaunchRank(const RankParams& params, cudaStream_t stream) {
  const BatchView& batch = params.batch;
  if (batch.frame_count == 0) return absl::OkStatus();
  // Four blocks a multiprocessor of the largest devices, all at once; the loop takes the rest.
  constexpr int kBlocksForOne = 528;
  const dim3 grid(Max(kBlocksForOne / batch.frame_count, 66), batch.frame_count);
  RankKernel<<<grid, kThreads, 0, stream>>>(params);
  return CheckLaunch("RankKernel");
}

absl::StatusOr<size_t> LargeRankScratchBytes(int count) {
  size_t bytes = 0;
  ORBSERVE_CUDA_RETURN_IF_ERROR(
      cub::DeviceRadixSort::SortKeys(nullptr, bytes, static_cast<const uint64_t*>(nullptr),
                                     static_cast<uint64_t*>(nullptr), count));
  return bytes;
}

absl::Status LaunchLargeRank(const LargeRankParams& params, cudaStream_t stream) {
  for (int l = 0; l < params.levels; ++l) {
    if (params.survivor_count[l] == 0) continue;
    size_t bytes = params.scratch_bytes;
    ORBSERVE_CUDA_RETURN_IF_ERROR(
        cub::DeviceRadixSort::SortKeys(params.scratch, bytes, params.survivors[l], params.sorted[l],
                                       params.survivor_count[l], 0, 64, stream));
  }
  CutSortedKernel<<<1, 32, 0, stream>>>(params);
  return CheckLaunch("CutSortedKernel");
}

}  // namespace orbserve::gpu
