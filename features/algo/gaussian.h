// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// 7x7 Gaussian of standard deviation 2, separable: rows in single precision, then columns, then one
// rounding to grey levels. The order of operations and the fused multiply-adds are part of the
// result: they are those of OpenCV 4.6.0's float filter on a processor with AVX2.

#ifndef ORBSERVE_FEATURES_ALGO_GAUSSIAN_H_
#define ORBSERVE_FEATURES_ALGO_GAUSSIAN_H_

#include <cstddef>
#include <cstdint>

#include "features/host_device.h"

namespace orbserve::algo {

inline constexpr int kGaussianRadiusPx = 3;

// Weight at distance `i`, 0..3: exp(-i^2 / 8), normalised to sum 1 in double precision, then
// rounded.
ORBSERVE_HOST_DEVICE inline float GaussianTap(int i) {
  constexpr float tap[kGaussianRadiusPx + 1] = {0x1.ba95c0p-3f, 0x1.869472p-3f, 0x1.0c70fcp-3f,
                                                0x1.1f5f62p-4f};
  return tap[i];
}

// Row-filtered value from seven neighbours, left to right.
ORBSERVE_HOST_DEVICE inline float GaussianRow(const float (&pixel)[2 * kGaussianRadiusPx + 1]) {
  float sum = 0.0f;
  for (int i = 0; i <= 2 * kGaussianRadiusPx; ++i) {
    const int distance = i < kGaussianRadiusPx ? kGaussianRadiusPx - i : i - kGaussianRadiusPx;
    sum = FusedMultiplyAdd(pixel[i], GaussianTap(distance), sum);
  }
  return sum;
}
ORBSERVE_HOST_DEVICE inline float GaussianRow(const uint8_t (&pixel)[2 * kGaussianRadiusPx + 1]) {
  float grey[2 * kGaussianRadiusPx + 1];
  for (int i = 0; i <= 2 * kGaussianRadiusPx; ++i) grey[i] = static_cast<float>(pixel[i]);
  return GaussianRow(grey);
}

// Grey level from seven row-filtered values, top to bottom.
ORBSERVE_HOST_DEVICE inline uint8_t GaussianColumn(const float (&row)[2 * kGaussianRadiusPx + 1]) {
  float sum = GaussianTap(0) * row[kGaussianRadiusPx];
  for (int i = 1; i <= kGaussianRadiusPx; ++i) {
    sum = FusedMultiplyAdd(GaussianTap(i), row[kGaussianRadiusPx + i] + row[kGaussianRadiusPx - i],
                           sum);
  }
  return static_cast<uint8_t>(Clamp(RoundSmallToInt(sum), 0, 255));
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_GAUSSIAN_H_
