// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_KERNELS_DESCRIBE_H_
#define ORBSERVE_GPU_KERNELS_DESCRIBE_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "features/algo/rbrief_pattern.h"
#include "gpu/kernels/layout.h"

namespace orbserve::gpu {

struct DescribeParams {
  BatchView batch;
  const algo::RBriefPair* pattern;  // device copy of algo::kRBriefPattern, 32-byte aligned
  bool orient;                      // detected features get an angle; else -1
  bool describe;
  // Slow path, frame 0 only: its ranked lists and how many were kept; null = as LaunchRank left
  // them in the batch.
  const uint64_t* const* large_ranked;  // device, [kMaxLevels]
  const int32_t* large_kept;            // device, [kMaxLevels]
};

// Angle, smoothing and descriptor of every ranked or given keypoint: records, descriptors and the
// report of each frame.
absl::Status LaunchDescribe(const DescribeParams& params, cudaStream_t stream);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_KERNELS_DESCRIBE_H_
