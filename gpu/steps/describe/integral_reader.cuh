// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Entries of the integral images that the step `integral` makes.

#ifndef ORBSERVE_GPU_STEPS_DESCRIBE_INTEGRAL_READER_CUH_
#define ORBSERVE_GPU_STEPS_DESCRIBE_INTEGRAL_READER_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/steps/describe/integral.h"

namespace orbserve::gpu {

// Entry (x, y) of the integral image of one level.
struct IntegralReader {
  const uint32_t* __restrict__ inner;
  const uint32_t* __restrict__ bases;
  int pitch;

  __device__ IntegralReader(const IntegralImages& images, int frame_index, int level)
      : inner(images.Inner(frame_index, level)),
        bases(images.Bases(frame_index, level)),
        pitch(images.level[level].pitch) {}

  __device__ uint32_t operator()(int x, int y) const { return At(x, y); }
  __device__ uint32_t At(int x, int y) const {
    const int strip = y / kIntegralStripRows;
    const int row = y % kIntegralStripRows;
    const int entry = kIntegralLead + x;
    const uint32_t base = bases[static_cast<int64_t>(strip) * pitch + entry];
    if (row == 0) return base;
    return base +
           inner[static_cast<int64_t>(strip * (kIntegralStripRows - 1) + row - 1) * pitch + entry];
  }
  // Sum of the square of `half_side` round (x, y).
  __device__ uint32_t Square(int x, int y, int half_side) const {
    const int left = x - half_side;
    const int right = x + half_side + 1;
    const int top = y - half_side;
    const int bottom = y + half_side + 1;
    return At(right, bottom) - At(right, top) - At(left, bottom) + At(left, top);
  }
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DESCRIBE_INTEGRAL_READER_CUH_
