// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Sums, extremes and prefix sums over the lanes of one warp. All lanes of the warp take part.

#ifndef ORBSERVE_GPU_RUNTIME_WARP_CUH_
#define ORBSERVE_GPU_RUNTIME_WARP_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "features/host_device.h"

namespace orbserve::gpu {

inline constexpr unsigned kFullWarp = 0xffffffffu;
inline constexpr int kWarpLanes = 32;

// Joins the values of all lanes, for every lane, where the device has no instruction for it.
template <typename T, typename Join>
__device__ __forceinline__ T JoinOfWarp(T value, Join join) {
#pragma unroll
  for (int distance = kWarpLanes / 2; distance > 0; distance /= 2) {
    value = join(value, __shfl_xor_sync(kFullWarp, value, distance));
  }
  return value;
}

// The sum over the warp, for every lane. Neither it nor a part of it may overflow. T: int32_t or
// uint32_t.
template <typename T>
__device__ __forceinline__ T WarpSum(T value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kFullWarp, value);
#else
  return JoinOfWarp(value, [](T a, T b) { return a + b; });
#endif
}

// The largest value of the warp, for every lane. T as above.
template <typename T>
__device__ __forceinline__ T WarpMax(T value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(kFullWarp, value);
#else
  return JoinOfWarp(value, [](T a, T b) { return Max(a, b); });
#endif
}

// The smallest value of the warp, for every lane. T as above.
template <typename T>
__device__ __forceinline__ T WarpMin(T value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(kFullWarp, value);
#else
  return JoinOfWarp(value, [](T a, T b) { return Min(a, b); });
#endif
}

// The sum of the values of this lane, whose number is `lane`, and all lower ones.
template <typename T>
__device__ __forceinline__ T SumUpToLane(T value, int lane) {
#pragma unroll
  for (int distance = 1; distance < kWarpLanes; distance *= 2) {
    const T other = __shfl_up_sync(kFullWarp, value, distance);
    if (lane >= distance) value += other;
  }
  return value;
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_RUNTIME_WARP_CUH_
