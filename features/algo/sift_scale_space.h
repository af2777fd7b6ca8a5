// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Scale space of SIFT: octaves of Gaussian images in single precision, from which differences of
// neighbours are taken. Source: D. Lowe, "Distinctive Image Features from Scale-Invariant
// Keypoints", IJCV 2004, sec. 3. Order of operations, rounding and fused multiply-adds are those of
// cv::SIFT of OpenCV 4.6.0 on a processor with AVX2 and FMA.
//
// Octave 0 of the pyramid is the image doubled in size (first octave -1) or the image itself (0).
// Each octave has `layers` + 3 images; the next begins with every other pixel of image `layers`.
// Image i is image i - 1 blurred; image 0 of octave 0 is the image blurred once.

#ifndef ORBSERVE_FEATURES_ALGO_SIFT_SCALE_SPACE_H_
#define ORBSERVE_FEATURES_ALGO_SIFT_SCALE_SPACE_H_

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "features/algo/sift_functions.h"
#include "features/host_device.h"

namespace orbserve::algo {

// Images of an octave beyond the layers in which features are found: one difference below and one
// above those, and one image more than differences.
inline constexpr int kSiftExtraImages = 3;

// Most layers of an octave in which features are found.
inline constexpr int kSiftMaxLayers = 8;

// Features keep this distance to the edges of their octave.
inline constexpr int kSiftBorderPx = 5;

// Octaves of a pyramid whose first has `width_px` x `height_px` > 0 pixels:
// rint(log2(smaller side) - 2), one more after doubling. By integers, as no side is near a
// half-integer power of two.
ORBSERVE_HOST_DEVICE constexpr int SiftOctaves(int width_px, int height_px, int first_octave) {
  const int64_t side = Min(width_px, height_px);
  int log_of_square = 0;
  while (side * side >> (log_of_square + 1) != 0) ++log_of_square;
  return Max(0, (log_of_square + 1) / 2 - 2 - first_octave);
}

// ---- On the host, once per plan ----

// Blur that leads to image `image` > 0 of an octave.
inline double SiftSigma(double sigma, int layers, int image) {
  const double factor = std::pow(2.0, 1.0 / layers);
  const double before = std::pow(factor, static_cast<double>(image - 1)) * sigma;
  const double after = before * factor;
  return std::sqrt(after * after - before * before);
}

// Blur of the first image: a camera's blur of half a pixel is there already.
inline double SiftFirstSigma(double sigma, int first_octave) {
  const float wanted = static_cast<float>(sigma);
  const float has = first_octave < 0 ? 1.0f : 0.25f;
  return std::sqrt(Max(wanted * wanted - has, 0.01f));
}

// Most taps on either side of the centre: those of the last image of an octave with one layer and
// kSiftMaxSigma.
inline constexpr double kSiftMaxSigma = 4.0;
inline constexpr int kSiftMaxRadius = 111;

// Taps on either side of the centre: 0 = the image is copied.
inline int SiftBlurRadius(double sigma) {
  return (static_cast<int>(std::rint(sigma * 8 + 1)) | 1) / 2;
}

// e^x in double precision for -700 < x <= 0, as OpenCV makes the taps. Nothing is fused.
inline double SiftTapExp(double x) {
  constexpr double kA0 = 0x1.5e7aa1566c2a4p-10 / kSiftExpScale;
  constexpr double kA1 = 0x1.3b2a72b4f3cd3p-7 / kSiftExpScale;
  constexpr double kA2 = 0x1.c6b08d81fec75p-5 / kSiftExpScale;
  constexpr double kA3 = 0x1.ebfbdff82a45ap-3 / kSiftExpScale;
  constexpr double kA4 = 0x1.62e42fefa39f1p-1 / kSiftExpScale;
  constexpr double kA5 = 1.0 / kSiftExpScale;
  const double scaled = x * (0x1.71547652b82fep0 * kPowersOfTwo);
  const int whole = RoundToInt(scaled);
  const double rest = (scaled - whole) * (1.0 / kPowersOfTwo);
  const double power = std::ldexp(1.0, whole >> kPowersOfTwoBits);
  return power * kSiftExpScale * PowerOfTwo64th(whole & (kPowersOfTwo - 1)) *
         (((((kA0 * rest + kA1) * rest + kA2) * rest + kA3) * rest + kA4) * rest + kA5);
}

// Writes the taps at distance 0 to SiftBlurRadius(sigma); their sum over both sides is 1.
inline void MakeSiftTaps(double sigma, float* taps) {
  const int radius = SiftBlurRadius(sigma);
  const double scale = -0.125 / (sigma * sigma);
  double sum = 0.0;
  for (int i = radius; i > 0; --i) sum += SiftTapExp(static_cast<double>(4 * i * i) * scale);
  const double factor = 1.0 / (sum * 2.0 + 1.0);
  taps[0] = static_cast<float>(factor);
  for (int i = 1; i <= radius; ++i) {
    taps[i] = static_cast<float>(SiftTapExp(static_cast<double>(4 * i * i) * scale) * factor);
  }
}

// ---- Pixels ----

// Place inside 0..count - 1 that stands for `place` beyond it: mirrored at the outermost pixels, as
// often as needed.
ORBSERVE_HOST_DEVICE inline int SiftMirror(int place, int count) {
  if (count == 1) return 0;
  while (place < 0 || place >= count) place = place < 0 ? -place : 2 * count - 2 - place;
  return place;
}

// Pixels of the doubled image have weights 3/4 and 1/4 for the nearest and the next row and column.
struct SiftDoubledPlace {
  int near = 0;
  int far = 0;
};
ORBSERVE_HOST_DEVICE inline SiftDoubledPlace SiftDoubledPlaceOf(int place, int count) {
  const int near = place / 2;
  return {near, Clamp(near + (place % 2 != 0 ? 1 : -1), 0, count - 1)};
}
// Between two pixels of a row, or two such values of a column: sixteenths of a grey level, exact in
// any order.
ORBSERVE_HOST_DEVICE inline float SiftDoubledValue(float near, float far) {
  return near * 0.75f + far * 0.25f;
}

ORBSERVE_HOST_DEVICE inline float SiftDoubledPixel(const uint8_t* pixels, ptrdiff_t pitch_bytes,
                                                   int width_px, int height_px, int x, int y) {
  const SiftDoubledPlace in_row = SiftDoubledPlaceOf(x, width_px);
  const SiftDoubledPlace in_column = SiftDoubledPlaceOf(y, height_px);
  const auto across = [&](int row) {
    const uint8_t* const at = pixels + row * pitch_bytes;
    return SiftDoubledValue(at[in_row.near], at[in_row.far]);
  };
  return SiftDoubledValue(across(in_column.near), across(in_column.far));
}

// OpenCV's rows of kernels of 3 and 5 taps use their symmetry; an odd column at the end of such a
// row has another order of sums.
inline constexpr int kSiftSmallRadius = 2;
inline constexpr int kSiftRowVector = 8;

// Row-filtered value at `centre`, around which 2 * radius + 1 values can be read. `last_odd`: the
// last column of a row of odd width that is no multiple of kSiftRowVector plus seven others.
ORBSERVE_HOST_DEVICE inline float SiftBlurRow(const float* centre, const float* taps, int radius,
                                              bool last_odd) {
  if (radius > kSiftSmallRadius) {
    float sum = centre[-radius] * taps[radius];
    for (int i = -radius + 1; i <= radius; ++i) {
      sum = FusedMultiplyAdd(centre[i], taps[i < 0 ? -i : i], sum);
    }
    return sum;
  }
  if (radius == 0) return centre[0];
  if (last_odd) {
    float sum = centre[0] * taps[0];
    for (int i = 1; i <= radius; ++i) {
      sum = FusedMultiplyAdd(centre[i] + centre[-i], taps[i], sum);
    }
    return sum;
  }
  const float inner = FusedMultiplyAdd(centre[0], taps[0], (centre[-1] + centre[1]) * taps[1]);
  return radius == 1 ? inner : FusedMultiplyAdd(centre[2] + centre[-2], taps[2], inner);
}

// Column-filtered value from row-filtered ones, `pitch` floats apart: from the centre outwards.
ORBSERVE_HOST_DEVICE inline float SiftBlurColumn(const float* centre, ptrdiff_t pitch,
                                                 const float* taps, int radius) {
  if (radius == 0) return centre[0];
  float sum = centre[0] * taps[0];
  for (int i = 1; i <= radius; ++i) {
    sum = FusedMultiplyAdd(centre[i * pitch] + centre[-i * pitch], taps[i], sum);
  }
  return sum;
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_SIFT_SCALE_SPACE_H_
