// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Angle of one keypoint, by one warp, straight from the level. Every lane returns it.

#ifndef ORBSERVE_GPU_STEPS_DESCRIBE_ORIENTATION_CUH_
#define ORBSERVE_GPU_STEPS_DESCRIBE_ORIENTATION_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "features/algo/arc_middle.h"
#include "features/algo/fast.h"
#include "features/algo/orientation.h"
#include "features/algo/rbrief32.h"
#include "features/host_device.h"
#include "gpu/runtime/warp.cuh"

namespace orbserve::gpu {

// Direction to the middle of the arc (features/algo/arc_middle.h). Lanes i and i + 16 have ring
// pixel i; the lower half of the warp looks for a bright arc, the upper half for a dark one. The
// corner's own score comes from the ring again, because the rank key holds it for one kind of
// response only. The direction is computed: that takes less time than a table in global memory.
__device__ __forceinline__ float ArcMiddleAngle(const uint8_t* __restrict__ image, int pitch, int x,
                                                int y, int arc_length) {
  constexpr int kRing = algo::kFastRingPixels;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int i = lane % kRing;
  const uint8_t* centre = image + static_cast<int64_t>(y) * pitch + x;
  const int brighter =
      centre[algo::FastRingY(i) * pitch + algo::FastRingX(i)] - static_cast<int>(*centre);
  const int difference = lane < kRing ? brighter : -brighter;
  const auto further = [i](int value, int pixels) {
    return __shfl_sync(kFullWarp, value, (i + pixels) % kRing, kRing);
  };
  int least = Min(difference, further(difference, 1));  // of the pixels from i on
  least = Min(least, further(least, 2));
  least = Min(least, further(least, 4));
  least = Min(least, further(least, arc_length - 8));
  const int score = WarpMax(least) - 1;
  const unsigned bits = __ballot_sync(kFullWarp, difference > score);
  const uint8_t bright = algo::ArcDirectionOf(bits & 0xffffu);
  return algo::ArcDirectionAngle(
      bright != algo::kNoArcDirection ? bright : algo::ArcDirectionOf(bits >> 16));
}

// Intensity centroid of the disc (features/algo/orientation.h); lane v + 15 takes row v.
__device__ __forceinline__ float CentroidAngle(const uint8_t* __restrict__ image, int pitch, int x,
                                               int y) {
  constexpr int kRadius = algo::kCentroidRadiusPx;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int v = lane - kRadius;
  int moment_x = 0;
  int moment_y = 0;
  if (v <= kRadius) {
    const int half_width = algo::CentroidHalfWidth(v < 0 ? -v : v);
    const uint8_t* row = image + static_cast<int64_t>(y + v) * pitch + x;
    int sum = 0;
    for (int u = -half_width; u <= half_width; ++u) {
      moment_x += u * row[u];
      sum += row[u];
    }
    moment_y = v * sum;
  }
  return algo::CentroidAngleDegrees({WarpSum(moment_x), WarpSum(moment_y)});
}

// Intensity centroid of the patch of 10x10 pixels (features/algo/rbrief32.h); lane i takes pixels
// i, i + 32, i + 64 and i + 96 of the 100.
__device__ __forceinline__ float PatchCentroidAngle(const uint8_t* __restrict__ image, int pitch,
                                                    int x, int y) {
  constexpr int kPixels = algo::kPatchSidePx * algo::kPatchSidePx;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const uint8_t* corner =
      image + static_cast<int64_t>(y - algo::kPatchTopPx) * pitch + x - algo::kPatchLeftPx;
  int moment_x = 0;
  int moment_y = 0;
#pragma unroll
  for (int first = 0; first < kPixels; first += kWarpLanes) {
    const int pixel = first + lane;
    if (pixel >= kPixels) break;
    const int column = pixel % algo::kPatchSidePx;
    const int row = pixel / algo::kPatchSidePx;
    const int grey = corner[row * pitch + column];
    moment_x += (2 * (column - algo::kPatchLeftPx) - 1) * grey;
    moment_y += (2 * (row - algo::kPatchTopPx) + 1) * grey;
  }
  return algo::CentroidAngleDegrees({WarpSum(moment_x), WarpSum(moment_y)});
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DESCRIBE_ORIENTATION_CUH_
