// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_STEPS_SIFT_SIFT_EXP_TABLE_CUH_
#define ORBSERVE_GPU_STEPS_SIFT_SIFT_EXP_TABLE_CUH_

#include <cuda_runtime.h>

#include "features/algo/sift_functions.h"

namespace orbserve::gpu {

// Tables in device memory. A table inside a function would be written to the stack of each thread.
namespace sift_tables {
static __device__ const algo::SiftExpEntries kExpEntries = algo::MakeSiftExpEntries();
static __device__ const algo::SiftPowers kPowers = {};
}  // namespace sift_tables

// The table of algo::SiftExp() in shared memory.
struct SiftExpTable {
  float entry[algo::kPowersOfTwo];

  // All threads of the block take part, at least as many as there are entries; they must meet
  // before they read.
  __device__ __forceinline__ void Fill() {
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < algo::kPowersOfTwo) entry[thread] = sift_tables::kExpEntries.entry[thread];
  }
  __device__ __forceinline__ float operator()(int i) const { return entry[i]; }
};

// The table of algo::SiftPowerOfTwo().
struct SiftPowerTable {
  __device__ __forceinline__ double operator()(int i) const {
    return sift_tables::kPowers.power[i];
  }
};

// 2^exponent, -126 to 127.
__device__ __forceinline__ float PowerOfTwo(int exponent) {
  return __int_as_float((exponent + 127) << 23);
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SIFT_SIFT_EXP_TABLE_CUH_
