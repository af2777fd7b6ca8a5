// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Which CUDA device the calling thread works on.

#ifndef ORBSERVE_GPU_RUNTIME_DEVICE_H_
#define ORBSERVE_GPU_RUNTIME_DEVICE_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "gpu/runtime/check.h"

namespace orbserve::gpu {

// Makes `device` current for the calling thread, and leaves it so: whoever calls CUDA says first
// which device is meant. To make the former one current again would make a context on it, hundreds
// of megabytes on a device that the backend may have been told to leave alone, and device 0 is the
// former one of every new thread. Costs tens of nanoseconds where nothing changes. DEVICE_LOST when
// the device cannot be made current.
inline absl::Status UseDevice(int device) {
  int current = 0;
  absl::Status status = StatusFromCuda(cudaGetDevice(&current), "cudaGetDevice");
  if (status.ok() && current != device) {
    status = StatusFromCuda(cudaSetDevice(device), "cudaSetDevice");
  }
  return status;
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_RUNTIME_DEVICE_H_
