// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/errors.h"
#include "gpu/gpu_backend.h"

namespace orbserve::gpu {

bool IsBuiltIn() { return false; }

bool SharesHostMemory(const std::vector<int>& /*devices*/) { return false; }

absl::StatusOr<std::unique_ptr<FeatureBackend>> CreateGpuBackend(const GpuBackendOptions&) {
  return MakeError(
      ErrorReason::kUnsupported,
      "backend cuda is not built into this program; allowed here: auto, cpu, cpu-reference");
}

}  // namespace orbserve::gpu
