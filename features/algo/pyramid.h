// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Geometry of the pyramid and the exact-linear resampling that makes one level from another.
//
// Level l is 1 / scale[l] of level 0. Each sample is a weighted mean of four with weights of 8
// fractional bits, rounded once at the end, so that integers give one answer everywhere:
//
//   source rows    a ---- b       h0 = a * (256 - wx) + b * wx          (16 bits, exact)
//                  |  *   |       h1 = c * (256 - wx) + d * wx
//                  c ---- d       *  = (h0 * (256 - wy) + h1 * wy + 2^15) >> 16

#ifndef ORBSERVE_FEATURES_ALGO_PYRAMID_H_
#define ORBSERVE_FEATURES_ALGO_PYRAMID_H_

#include <cmath>
#include <cstdint>

#include "features/host_device.h"

namespace orbserve::algo {

// Scale of `level`, the factor from its pixels to those of level 0. Host only: tables are made once
// and handed to devices, as `pow` differs between libraries.
inline float LevelScale(float scale_factor, int level) {
  return static_cast<float>(std::pow(static_cast<double>(scale_factor), level));
}

// Side of a level with `scale`, from the side of level 0. 0 when the level does not exist.
ORBSERVE_HOST_DEVICE inline int LevelSide(int level_zero_side_px, float scale) {
  const float inverse = 1.0f / scale;
  return RoundToInt(static_cast<float>(level_zero_side_px) * inverse);
}

// Where a destination sample lies between its two source samples `first` and `first + 1`.
struct ResizeTap {
  int32_t first;
  int32_t weight;  // of sample first + 1, of 256; 0 where only `first` counts
  // Weight of `first` where the two need not add up (features/algo/linear_resize.h).
  int32_t first_weight = 0;
};

// Tap of destination sample `index` when `source_side` samples become `destination_side`, pixel
// centres at halves. Ends are clamped. Both sides >= 1.
ORBSERVE_HOST_DEVICE inline ResizeTap ResizeTapOf(int source_side, int destination_side,
                                                  int index) {
  const double ratio =
      1.0 / (static_cast<double>(destination_side) / static_cast<double>(source_side));
  const double position = ratio * (index + 0.5) - 0.5;
  int first = static_cast<int>(position);
  if (static_cast<double>(first) > position) --first;  // floor: truncation went up
  if (first < 0) return {0, 0};
  if (first >= source_side - 1) return {source_side - 1, 0};
  return {first, RoundToInt((position - first) * 256.0)};
}

// Two neighbours in a row. The result is 256 times the grey level, 0..65280.
ORBSERVE_HOST_DEVICE inline uint32_t ResizeRow(uint32_t left, uint32_t right, uint32_t weight) {
  return left * (256 - weight) + right * weight;
}

// Two results of ResizeRow, one above the other.
ORBSERVE_HOST_DEVICE inline uint8_t ResizeColumn(uint32_t top, uint32_t bottom, uint32_t weight) {
  return static_cast<uint8_t>((top * (256 - weight) + bottom * weight + 32768) >> 16);
}

// Masks are resampled like images; afterwards a pixel counts only where all its sources did.
ORBSERVE_HOST_DEVICE inline uint8_t LevelMask(uint8_t resized) {
  return resized == 255 ? uint8_t{255} : uint8_t{0};
}

// Coordinate `position`, any integer, mirrored into [0, side) without repeating the edge sample
// ("reflect 101"). `side` >= 1.
ORBSERVE_HOST_DEVICE inline int Reflect101(int position, int side) {
  if (side == 1) return 0;
  while (position < 0 || position >= side) {
    position = position < 0 ? -position : 2 * (side - 1) - position;
  }
  return position;
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_PYRAMID_H_
