// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Order of lists of any length without a merge: a block sorts a run of keys in shared memory, and
// the place of a key in the whole list is the sum of its places in all runs, each found by binary
// search. For 30,000 keys these are 15 searches of 12 steps. Time does not depend on how the keys
// are spread, as it does with buckets.

#ifndef ORBSERVE_GPU_STEPS_SORTED_RUNS_CUH_
#define ORBSERVE_GPU_STEPS_SORTED_RUNS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "features/host_device.h"
#include "gpu/steps/level_share.cuh"

namespace orbserve::gpu {

inline constexpr int kRunKeys = 2048;     // 16 KiB of shared memory
inline constexpr int kSortThreads = 512;  // of the block that sorts a run
// Warps of a block that ranks 32 keys of a run: they share the runs to search.
inline constexpr int kMergeWarps = 4;
inline constexpr uint64_t kLastKey = ~uint64_t{0};  // not below any key

// Sorts a run of `count` keys, 1..kRunKeys, which `load(i)` returns, and stores it at `to`. All
// kSortThreads threads of the block take part. `shared` holds kRunKeys keys.
template <typename Load>
__device__ __forceinline__ void SortRun(int count, const Load& load, uint64_t* shared,
                                        uint64_t* to) {
  const int thread = static_cast<int>(threadIdx.x);
  int size = 1;
  while (size < count) size *= 2;
  __syncthreads();  // the run before this one has left shared memory
  for (int i = thread; i < size; i += kSortThreads) shared[i] = i < count ? load(i) : kLastKey;
  // Bitonic sort: pairs `distance` apart, ascending where bit `width` of their place is 0.
  for (int width = 2; width <= size; width *= 2) {
    for (int distance = width / 2; distance > 0; distance /= 2) {
      __syncthreads();  // the keys of the last round are there
      for (int i = thread; i < size / 2; i += kSortThreads) {
        const int low = 2 * i - (i & (distance - 1));
        const int high = low + distance;
        const uint64_t a = shared[low];
        const uint64_t b = shared[high];
        if ((a > b) == ((low & width) == 0)) {
          shared[low] = b;
          shared[high] = a;
        }
      }
    }
  }
  __syncthreads();  // the run is in order
  for (int i = thread; i < count; i += kSortThreads) to[i] = shared[i];
}

// Number of the `count` keys of a sorted run, at most kRunKeys, that are below `key`.
__device__ __forceinline__ int CountBelowInRun(const uint64_t* __restrict__ run, int count,
                                               uint64_t key) {
  int below = 0;
#pragma unroll
  for (int step = kRunKeys / 2; step > 0; step /= 2) {
    const int next = below + step;
    if (next <= count && run[next - 1] < key) below = next;
  }
  // The steps add up to one less than a whole run.
  return below < count && run[below] < key ? below + 1 : below;
}

// Calls `visit(run, count)` for those of the runs of a list of `keys` keys that are this warp's
// turn; `turn` counts the runs that the block has dealt out.
template <typename Visit>
__device__ __forceinline__ void VisitRuns(const uint64_t* list, int keys, int* turn,
                                          const Visit& visit) {
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  for (int begin = 0; begin < keys; begin += kRunKeys) {
    if ((*turn)++ % kMergeWarps == warp) visit(list + begin, Min(keys - begin, kRunKeys));
  }
}

// Adds up what the kMergeWarps warps of the block have counted for the same 32 keys, one a lane.
// All threads take part, and all warps return the sums.
__device__ __forceinline__ int SumOverWarps(int value, int (&parts)[kMergeWarps][kWarpLanes]) {
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  parts[warp][lane] = value;
  __syncthreads();  // all parts are there
  int sum = 0;
#pragma unroll
  for (int w = 0; w < kMergeWarps; ++w) sum += parts[w][lane];
  __syncthreads();  // all warps have read them
  return sum;
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SORTED_RUNS_CUH_
