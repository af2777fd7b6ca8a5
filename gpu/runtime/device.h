// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Which CUDA device the calling thread works on.

#ifndef ORBSERVE_GPU_RUNTIME_DEVICE_H_
#define ORBSERVE_GPU_RUNTIME_DEVICE_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "gpu/runtime/check.h"

namespace orbserve::gpu {

// Makes `device` current for the calling thread; the former one is current again when this ends.
// Costs tens of nanoseconds where nothing changes.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device) {
    status_ = StatusFromCuda(cudaGetDevice(&former_), "cudaGetDevice");
    if (status_.ok() && former_ != device) {
      status_ = StatusFromCuda(cudaSetDevice(device), "cudaSetDevice");
      changed_ = status_.ok();
    }
  }
  ~DeviceGuard() {
    if (changed_) LogIfFailed(cudaSetDevice(former_), "cudaSetDevice");
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

  // DEVICE_LOST when the device could not be made current.
  const absl::Status& status() const { return status_; }

 private:
  int former_ = 0;
  bool changed_ = false;
  absl::Status status_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_RUNTIME_DEVICE_H_
