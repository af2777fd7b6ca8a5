// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Sums over the threads of one large block, which takes a whole list chunk by chunk.

#ifndef ORBSERVE_GPU_STEPS_SELECT_BLOCK_SCAN_CUH_
#define ORBSERVE_GPU_STEPS_SELECT_BLOCK_SCAN_CUH_

#include <cuda_runtime.h>

#include "gpu/runtime/warp.cuh"

namespace orbserve::gpu {

inline constexpr int kScanThreads = 1024;
inline constexpr int kScanWarps = kScanThreads / kWarpLanes;
static_assert(kScanWarps == kWarpLanes, "each warp scans the counts of all warps");

// Number of threads of the block before this one for which `flag` is set; `total` becomes that of
// the block. All kScanThreads threads take part. `warp_counts`: shared, kScanWarps entries.
__device__ __forceinline__ int CountBefore(bool flag, int* warp_counts, int* total) {
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const unsigned flags = __ballot_sync(kFullWarp, flag);
  if (lane == 0) warp_counts[warp] = __popc(flags);
  __syncthreads();  // the counts of all warps are there
  const int end = SumUpToLane(warp_counts[lane], lane);
  *total = __shfl_sync(kFullWarp, end, kWarpLanes - 1);
  const int before = warp > 0 ? __shfl_sync(kFullWarp, end, warp - 1) : 0;
  __syncthreads();  // all warps have read the counts
  return before + __popc(flags & ((1u << lane) - 1));
}

// Sum of `value` over the threads of the block before this one; `total` becomes that of the block.
// All kScanThreads threads take part. `warp_sums`: shared, kScanWarps entries.
__device__ __forceinline__ int SumBefore(int value, int* warp_sums, int* total) {
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int up_to = SumUpToLane(value, lane);
  if (lane == kWarpLanes - 1) warp_sums[warp] = up_to;
  __syncthreads();  // the sums of all warps are there
  const int end = SumUpToLane(warp_sums[lane], lane);
  *total = __shfl_sync(kFullWarp, end, kWarpLanes - 1);
  const int before = warp > 0 ? __shfl_sync(kFullWarp, end, warp - 1) : 0;
  __syncthreads();  // all warps have read them
  return before + up_to - value;
}

// Sum of `value` over all threads of the block, which all return.
__device__ __forceinline__ int SumOfBlock(int value, int* warp_sums) {
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
#pragma unroll
  for (int distance = kWarpLanes / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kFullWarp, value, distance);
  }
  if (lane == 0) warp_sums[warp] = value;
  __syncthreads();  // the sums of all warps are there
  int sum = warp_sums[lane];
#pragma unroll
  for (int distance = kWarpLanes / 2; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(kFullWarp, sum, distance);
  }
  __syncthreads();  // all warps have read them
  return sum;
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SELECT_BLOCK_SCAN_CUH_
