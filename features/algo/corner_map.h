// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Corner maps: a response for every pixel from the gradients in the 7x7 pixels round it.
//
//   Prewitt gradients     gx  -1 0 1    gy  -1 -1 -1       Sums over 7x7, all weights 1:
//                             -1 0 1         0  0  0          xx = sum gx^2, yy = sum gy^2,
//                             -1 0 1         1  1  1          xy = sum gx * gy
//
// |gx|, |gy| <= 765, so that xx, yy and |xy| are at most 49 * 765^2 = 28,676,025, which fits int32
// in any order of summation. A map is defined kCornerMapReachPx pixels away from the sides of the
// level and farther; elsewhere the response is 0. (HARRIS as the score of a FAST corner is a
// different value: features/algo/corner.h.) Sources: L. Teixeira, W. Celes & M. Gattass,
// "Accelerated corner-detector algorithms", BMVC 2008, sec. 4.1 (Prewitt); C. Harris & M. Stephens,
// AVC 1988, sec. 4; J. Shi & C. Tomasi, "Good features to track", CVPR 1994, sec. 4. The paper
// names no window; 7x7 is that of Birchfield's KLT.

#ifndef ORBSERVE_FEATURES_ALGO_CORNER_MAP_H_
#define ORBSERVE_FEATURES_ALGO_CORNER_MAP_H_

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "features/algo/corner.h"
#include "features/host_device.h"

namespace orbserve::algo {

inline constexpr int kCornerMapWindowPx = 7;
inline constexpr int kCornerMapReachPx = kCornerMapWindowPx / 2 + 1;

// Prewitt gradient at one pixel, not normalised: -765..765.
ORBSERVE_HOST_DEVICE inline int PrewittX(const uint8_t* p, ptrdiff_t pitch_bytes) {
  return (p[1] - p[-1]) + (p[1 - pitch_bytes] - p[-1 - pitch_bytes]) +
         (p[1 + pitch_bytes] - p[-1 + pitch_bytes]);
}
ORBSERVE_HOST_DEVICE inline int PrewittY(const uint8_t* p, ptrdiff_t pitch_bytes) {
  return (p[pitch_bytes] - p[-pitch_bytes]) + (p[pitch_bytes - 1] - p[-pitch_bytes - 1]) +
         (p[pitch_bytes + 1] - p[-pitch_bytes + 1]);
}

// Sums round `centre`, rows `pitch_bytes` apart; reads kCornerMapReachPx pixels in each direction.
ORBSERVE_HOST_DEVICE inline GradientSums SumPrewitt(const uint8_t* centre, ptrdiff_t pitch_bytes) {
  GradientSums sums = {0, 0, 0};
  for (int y = -kCornerMapWindowPx / 2; y <= kCornerMapWindowPx / 2; ++y) {
    for (int x = -kCornerMapWindowPx / 2; x <= kCornerMapWindowPx / 2; ++x) {
      const uint8_t* p = centre + y * pitch_bytes + x;
      const int gx = PrewittX(p, pitch_bytes);
      const int gy = PrewittY(p, pitch_bytes);
      sums.xx += gx * gx;
      sums.yy += gy * gy;
      sums.xy += gx * gy;
    }
  }
  return sums;
}

// 25 * (det - k * trace^2) of the gradient matrix with k = 1/25 exactly, in integers below 2.1e16,
// then rounded once to single precision. Negative on edges.
ORBSERVE_HOST_DEVICE inline float HarrisMapResponse(const GradientSums& sums) {
  const int64_t a = sums.xx;
  const int64_t b = sums.yy;
  const int64_t c = sums.xy;
  return static_cast<float>(25 * (a * b - c * c) - (a + b) * (a + b));
}

// Largest value of SquareRootFloor(): the trace of a gradient matrix whose sums are the largest.
inline constexpr int32_t kMaxSquareRoot = 2 * kCornerMapWindowPx * kCornerMapWindowPx * 765 * 765;

// Largest s with s^2 <= value, for values below (kMaxSquareRoot + 1)^2. `about`: the value, off by
// 2^-22 of it at most. `low_bits`: of the value. The estimate of the root, itself off by 2^-23 of
// it, so is off by less than 15, and one step of Newton's method brings it to less than 1. What is
// missing from the square so fits 32 bits, which are all that need be computed.
ORBSERVE_HOST_DEVICE inline int32_t SquareRootFloor(float about, uint32_t low_bits) {
  if (about == 0.0f) return 0;
  const float estimate = RoughSquareRoot(about);
  auto root = static_cast<uint32_t>(RoundToInt(estimate));
  const auto missing = static_cast<int32_t>(low_bits - root * root);
  root += static_cast<uint32_t>(
      RoundToInt(RoughQuotient(static_cast<float>(missing), 2.0f * estimate)));
  if (static_cast<int32_t>(low_bits - root * root) < 0) --root;
  return static_cast<int32_t>(root);
}

// The smaller eigenvalue of the gradient matrix, its root rounded down to an integer: within 0.5 of
// the real value. Never negative.
ORBSERVE_HOST_DEVICE inline float ShiTomasiMapResponse(const GradientSums& sums) {
  const int32_t difference = sums.xx - sums.yy;
  const int32_t twice_xy = 2 * sums.xy;
  const auto difference_bits = static_cast<uint32_t>(difference);
  const auto twice_xy_bits = static_cast<uint32_t>(twice_xy);
  const auto a = static_cast<float>(difference);
  const auto b = static_cast<float>(twice_xy);
  const int32_t root = SquareRootFloor(
      a * a + b * b, difference_bits * difference_bits + twice_xy_bits * twice_xy_bits);
  return static_cast<float>(sums.xx + sums.yy - root) * 0.5f;
}

// Responses above this threshold are candidates; `top` is the largest response of the frame, over
// all levels, inside border and mask. A frame whose top is not above 0 has no candidates. A maximum
// is the same in any order: take it over OrderedBits() (features/algo/order.h).
ORBSERVE_HOST_DEVICE inline float QualityThreshold(float quality_level, float top) {
  return quality_level * top;
}

// True if a response inside border and mask makes its pixel a candidate.
ORBSERVE_HOST_DEVICE inline bool IsCandidate(float response, float quality_level, float top) {
  return top > 0.0f && response > QualityThreshold(quality_level, top);
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_CORNER_MAP_H_
