// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Orientation of a keypoint: the direction from its centre to the intensity centroid of a disc.
// Source: E. Rublee et al., "ORB: an efficient alternative to SIFT or SURF", ICCV 2011, sec. 3.2.

#ifndef ORBSERVE_FEATURES_ALGO_ORIENTATION_H_
#define ORBSERVE_FEATURES_ALGO_ORIENTATION_H_

#include <cstddef>
#include <cstdint>

#include "features/host_device.h"

namespace orbserve::algo {

inline constexpr int kCentroidRadiusPx = 15;

// Half width of the disc in row `v`, 0..15: it covers |u| <= CentroidHalfWidth(|v|), 749 pixels.
ORBSERVE_HOST_DEVICE constexpr int CentroidHalfWidth(int v) {
  constexpr int8_t half_width[kCentroidRadiusPx + 1] = {15, 15, 15, 15, 14, 14, 14, 13,
                                                        13, 12, 11, 10, 9,  8,  6,  3};
  return half_width[v];
}

// First moments of the grey levels about the centre. Integers: any order of summation will do.
struct Moments {
  int32_t x;  // sum of u * grey
  int32_t y;  // sum of v * grey
};

// Moments of the disc round `centre`, rows `pitch_bytes` apart.
ORBSERVE_HOST_DEVICE inline Moments CentroidMoments(const uint8_t* centre, ptrdiff_t pitch_bytes) {
  Moments moments = {0, 0};
  for (int v = -kCentroidRadiusPx; v <= kCentroidRadiusPx; ++v) {
    const int half_width = CentroidHalfWidth(v < 0 ? -v : v);
    const uint8_t* row = centre + v * pitch_bytes;
    int row_sum = 0;
    for (int u = -half_width; u <= half_width; ++u) {
      moments.x += u * row[u];
      row_sum += row[u];
    }
    moments.y += v * row_sum;
  }
  return moments;
}

// Figures of FastAtan2Degrees(), here for its SIMD twin too.
struct FastAtan2 {
  static constexpr float kDegrees = static_cast<float>(180.0 / 3.14159265358979323846);
  static constexpr float kP1 = 0.9997878412794807f * kDegrees;
  static constexpr float kP3 = -0.3258083974640975f * kDegrees;
  static constexpr float kP5 = 0.1555786518463281f * kDegrees;
  static constexpr float kP7 = -0.04432655554792128f * kDegrees;
  static constexpr float kEpsilon = 0x1p-52f;  // keeps 0 / 0 away
};

// Angle of the vector (x, y) in degrees, [0, 360), clockwise as y points down; 0 for the null
// vector. Odd polynomial of degree 7 in the smaller quotient, error below 0.01 degrees; single
// precision, in this order, nothing fused. The figures are those of OpenCV's fastAtan2 (4.6.0,
// Apache-2.0).
ORBSERVE_HOST_DEVICE inline float FastAtan2Degrees(float y, float x) {
  const float ax = x < 0.0f ? -x : x;
  const float ay = y < 0.0f ? -y : y;
  const float c = Min(ax, ay) / (Max(ax, ay) + FastAtan2::kEpsilon);
  const float c2 = c * c;
  float angle =
      (((FastAtan2::kP7 * c2 + FastAtan2::kP5) * c2 + FastAtan2::kP3) * c2 + FastAtan2::kP1) * c;
  if (ax < ay) angle = 90.0f - angle;
  if (x < 0.0f) angle = 180.0f - angle;
  if (y < 0.0f) angle = 360.0f - angle;
  return angle;
}

ORBSERVE_HOST_DEVICE inline float CentroidAngleDegrees(const Moments& moments) {
  return FastAtan2Degrees(static_cast<float>(moments.y), static_cast<float>(moments.x));
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_ORIENTATION_H_
