// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Order of lists of any length without a merge: a block sorts a run of keys in shared memory, and
// the place of a key in the whole list is the sum of its places in all runs, each found by binary
// search. For 30,000 keys these are 30 searches of 11 steps. Time does not depend on how the keys
// are spread, as it does with buckets.
//
// A thread sorts four keys in registers, a warp 128 by shuffles; only rounds between warps, six of
// the 55, go through shared memory and wait for the whole block.

#ifndef ORBSERVE_GPU_STEPS_SELECT_SORTED_RUNS_CUH_
#define ORBSERVE_GPU_STEPS_SELECT_SORTED_RUNS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "features/host_device.h"
#include "gpu/runtime/warp.cuh"

namespace orbserve::gpu {

inline constexpr int kRunKeys = 1024;     // 8 KiB of shared memory
inline constexpr int kSortThreads = 256;  // of the block that sorts a run
inline constexpr int kSortKeysPerThread = kRunKeys / kSortThreads;
static_assert(kSortKeysPerThread == 4);
// Warps of a block that ranks 32 keys of a run: they share the runs to search.
inline constexpr int kMergeWarps = 4;
inline constexpr uint64_t kLastKey = ~uint64_t{0};  // not below any key

// Place of key `k` of thread `thread` in shared memory. It avoids bank conflicts, both where
// threads reach for their k-th keys and where they reach for neighbouring keys.
__device__ __forceinline__ int SharedPlace(int thread, int k) {
  return k * kSortThreads + (thread ^ (k * 4));
}

__device__ __forceinline__ void SortPair(bool ascending, uint64_t& a, uint64_t& b) {
  if ((b < a) == ascending) {
    const uint64_t first = b;
    b = a;
    a = first;
  }
}

// Sorts a run of `count` keys, 1..kRunKeys, which `load(i)` returns, and stores it at `to`. All
// kSortThreads threads of the block take part. `shared` holds kRunKeys keys.
template <typename Load>
__device__ __forceinline__ void SortRun(int count, const Load& load, uint64_t* shared,
                                        uint64_t* to) {
  constexpr int kKeys = kSortKeysPerThread;
  const int thread = static_cast<int>(threadIdx.x);
  const int first = thread * kKeys;  // this thread has the keys at places first..first + 3
  int size = kKeys;
  while (size < count) size *= 2;
  uint64_t key[kKeys];
#pragma unroll
  for (int k = 0; k < kKeys; ++k) key[k] = first + k < count ? load(first + k) : kLastKey;
  const auto share = [&] {
    __syncthreads();  // what was shared before is read
#pragma unroll
    for (int k = 0; k < kKeys; ++k) shared[SharedPlace(thread, k)] = key[k];
    __syncthreads();  // the keys of all threads are there
  };
  // Bitonic sort: pairs `distance` apart, ascending where bit `width` of their place is 0.
  SortPair(true, key[0], key[1]);
  SortPair(false, key[2], key[3]);
#pragma unroll 1
  for (int width = kKeys; width <= size; width *= 2) {
    const bool ascending = (first & width) == 0;
    int distance = width / 2;
#pragma unroll 1
    for (; distance >= kWarpLanes * kKeys; distance /= 2) {
      share();
      const bool lesser = ascending == ((first & distance) == 0);
#pragma unroll
      for (int k = 0; k < kKeys; ++k) {
        const uint64_t other = shared[SharedPlace(thread ^ (distance / kKeys), k)];
        if ((other < key[k]) == lesser) key[k] = other;
      }
    }
#pragma unroll 1
    for (; distance >= kKeys; distance /= 2) {
      const bool lesser = ascending == ((first & distance) == 0);
#pragma unroll
      for (int k = 0; k < kKeys; ++k) {
        const uint64_t other = __shfl_xor_sync(kFullWarp, key[k], distance / kKeys);
        if ((other < key[k]) == lesser) key[k] = other;
      }
    }
    SortPair(ascending, key[0], key[2]);
    SortPair(ascending, key[1], key[3]);
    SortPair(ascending, key[0], key[1]);
    SortPair(ascending, key[2], key[3]);
  }
  share();
#pragma unroll
  for (int k = 0; k < kKeys; ++k) {
    const int i = k * kSortThreads + thread;
    if (i < count) to[i] = shared[SharedPlace(i / kKeys, i % kKeys)];
  }
}

// For several sorted runs of at most kRunKeys keys: how many of the `count` keys of each are below
// `key`. The searches are one step after the other for all runs at a time, so that a thread waits
// for memory once a step.
template <int kRuns>
__device__ __forceinline__ void CountBelowInRuns(const uint64_t* const (&run)[kRuns],
                                                 const int (&count)[kRuns],
                                                 const uint64_t (&key)[kRuns],
                                                 int (&below)[kRuns]) {
#pragma unroll
  for (int r = 0; r < kRuns; ++r) below[r] = 0;
#pragma unroll
  for (int step = kRunKeys / 2; step > 0; step /= 2) {
#pragma unroll
    for (int r = 0; r < kRuns; ++r) {
      const int next = below[r] + step;
      if (next <= count[r] && run[r][next - 1] < key[r]) below[r] = next;
    }
  }
  // The steps add up to one less than a whole run.
#pragma unroll
  for (int r = 0; r < kRuns; ++r) {
    if (below[r] < count[r] && run[r][below[r]] < key[r]) ++below[r];
  }
}

// Number of the `count` keys of a sorted run, at most kRunKeys, that are below `key`.
__device__ __forceinline__ int CountBelowInRun(const uint64_t* __restrict__ run, int count,
                                               uint64_t key) {
  int below[1];
  CountBelowInRuns<1>({run}, {count}, {key}, below);
  return below[0];
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

#endif  // ORBSERVE_GPU_STEPS_SELECT_SORTED_RUNS_CUH_
