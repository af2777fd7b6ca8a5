// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Orientations of a feature of SIFT: peaks of a histogram of gradient directions around it. Source:
// D. Lowe, "Distinctive Image Features from Scale-Invariant Keypoints", IJCV 2004, sec. 5. Single
// precision in the order and with the fused multiply-adds of cv::SIFT of OpenCV 4.6.0, built by GCC
// for AVX2 and FMA.

#ifndef ORBSERVE_FEATURES_ALGO_SIFT_ORIENTATION_H_
#define ORBSERVE_FEATURES_ALGO_SIFT_ORIENTATION_H_

#include <cstddef>

#include "features/algo/sift_functions.h"
#include "features/host_device.h"

namespace orbserve::algo {

// Directions of 10 degrees.
inline constexpr int kSiftDirections = 36;

// OpenCV handles so many samples at once. Those of an incomplete last group are accumulated with
// one rounding less.
inline constexpr int kSiftGroup = 8;

// Samples of a histogram that are in complete groups, of `count`.
ORBSERVE_HOST_DEVICE constexpr int SiftGrouped(int count) {
  return count / kSiftGroup * kSiftGroup;
}

// The square of samples around the pixel (x, y) of an image: rows y0 <= y < y1, columns x0 <= x <
// x1, row by row.
struct SiftOrientationWindow {
  int x = 0;
  int y = 0;
  int x0 = 0;
  int y0 = 0;
  int x1 = 0;
  int y1 = 0;
  float falloff = 0.0f;  // of the weight's exponent per squared distance in pixels

  ORBSERVE_HOST_DEVICE int count() const { return (x1 - x0) * (y1 - y0); }
};

// `scale` is that of the feature in pixels of this octave.
ORBSERVE_HOST_DEVICE inline SiftOrientationWindow SiftOrientationWindowOf(int x, int y, float scale,
                                                                          int width_px,
                                                                          int height_px) {
  const int radius = RoundToInt(4.5f * scale);
  const float sigma = 1.5f * scale;
  return {x,
          y,
          Max(x - radius, 1),
          Max(y - radius, 1),
          Min(x + radius + 1, width_px - 1),
          Min(y + radius + 1, height_px - 1),
          -1.0f / (2.0f * sigma * sigma)};
}

// Direction of a sample at angle `angle_deg`.
ORBSERVE_HOST_DEVICE inline int SiftDirection(float angle_deg) {
  const int bin = RoundToInt(angle_deg * (kSiftDirections / 360.0f));
  return bin >= kSiftDirections ? bin - kSiftDirections : bin;
}

// Adds one sample to the histogram.
ORBSERVE_HOST_DEVICE inline void AddSiftDirection(float angle_deg, float weight, float magnitude,
                                                  bool grouped, float* histogram) {
  float* bin = histogram + SiftDirection(angle_deg);
  *bin = grouped ? *bin + weight * magnitude : FusedMultiplyAdd(weight, magnitude, *bin);
}

// Fills `histogram` from the Gaussian image `pixels`, rows `pitch` floats apart.
ORBSERVE_HOST_DEVICE inline void SiftDirections(const float* pixels, ptrdiff_t pitch,
                                                const SiftOrientationWindow& window,
                                                float (&histogram)[kSiftDirections]) {
  for (float& bin : histogram) bin = 0.0f;
  const int count = window.count();
  int sample = 0;
  for (int v = window.y0; v < window.y1; ++v) {
    for (int u = window.x0; u < window.x1; ++u, ++sample) {
      const float* at = pixels + v * pitch + u;
      const float dx = at[1] - at[-1];
      const float dy = at[-pitch] - at[pitch];
      const int square = (u - window.x) * (u - window.x) + (v - window.y) * (v - window.y);
      AddSiftDirection(SiftAngleDegrees(dy, dx, count >= kSiftLongAngles),
                       SiftExp(static_cast<float>(square) * window.falloff), SiftMagnitude(dx, dy),
                       sample < SiftGrouped(count), histogram);
    }
  }
}

// Direction `i` of the histogram after smoothing by 1, 4, 6, 4, 1 sixteenths. The last four
// directions are no complete group and have another order of sums.
ORBSERVE_HOST_DEVICE inline float SmoothedSiftDirection(const float (&histogram)[kSiftDirections],
                                                        int i) {
  const auto at = [&](int place) { return histogram[(place + kSiftDirections) % kSiftDirections]; };
  const float outer = at(i - 2) + at(i + 2);
  const float inner = at(i - 1) + at(i + 1);
  if (i < SiftGrouped(kSiftDirections)) {
    return FusedMultiplyAdd(outer, 0.0625f, FusedMultiplyAdd(inner, 0.25f, at(i) * 0.375f));
  }
  return FusedMultiplyAdd(at(i), 0.375f, outer * 0.0625f + inner * 0.25f);
}

// Peaks are at least this share of the highest.
inline constexpr float kSiftPeakShare = 0.8f;

// The angle of the peak at direction `i` of a smoothed histogram, in degrees, [0, 360), clockwise
// as y points down; -1 where there is no peak of `least` or more.
ORBSERVE_HOST_DEVICE inline float SiftPeakAngle(const float (&smoothed)[kSiftDirections], int i,
                                                float least) {
  const float before = smoothed[i > 0 ? i - 1 : kSiftDirections - 1];
  const float at = smoothed[i];
  const float after = smoothed[i < kSiftDirections - 1 ? i + 1 : 0];
  if (!(at > before && at > after && at >= least)) return -1.0f;
  float bin = static_cast<float>(i) + 0.5f * (before - after) / (before - 2.0f * at + after);
  if (bin < 0.0f) {
    bin = bin + static_cast<float>(kSiftDirections);
  } else if (bin >= static_cast<float>(kSiftDirections)) {
    bin = bin - static_cast<float>(kSiftDirections);
  }
  const float angle = FusedMultiplyAdd(-bin, 360.0f / kSiftDirections, 360.0f);
  const float rest = angle - 360.0f;
  return (rest < 0.0f ? -rest : rest) < 0x1p-23f ? 0.0f : angle;
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_SIFT_ORIENTATION_H_
