// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Sine and cosine of one single-precision angle, equal bit for bit to `sincosf` of glibc 2.36 on
// x86-64, which OpenCV calls there, on every machine. That function is not correctly rounded: one
// result in forty is one unit in the last place off, and a descriptor can hang on it.
//
// Double precision throughout, in this order. Nothing is fused: glibc's own build for processors
// with FMA fuses, but for every angle of [0, 360) degrees the single-precision results are the same
// (tests/features/algo/sincos_exhaustive_test.cc tries all 1,135,869,952).
//
// Method and coefficients: W. Dijkstra's sinf and cosf in Arm Optimized Routines (Copyright 2018
// Arm Limited, MIT licence; in glibc since 2.28 under LGPL-2.1-or-later): reduction to [-pi/4,
// pi/4] by multiples of pi/2, then a polynomial of degree 7 for the sine and of degree 8 for the
// cosine. The figures are facts about the two functions; the code is our own.

#ifndef ORBSERVE_FEATURES_ALGO_SINCOS_H_
#define ORBSERVE_FEATURES_ALGO_SINCOS_H_

#include <cstdint>

#include "features/host_device.h"

namespace orbserve::algo {

struct SinCos {
  float sine;
  float cosine;
};

// Angles up to this one, in degrees and of either sign, are equal to sincosf's: beyond, reduction
// without fused multiply-add begins to show. Keypoints given by a caller must keep to it.
inline constexpr float kMaxAngleDegrees = 720.0f;

// |radians| up to those of kMaxAngleDegrees.
ORBSERVE_HOST_DEVICE inline SinCos SinCosOf(float radians) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kHalfPi = 0x1.921fb54442d18p0;
  constexpr double kCos2 = -0x1.ffffffd0c621cp-2;
  constexpr double kCos4 = 0x1.55553e1068f19p-5;
  constexpr double kCos6 = -0x1.6c087e89a359dp-10;
  constexpr double kCos8 = 0x1.99343027bf8c3p-16;
  constexpr double kSin3 = -0x1.555545995a603p-3;
  constexpr double kSin5 = 0x1.1107605230bc4p-7;
  constexpr double kSin7 = -0x1.994eb3774cf24p-13;
  constexpr float kReduceFrom = 0.75f;    // glibc compares the upper 12 bits with those of pi/4
  constexpr float kTinyBelow = 0x1p-12f;  // here sin x = x and cos x = 1 in single precision

  const float magnitude = radians < 0.0f ? -radians : radians;
  if (magnitude < kTinyBelow) return {radians, 1.0f};

  double x = static_cast<double>(radians);
  int quadrant = 0;
  if (magnitude >= kReduceFrom) {
    // The quotient times 2^24, truncated, then rounded to the nearest multiple of 2^24: the
    // quadrant's boundary falls where glibc has it, for negative angles too.
    const double quotient = x * (kTwoOverPi * 0x1p24);
    quadrant = (static_cast<int32_t>(quotient) + 0x800000) >> 24;
    x = x - quadrant * kHalfPi;
  }
  const double x2 = x * x;
  const double x3 = x2 * x;
  const double x4 = x2 * x2;
  const double x5 = x3 * x2;
  const double x6 = x4 * x2;
  const float sine = static_cast<float>((x + x3 * kSin3) + x5 * (kSin5 + x2 * kSin7));
  const float cosine =
      static_cast<float>(((1.0 + x2 * kCos2) + x4 * kCos4) + x6 * (kCos6 + x2 * kCos8));
  switch (quadrant & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

// Degrees to radians as the descriptor wants it: one product of single precision.
ORBSERVE_HOST_DEVICE inline float RadiansOfDegrees(float degrees) {
  constexpr float kRadians = static_cast<float>(3.14159265358979323846 / 180.0);
  return degrees * kRadians;
}

// Sine and cosine of an angle in degrees, 0..kMaxAngleDegrees: the double-precision functions of
// the angle in radians, rounded once. This is another function than SinCosOf(RadiansOfDegrees()).
// Equal to glibc 2.36's for every float of that range
// (tests/features/algo/sincos_exhaustive_test.cc). Taylor series after a reduction by multiples of
// pi/2, whose upper 45 bits make exact products.
ORBSERVE_HOST_DEVICE inline SinCos SinCosOfDegrees(float degrees) {
  constexpr double kRadians = 0.017453292519943295;
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kHalfPiHigh = 0x1.921fb54442d00p0;
  constexpr double kHalfPiLow = 0x1.8469898cc517p-48;

  const double radians = static_cast<double>(degrees) * kRadians;
  const int quadrant = static_cast<int>(radians * kTwoOverPi + 0.5);
  const double x = (radians - quadrant * kHalfPiHigh) - quadrant * kHalfPiLow;
  const double x2 = x * x;
  double s = 1.0 / 355687428096000.0;    // 17!
  s = s * x2 + -1.0 / 1307674368000.0;   // 15!
  s = s * x2 + 1.0 / 6227020800.0;       // 13!
  s = s * x2 + -1.0 / 39916800.0;        // 11!
  s = s * x2 + 1.0 / 362880.0;           // 9!
  s = s * x2 + -1.0 / 5040.0;            // 7!
  s = s * x2 + 1.0 / 120.0;              // 5!
  s = s * x2 + -1.0 / 6.0;               // 3!
  double c = -1.0 / 6402373705728000.0;  // 18!
  c = c * x2 + 1.0 / 20922789888000.0;   // 16!
  c = c * x2 + -1.0 / 87178291200.0;     // 14!
  c = c * x2 + 1.0 / 479001600.0;        // 12!
  c = c * x2 + -1.0 / 3628800.0;         // 10!
  c = c * x2 + 1.0 / 40320.0;            // 8!
  c = c * x2 + -1.0 / 720.0;             // 6!
  c = c * x2 + 1.0 / 24.0;               // 4!
  c = c * x2 + -0.5;
  const float sine = static_cast<float>(s * x2 * x + x);
  const float cosine = static_cast<float>(c * x2 + 1.0);
  switch (quadrant & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_SINCOS_H_
