// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Extrema of the scale space of SIFT: the test of a pixel against its 26 neighbours, and the
// quadratic fit that finds place, scale and contrast and rejects edges. Source: D. Lowe,
// "Distinctive Image Features from Scale-Invariant Keypoints", IJCV 2004, sec. 3 and 4. Single
// precision in the order and with the fused multiply-adds of cv::SIFT of OpenCV 4.6.0, built by GCC
// for AVX2 and FMA.

#ifndef ORBSERVE_FEATURES_ALGO_SIFT_EXTREMUM_H_
#define ORBSERVE_FEATURES_ALGO_SIFT_EXTREMUM_H_

#include <cstddef>
#include <cstdint>

#include "features/algo/sift_functions.h"
#include "features/algo/sift_scale_space.h"
#include "features/host_device.h"

namespace orbserve::algo {

// The Gaussian images of one octave, rows `pitch` floats apart. Difference l is image l + 1 less
// image l.
struct SiftOctaveView {
  const float* images[kSiftMaxLayers + kSiftExtraImages] = {};
  ptrdiff_t pitch = 0;
  int width_px = 0;
  int height_px = 0;

  ORBSERVE_HOST_DEVICE float Difference(int layer, int x, int y) const {
    return images[layer + 1][y * pitch + x] - images[layer][y * pitch + x];
  }
};

// These numbers decide which extrema become features.
struct SiftThresholds {
  int layers = 3;
  float contrast = 0.04f;
  float edge = 10.0f;
};

// The first test compares with this limit, which comes from the contrast threshold.
inline float SiftLeastDifference(double contrast, int layers) {
  return static_cast<float>(std::floor(0.5 * contrast / layers * 255));
}

// True if the difference `layer` at (x, y), which lies at least one pixel inside, exceeds the limit
// and is no less (or, if negative, no more) than all 26 neighbours.
ORBSERVE_HOST_DEVICE inline bool IsSiftExtremum(const SiftOctaveView& octave, int layer, int x,
                                                int y, float least_difference) {
  const float value = octave.Difference(layer, x, y);
  const bool positive = value > 0.0f;
  if ((positive ? value : -value) <= least_difference || value == 0.0f) return false;
  for (int l = layer - 1; l <= layer + 1; ++l) {
    for (int v = y - 1; v <= y + 1; ++v) {
      for (int u = x - 1; u <= x + 1; ++u) {
        const float other = octave.Difference(l, u, v);
        if (positive ? other > value : other < value) return false;
      }
    }
  }
  return true;
}

// An extremum between pixels: the pixel and layer whose fit converged, and the offset from them.
struct SiftExtremum {
  int x = 0;
  int y = 0;
  int layer = 0;
  float offset_x = 0.0f;
  float offset_y = 0.0f;
  float offset_layer = 0.0f;
  float response = 0.0f;  // absolute contrast, of grey levels in 0..1
};

// Fits of an extremum before it is given up.
inline constexpr int kSiftFits = 5;

// Moves the extremum to the pixel whose fit stays within half a pixel and half a layer, and fills
// in offsets and response. False where there is none or a threshold is not met; then `extremum` is
// of no use. `Octave` is SiftOctaveView or has its Difference() and its size.
template <typename Octave>
ORBSERVE_HOST_DEVICE inline bool RefineSiftExtremum(const Octave& octave,
                                                    const SiftThresholds& thresholds,
                                                    SiftExtremum* extremum) {
  constexpr float kGrey = 1.0f / 255.0f;
  constexpr float kSlope = kGrey * 0.5f;
  constexpr float kMixed = kGrey * 0.25f;
  constexpr float kTooFar = static_cast<float>(INT32_MAX / 3);
  int x = extremum->x;
  int y = extremum->y;
  int layer = extremum->layer;
  for (int fit = 0; fit < kSiftFits; ++fit) {
    float d[3][3][3];  // layer, row, column
    for (int l = 0; l < 3; ++l) {
      for (int v = 0; v < 3; ++v) {
        for (int u = 0; u < 3; ++u) {
          d[l][v][u] = octave.Difference(layer + l - 1, x + u - 1, y + v - 1);
        }
      }
    }
    const float centre = d[1][1][1];
    const float gx = (d[1][1][2] - d[1][1][0]) * kSlope;
    const float gy = (d[1][2][1] - d[1][0][1]) * kSlope;
    const float gs = (d[2][1][1] - d[0][1][1]) * kSlope;
    const float twice = centre * 2.0f;
    const float xx = (d[1][1][2] + d[1][1][0] - twice) * kGrey;
    const float yy = (d[1][2][1] + d[1][0][1] - twice) * kGrey;
    const float ss = (d[2][1][1] + d[0][1][1] - twice) * kGrey;
    const float xy = (d[1][2][2] - d[1][2][0] - d[1][0][2] + d[1][0][0]) * kMixed;
    const float xs = (d[2][1][2] - d[2][1][0] - d[0][1][2] + d[0][1][0]) * kMixed;
    const float ys = (d[2][2][1] - d[2][0][1] - d[0][2][1] + d[0][0][1]) * kMixed;

    // Cramer's rule. a * b - c * d below is one fused multiply-add after the product c * d.
    const float minor_xx = FusedMultiplyAdd(yy, ss, -(ys * ys));
    const float minor_xy = FusedMultiplyAdd(ss, xy, -(xs * ys));
    const float minor_xs = FusedMultiplyAdd(xy, ys, -(yy * xs));
    const float determinant =
        FusedMultiplyAdd(xs, minor_xs, FusedMultiplyAdd(xx, minor_xx, -(xy * minor_xy)));
    float sx = 0.0f;
    float sy = 0.0f;
    float sl = 0.0f;
    if (determinant != 0.0f) {
      const float inverse = 1.0f / determinant;
      const float ys_product = gs * yy;
      const float a = FusedMultiplyAdd(gy, ss, -(gs * ys));
      const float b = FusedMultiplyAdd(gy, ys, -ys_product);
      const float c = FusedMultiplyAdd(gs, xy, -(gy * xs));
      const float e = FusedMultiplyAdd(-gy, ys, ys_product);
      sx = inverse * FusedMultiplyAdd(xs, b, FusedMultiplyAdd(gx, minor_xx, -(xy * a)));
      sy = inverse * FusedMultiplyAdd(xs, c, FusedMultiplyAdd(xx, a, -(gx * minor_xy)));
      sl = inverse * FusedMultiplyAdd(gx, minor_xs, FusedMultiplyAdd(xx, e, -(xy * c)));
    }
    const float ox = -sx;
    const float oy = -sy;
    const float ol = -sl;
    const float ax = ox < 0.0f ? -ox : ox;
    const float ay = oy < 0.0f ? -oy : oy;
    const float al = ol < 0.0f ? -ol : ol;
    if (ax < 0.5f && ay < 0.5f && al < 0.5f) {
      float dot = gx * ox;
      dot = FusedMultiplyAdd(oy, gy, dot);
      dot = FusedMultiplyAdd(gs, ol, dot);
      const float contrast = FusedMultiplyAdd(centre, kGrey, dot * 0.5f);
      const float response = contrast < 0.0f ? -contrast : contrast;
      if (response * static_cast<float>(thresholds.layers) < thresholds.contrast) return false;
      const float trace = xx + yy;
      const float curvature = FusedMultiplyAdd(xx, yy, -(xy * xy));
      const float edge = thresholds.edge;
      if (curvature <= 0.0f || trace * trace * edge >= (edge + 1.0f) * (edge + 1.0f) * curvature) {
        return false;
      }
      *extremum = {x, y, layer, ox, oy, ol, response};
      return true;
    }
    // Also false for what is not a number.
    if (!(ax <= kTooFar && ay <= kTooFar && al <= kTooFar)) return false;
    x += RoundToInt(ox);
    y += RoundToInt(oy);
    layer += RoundToInt(ol);
    if (layer < 1 || layer > thresholds.layers || x < kSiftBorderPx ||
        x >= octave.width_px - kSiftBorderPx || y < kSiftBorderPx ||
        y >= octave.height_px - kSiftBorderPx) {
      return false;
    }
  }
  return false;
}

// Scale of a feature in pixels of its octave. `powers`: as of SiftPowerOfTwoBy().
template <typename Powers>
ORBSERVE_HOST_DEVICE inline float SiftScaleBy(const SiftExtremum& extremum, int layers, float sigma,
                                              const Powers& powers) {
  return sigma * SiftPowerOfTwoBy((static_cast<float>(extremum.layer) + extremum.offset_layer) /
                                      static_cast<float>(layers),
                                  powers);
}
ORBSERVE_HOST_DEVICE inline float SiftScale(const SiftExtremum& extremum, int layers, float sigma) {
  return SiftScaleBy(extremum, layers, sigma, [](int i) { return PowerOfTwo64th(i); });
}

// OpenCV's packing of octave, layer and offset of the layer into KeyPoint::octave. `octave` counts
// from 0, the first of the pyramid.
ORBSERVE_HOST_DEVICE inline int32_t PackSiftOctave(int octave, const SiftExtremum& extremum) {
  const int fraction = RoundToInt((static_cast<double>(extremum.offset_layer) + 0.5) * 255.0);
  return octave + (extremum.layer << 8) +
         static_cast<int32_t>(static_cast<uint32_t>(fraction) << 16);
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_SIFT_EXTREMUM_H_
