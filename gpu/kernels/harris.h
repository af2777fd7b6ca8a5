// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_KERNELS_HARRIS_H_
#define ORBSERVE_GPU_KERNELS_HARRIS_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "gpu/kernels/layout.h"

namespace orbserve::gpu {

struct SurvivorParams {
  BatchView batch;
  bool harris;  // responses are Harris values; else FAST scores
};

// The first cut, by FAST score, and the response of what it leaves: rank keys in any order and
// their number per (frame, level).
absl::Status LaunchSurvivors(const SurvivorParams& params, cudaStream_t stream);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_KERNELS_HARRIS_H_
