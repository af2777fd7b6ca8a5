// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_STEPS_GLOBAL_POINTER_CUH_
#define ORBSERVE_GPU_STEPS_GLOBAL_POINTER_CUH_

#include <cuda_runtime.h>

namespace orbserve::gpu {

// A pointer to device memory that was read from memory. The compiler recognises pointers in kernel
// parameters as such; without the hint it emits generic loads, which made ranking 15 % slower.
template <typename T>
__device__ __forceinline__ T* Global(T* pointer) {
  __builtin_assume(__isGlobal(pointer));
  return pointer;
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_GLOBAL_POINTER_CUH_
