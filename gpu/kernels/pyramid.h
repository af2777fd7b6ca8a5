// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_KERNELS_PYRAMID_H_
#define ORBSERVE_GPU_KERNELS_PYRAMID_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "gpu/kernels/layout.h"

namespace orbserve::gpu {

struct ResizeParams {
  BatchView batch;
  int32_t source_level;  // one level for all destinations
  int32_t first_level;   // destinations: levels [first_level, last_level]
  int32_t last_level;
  bool masks;  // the masks instead of the images; a mask pixel counts where all its sources did
};

// Makes levels of every frame of the batch from one other level (algo::ResizeRow, ResizeColumn).
absl::Status LaunchResize(const ResizeParams& params, cudaStream_t stream);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_KERNELS_PYRAMID_H_
