// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Pyramid of ORB-SLAM3: scales that are products of one factor, and linear resampling with weights
// of 11 fractional bits. Results are truncated after the rows, truncated after the columns, then
// rounded:
//
//   source rows    a ---- b       h0 = (a * w0 + b * w1) >> 4
//                  |  *   |       h1 = (c * w0 + d * w1) >> 4
//                  c ---- d       *  = (((h0 * v0) >> 16) + ((h1 * v1) >> 16) + 2) >> 2
//
// It is OpenCV's INTER_LINEAR for 8 bits; features/algo/pyramid.h has its exact sibling.

#ifndef ORBSERVE_FEATURES_ALGO_LINEAR_RESIZE_H_
#define ORBSERVE_FEATURES_ALGO_LINEAR_RESIZE_H_

#include <cstdint>

#include "features/algo/pyramid.h"
#include "features/host_device.h"

namespace orbserve::algo {

inline constexpr int kLinearWeight = 2048;  // 1

// Scale of the level after one with `scale`. Powers of the factor differ from such products by a
// unit in the last place.
inline float NextLevelScale(float scale, float scale_factor) {
  return static_cast<float>(static_cast<double>(scale) * static_cast<double>(scale_factor));
}

// Differs from ResizeTapOf() in that both weights of kLinearWeight are rounded by themselves: their
// sum can be off by 1. The position is rounded to single precision.
ORBSERVE_HOST_DEVICE inline ResizeTap LinearTapOf(int source_side, int destination_side,
                                                  int index) {
  const double step =
      1.0 / (static_cast<double>(destination_side) / static_cast<double>(source_side));
  const float position = static_cast<float>((index + 0.5) * step - 0.5);
  int first = static_cast<int>(position);
  if (static_cast<float>(first) > position) --first;  // floor: truncation went up
  if (first < 0) return {0, 0, kLinearWeight};
  if (first >= source_side - 1) return {source_side - 1, 0, kLinearWeight};
  const float fraction = position - static_cast<float>(first);
  return {first, RoundToInt(fraction * static_cast<float>(kLinearWeight)),
          RoundToInt((1.0f - fraction) * static_cast<float>(kLinearWeight))};
}

// Two neighbours in a row: about 128 times the grey level, 0..32655.
ORBSERVE_HOST_DEVICE inline uint32_t LinearRow(uint32_t left, uint32_t right, uint32_t left_weight,
                                               uint32_t right_weight) {
  return (left * left_weight + right * right_weight) >> 4;
}

// Two results of LinearRow, one above the other.
ORBSERVE_HOST_DEVICE inline uint8_t LinearColumn(uint32_t top, uint32_t bottom, uint32_t top_weight,
                                                 uint32_t bottom_weight) {
  return static_cast<uint8_t>((((top * top_weight) >> 16) + ((bottom * bottom_weight) >> 16) + 2) >>
                              2);
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_LINEAR_RESIZE_H_
