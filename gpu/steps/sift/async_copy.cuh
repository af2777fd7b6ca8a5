// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Copies from global to shared memory that pass no register: a thread starts many before it waits
// for all. Devices before compute capability 8.0 copy at once.

#ifndef ORBSERVE_GPU_STEPS_SIFT_ASYNC_COPY_CUH_
#define ORBSERVE_GPU_STEPS_SIFT_ASYNC_COPY_CUH_

#include <cuda_runtime.h>

#include <cstdint>

namespace orbserve::gpu {

// One float.
__device__ __forceinline__ void StartCopy(float* to, const float* from) {
#if __CUDA_ARCH__ >= 800
  const auto shared = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(from) : "memory");
#else
  *to = *from;
#endif
}

// Four floats at 16-byte boundaries.
__device__ __forceinline__ void StartCopyOfFour(float* to, const float* from) {
#if __CUDA_ARCH__ >= 800
  const auto shared = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
#else
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);
#endif
}

// Waits for the thread's own copies; those of others need a barrier afterwards.
__device__ __forceinline__ void AwaitCopies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SIFT_ASYNC_COPY_CUH_
