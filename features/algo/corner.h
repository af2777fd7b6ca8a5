// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Harris corner response in a 7x7 block.
// Source: C. Harris & M. Stephens, "A combined corner and edge detector", AVC 1988, sec. 4, with
// 3x3 Sobel gradients and k = 0.04.

#ifndef ORBSERVE_FEATURES_ALGO_CORNER_H_
#define ORBSERVE_FEATURES_ALGO_CORNER_H_

#include <cstddef>
#include <cstdint>

#include "features/host_device.h"

namespace orbserve::algo {

inline constexpr int kHarrisBlockPx = 7;
inline constexpr int kHarrisRadiusPx = kHarrisBlockPx / 2 + 1;  // pixels read around the point

// Sums over the block of the products of gradients. Integers: any order of summation will do.
// At most 49 * 1020^2, which fits.
struct GradientSums {
  int32_t xx;
  int32_t yy;
  int32_t xy;
};

// Sobel gradient at one pixel, weights 1 2 1, not normalised: -1020..1020.
ORBSERVE_HOST_DEVICE inline int SobelX(const uint8_t* p, ptrdiff_t pitch_bytes) {
  return (p[1] - p[-1]) * 2 + (p[1 - pitch_bytes] - p[-1 - pitch_bytes]) +
         (p[1 + pitch_bytes] - p[-1 + pitch_bytes]);
}
ORBSERVE_HOST_DEVICE inline int SobelY(const uint8_t* p, ptrdiff_t pitch_bytes) {
  return (p[pitch_bytes] - p[-pitch_bytes]) * 2 + (p[pitch_bytes - 1] - p[-pitch_bytes - 1]) +
         (p[pitch_bytes + 1] - p[-pitch_bytes + 1]);
}

// Sums round `centre`, rows `pitch_bytes` apart; reads kHarrisRadiusPx pixels in each direction.
ORBSERVE_HOST_DEVICE inline GradientSums SumGradients(const uint8_t* centre,
                                                      ptrdiff_t pitch_bytes) {
  GradientSums sums = {0, 0, 0};
  for (int y = -kHarrisBlockPx / 2; y <= kHarrisBlockPx / 2; ++y) {
    for (int x = -kHarrisBlockPx / 2; x <= kHarrisBlockPx / 2; ++x) {
      const uint8_t* p = centre + y * pitch_bytes + x;
      const int ix = SobelX(p, pitch_bytes);
      const int iy = SobelY(p, pitch_bytes);
      sums.xx += ix * ix;
      sums.yy += iy * iy;
      sums.xy += ix * iy;
    }
  }
  return sums;
}

inline constexpr float kHarrisSensitivity = 0.04f;  // k
// Grey levels and weights of the gradients, to the fourth power.
inline constexpr float kHarrisGradientScale = 1.0f / (4 * kHarrisBlockPx * 255.0f);
inline constexpr float kHarrisScale =
    kHarrisGradientScale * kHarrisGradientScale * kHarrisGradientScale * kHarrisGradientScale;

// det - k * trace^2 of the gradient matrix, scaled so that grey levels count from 0 to 1. Single
// precision, in this order, nothing fused; the sums exceed 2^24, so their conversion rounds.
ORBSERVE_HOST_DEVICE inline float HarrisResponse(const GradientSums& sums) {
  const float a = static_cast<float>(sums.xx);
  const float b = static_cast<float>(sums.yy);
  const float c = static_cast<float>(sums.xy);
  return (a * b - c * c - kHarrisSensitivity * (a + b) * (a + b)) * kHarrisScale;
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_CORNER_H_
