// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_KERNELS_RANK_H_
#define ORBSERVE_GPU_KERNELS_RANK_H_

#include <cuda_runtime_api.h>

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu/kernels/layout.h"

namespace orbserve::gpu {

struct RankParams {
  BatchView batch;
  bool all_levels;  // the second cut is one for all levels (FrameParams::second_cut[0])
};

// The second cut, by response, and the order of what it leaves: survivors of every (frame, level)
// in rank order, and how many were kept. Levels with more than kMaxRanked survivors are left alone.
absl::Status LaunchRank(const RankParams& params, cudaStream_t stream);

// The slow path, for one frame whose survivors are too many for LaunchRank.
struct LargeRankParams {
  const uint64_t* survivors[kMaxLevels];  // per level, in any order
  int32_t survivor_count[kMaxLevels];
  int32_t second_cut[kMaxLevels];
  int32_t levels;
  bool all_levels;
  uint64_t* sorted[kMaxLevels];  // room for survivor_count each
  int32_t* kept;                 // device, [kMaxLevels]
  uint8_t* scratch;
  size_t scratch_bytes;
};

// Scratch that sorting `count` survivors takes.
absl::StatusOr<size_t> LargeRankScratchBytes(int count);
absl::Status LaunchLargeRank(const LargeRankParams& params, cudaStream_t stream);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_KERNELS_RANK_H_
