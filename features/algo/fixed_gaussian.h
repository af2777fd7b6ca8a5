// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// 7x7 Gaussian of standard deviation 2 in fixed point, as OpenCV smooths a whole 8-bit image:
// weights of 8 fractional bits, rows exact, one rounding at the end. features/algo/gaussian.h has
// the filter of cv::ORB, which differs.

#ifndef ORBSERVE_FEATURES_ALGO_FIXED_GAUSSIAN_H_
#define ORBSERVE_FEATURES_ALGO_FIXED_GAUSSIAN_H_

#include <cstdint>

#include "features/algo/gaussian.h"
#include "features/host_device.h"

namespace orbserve::algo {

// Weight at distance `i`, 0..3, of 256.
ORBSERVE_HOST_DEVICE constexpr int FixedGaussianTap(int i) {
  constexpr int tap[kGaussianRadiusPx + 1] = {56, 48, 34, 18};
  return tap[i];
}

// Weighted sum of seven neighbours. Number: int, or float, which is exact for sums of grey levels
// and for sums of those.
template <typename Number>
ORBSERVE_HOST_DEVICE inline Number FixedGaussianSum(
    const Number (&value)[2 * kGaussianRadiusPx + 1]) {
  Number sum = static_cast<Number>(FixedGaussianTap(0)) * value[kGaussianRadiusPx];
  for (int i = 1; i <= kGaussianRadiusPx; ++i) {
    sum += static_cast<Number>(FixedGaussianTap(i)) *
           (value[kGaussianRadiusPx - i] + value[kGaussianRadiusPx + i]);
  }
  return sum;
}

// Grey level from the sum over rows and columns, below 2^24.
ORBSERVE_HOST_DEVICE constexpr uint8_t FixedGaussianGrey(int sum) {
  return static_cast<uint8_t>((sum + 32768) >> 16);
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_FIXED_GAUSSIAN_H_
