// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: survivors of each (frame, level) as rank keys (features/algo/order.h) in any order. Out: the
// best `second_cut` of them and those whose response equals the last one's, in rank order.
//
// Keys are different from each other, so the place of a key is the number of smaller ones, and it
// is kept exactly if fewer than `second_cut` responses are greater: counting gives cut, ties and
// order at once, in one launch, whatever the order of arrival. The count is quadratic, but the
// lists are short: 2,000 features of 8 levels have 2.4 million comparisons, half a microsecond of
// an H200, where a sort of so few keys in shared memory takes ten. A warp has four keys and walks
// over the list with its lanes, several loads in flight. Beyond kMaxRanked survivors the slow path
// sorts with CUB.

#include "gpu/kernels/rank.h"

#include <cub/device/device_radix_sort.cuh>

#include "gpu/runtime/check.h"

namespace orbserve::gpu {
namespace {

constexpr unsigned kFullWarp = 0xffffffffu;
constexpr int kWarpLanes = 32;
constexpr int kWarps = 4;
constexpr int kKeysPerWarp = 4;
constexpr int kKeysPerBlock = kWarps * kKeysPerWarp;
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

__global__ __launch_bounds__(kWarps* kWarpLanes) void RankKernel(
    const __grid_constant__ RankParams params) {
  const BatchView& batch = params.batch;
  const int l = static_cast<int>(blockIdx.y);
  if (batch.level[l].detect == 0) return;
  const int frame_index = static_cast<int>(blockIdx.z);
  const FrameParams& frame = batch.params[frame_index];
  FrameCounters& counters = batch.counters[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  const int count = counters.survivors[l];
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int first = static_cast<int>(blockIdx.x) * kKeysPerBlock + warp * kKeysPerWarp;
  // Whole warps leave; nothing below waits for the block.
  if (first >= count || count > kMaxRanked) return;
  const auto cut = static_cast<uint32_t>(frame.second_cut[params.all_levels ? 0 : l]);

  const int64_t frame_lists = frame_index * batch.corner_stride;
  const uint64_t* __restrict__ keys = batch.survivors + frame_lists + batch.level[l].corner_offset;
  uint64_t* __restrict__ ranked =
      batch.ranked + (static_cast<int64_t>(frame_index) * kMaxLevels + l) * kMaxRanked;
  int kept = 0;
  for (int begin = first; begin < count; begin += static_cast<int>(gridDim.x) * kKeysPerBlock) {
    uint64_t mine[kKeysPerWarp];
    uint32_t better[kKeysPerWarp] = {};  // responses greater than mine, times kBetterOne ...
#pragma unroll
    for (int k = 0; k < kKeysPerWarp; ++k) mine[k] = begin + k < count ? keys[begin + k] : 0;
      // ... plus keys smaller than mine.
#pragma unroll 4
    for (int i = lane; i < count; i += kWarpLanes) {
      const uint64_t other = keys[i];
#pragma unroll
      for (int k = 0; k < kKeysPerWarp; ++k) {
        better[k] += other < mine[k] ? 1u : 0u;
        better[k] += (other >> kOrderShift) < (mine[k] >> kOrderShift) ? kBetterOne : 0u;
      }
    }
    uint32_t elsewhere[kKeysPerWarp] = {};  // greater responses of other levels
    if (params.all_levels) {
      for (int m = 0; m < batch.levels; ++m) {
        if (m == l) continue;
        const int others = counters.survivors[m];
        const uint64_t* __restrict__ list =
            batch.survivors + frame_lists + batch.level[m].corner_offset;
        for (int i = lane; i < others; i += kWarpLanes) {
          const uint64_t order = list[i] >> kOrderShift;
#pragma unroll
          for (int k = 0; k < kKeysPerWarp; ++k) {
            elsewhere[k] += order < (mine[k] >> kOrderShift) ? 1u : 0u;
          }
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kKeysPerWarp; ++k) {
      const uint32_t counts = WarpSum(better[k]);
      const uint32_t more = params.all_levels ? WarpSum(elsewhere[k]) : 0;
      if (begin + k < count && counts / kBetterOne + more < cut) {
        if (lane == 0) ranked[counts % kBetterOne] = mine[k];
        ++kept;
      }
    }
  }
  // Sums of integers do not depend on their order.
  if (lane == 0 && kept > 0) atomicAdd(&counters.kept[l], kept);
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
  // Enough for the survivors of a level of some 2,000 features; the loop takes the rest. Blocks
  // without work cost little, but a batch would have many.
  const int blocks = batch.frame_count == 1 ? 256 : 32;
  const dim3 grid(blocks, batch.levels, batch.frame_count);
  RankKernel<<<grid, kWarps * kWarpLanes, 0, stream>>>(params);
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
