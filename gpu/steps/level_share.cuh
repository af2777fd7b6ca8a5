// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// One list of work over all levels of a frame, handed out to warps: the amount of work of a level
// is known on the device only, and a grid for the largest possible level would be nearly empty.

#ifndef ORBSERVE_GPU_STEPS_LEVEL_SHARE_CUH_
#define ORBSERVE_GPU_STEPS_LEVEL_SHARE_CUH_

#include <cuda_runtime.h>

#include "features/options.h"
#include "gpu/runtime/warp.cuh"

namespace orbserve::gpu {

// Lane l knows level l: its items are [begin, end) of [0, total).
struct LevelShare {
  int begin;
  int end;
  int total;
};
static_assert(kMaxLevels <= kWarpLanes);

// `items`: of level `lane`, 0 in lanes without a level. All lanes of the warp take part.
__device__ __forceinline__ LevelShare ShareOfLevel(int items) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int end = SumUpToLane(items, lane);
  return {end - items, end, __shfl_sync(kFullWarp, end, kWarpLanes - 1)};
}

// The level that item `item` < total belongs to. All lanes take part and return the same.
__device__ __forceinline__ int LevelOf(const LevelShare& share, int item) {
  return __popc(__ballot_sync(kFullWarp, share.end <= item));
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_LEVEL_SHARE_CUH_
