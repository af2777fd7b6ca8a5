// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Whether this program has code that a device can run: machine code for its compute capability, or
// PTX that the driver translates.

#ifndef ORBSERVE_GPU_RUNTIME_KERNEL_IMAGE_H_
#define ORBSERVE_GPU_RUNTIME_KERNEL_IMAGE_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace orbserve::gpu {

// The compute capability that the kernels which the current device runs were compiled for, times
// ten (90 = 9.0): less than the device's own where they come from PTX. `major`, `minor`: the
// device's. UNIMPLEMENTED (UNSUPPORTED) when there are none for it.
absl::StatusOr<int> KernelArchitecture(int major, int minor);

// What asking the runtime for a kernel says: UNIMPLEMENTED (UNSUPPORTED) for the results that mean
// that it has no code for the device, else StatusFromCuda().
absl::Status StatusOfKernelImage(cudaError_t result, int major, int minor);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_RUNTIME_KERNEL_IMAGE_H_
