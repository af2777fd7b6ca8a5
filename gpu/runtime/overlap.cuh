// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Kernels that begin while the one before them in the stream ends ("programmatic dependent
// launch", compute capability 9.0 and later).

#ifndef ORBSERVE_GPU_RUNTIME_OVERLAP_CUH_
#define ORBSERVE_GPU_RUNTIME_OVERLAP_CUH_

#include <cuda_runtime.h>

#include <cstddef>

#include "absl/status/status.h"
#include "gpu/runtime/check.h"

namespace orbserve::gpu {

// Lets blocks of the next kernel begin as soon as all blocks of this one have begun or ended.
__device__ __forceinline__ void BeginNextKernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
// Waits until the kernel before this one is done. A kernel that may overlap must call it in a block
// at least, and before it reads what that one wrote, or writes anything itself. Without overlap it
// does nothing.
__device__ __forceinline__ void AwaitKernelBefore() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Launches a kernel. `overlaps`: it may begin while the one before it ends; that one must have been
// launched in the same stream, and all code be compiled for compute capability 9.0 or later.
// `shared_bytes`: dynamic shared memory of a block.
template <typename Params>
absl::Status LaunchKernel(void (*kernel)(Params), const char* name, dim3 grid, dim3 block,
                          bool overlaps, const Params& params, cudaStream_t stream,
                          size_t shared_bytes = 0) {
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = overlaps ? 1 : 0;
  return StatusFromCuda(cudaLaunchKernelEx(&config, kernel, params), name);
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_RUNTIME_OVERLAP_CUH_
