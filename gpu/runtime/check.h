// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// CUDA's results as absl::Status. Every call and every launch is checked, in every build type.

#ifndef ORBSERVE_GPU_RUNTIME_CHECK_H_
#define ORBSERVE_GPU_RUNTIME_CHECK_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "features/errors.h"

namespace orbserve::gpu {

// OK for cudaSuccess. RESOURCE_EXHAUSTED (OUT_OF_MEMORY) when memory ran out, which the device
// survives; UNAVAILABLE (DEVICE_LOST) for everything else: after most of those errors no call of
// this process succeeds any more. `call` names what failed.
absl::Status StatusFromCuda(cudaError_t result, const char* call);

// Whether the launch just made by this thread was accepted. Clears the thread's error.
absl::Status CheckLaunch(const char* kernel);

// After a device is lost its memory cannot be given back: cudaFree would wait for a kernel that
// never ends, and the process is about to exit. Owners made from then on or before leak silently.
void LeakFromNowOn();
bool Leaks();

// For destructors, which cannot return: writes a failure to the log's place of last resort
// (standard error) and goes on. Says nothing about a device that is already lost.
void LogIfFailed(cudaError_t result, const char* call) noexcept;

}  // namespace orbserve::gpu

// Returns the status of a CUDA call from the enclosing function unless it succeeded.
#define ORBSERVE_CUDA_RETURN_IF_ERROR(call) \
  ORBSERVE_RETURN_IF_ERROR(::orbserve::gpu::StatusFromCuda((call), #call))

#endif  // ORBSERVE_GPU_RUNTIME_CHECK_H_
