// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Functions of the gradients of SIFT: angle, magnitude, exponential and power of two, equal bit for
// bit to those that cv::SIFT of OpenCV 4.6.0 gets on a processor with AVX2 and FMA. The figures are
// facts about OpenCV's core module (Apache-2.0) and about powf() of glibc 2.36 (S. Nagy, Arm
// Optimized Routines, Copyright 2017 Arm Limited, MIT licence); the code is our own.

#ifndef ORBSERVE_FEATURES_ALGO_SIFT_FUNCTIONS_H_
#define ORBSERVE_FEATURES_ALGO_SIFT_FUNCTIONS_H_

#include <cstdint>
#include <cstring>

#include "features/algo/orientation.h"
#include "features/host_device.h"

namespace orbserve::algo {

// 2^(i / 64) for 0 <= i < 64, rounded to nearest.
inline constexpr int kPowersOfTwo = 64;
inline constexpr int kPowersOfTwoBits = 6;
struct SiftPowers {
  // clang-format off
  double power[kPowersOfTwo] = {
      0x1.0p0, 0x1.02c9a3e778061p0, 0x1.059b0d3158574p0, 0x1.0874518759bc8p0,
      0x1.0b5586cf9890fp0, 0x1.0e3ec32d3d1a2p0, 0x1.11301d0125b51p0, 0x1.1429aaea92dep0,
      0x1.172b83c7d517bp0, 0x1.1a35beb6fcb75p0, 0x1.1d4873168b9aap0, 0x1.2063b88628cd6p0,
      0x1.2387a6e756238p0, 0x1.26b4565e27cddp0, 0x1.29e9df51fdee1p0, 0x1.2d285a6e4030bp0,
      0x1.306fe0a31b715p0, 0x1.33c08b26416ffp0, 0x1.371a7373aa9cbp0, 0x1.3a7db34e59ff7p0,
      0x1.3dea64c123422p0, 0x1.4160a21f72e2ap0, 0x1.44e086061892dp0, 0x1.486a2b5c13cdp0,
      0x1.4bfdad5362a27p0, 0x1.4f9b2769d2ca7p0, 0x1.5342b569d4f82p0, 0x1.56f4736b527dap0,
      0x1.5ab07dd485429p0, 0x1.5e76f15ad2148p0, 0x1.6247eb03a5585p0, 0x1.6623882552225p0,
      0x1.6a09e667f3bcdp0, 0x1.6dfb23c651a2fp0, 0x1.71f75e8ec5f74p0, 0x1.75feb564267c9p0,
      0x1.7a11473eb0187p0, 0x1.7e2f336cf4e62p0, 0x1.82589994cce13p0, 0x1.868d99b4492edp0,
      0x1.8ace5422aa0dbp0, 0x1.8f1ae99157736p0, 0x1.93737b0cdc5e5p0, 0x1.97d829fde4e5p0,
      0x1.9c49182a3f09p0, 0x1.a0c667b5de565p0, 0x1.a5503b23e255dp0, 0x1.a9e6b5579fdbfp0,
      0x1.ae89f995ad3adp0, 0x1.b33a2b84f15fbp0, 0x1.b7f76f2fb5e47p0, 0x1.bcc1e904bc1d2p0,
      0x1.c199bdd85529cp0, 0x1.c67f12e57d14bp0, 0x1.cb720dcef9069p0, 0x1.d072d4a07897cp0,
      0x1.d5818dcfba487p0, 0x1.da9e603db3285p0, 0x1.dfc97337b9b5fp0, 0x1.e502ee78b3ff6p0,
      0x1.ea4afa2a490dap0, 0x1.efa1bee615a27p0, 0x1.f50765b6e454p0, 0x1.fa7c1819e90d8p0,
  };
  // clang-format on
};
ORBSERVE_HOST_DEVICE constexpr double PowerOfTwo64th(int i) {
  constexpr SiftPowers kPowers;
  return kPowers.power[i];
}

// Leading coefficient by which the polynomial and its table are scaled, so that it needs one
// multiplication less.
inline constexpr double kSiftExpScale = 0x1.3ce0f3e46f431p-7;

struct SiftExpFigures {
  static constexpr float kPerOctave = static_cast<float>(0x1.71547652b82fep0 * kPowersOfTwo);
  static constexpr float kOctaves = 1.0f / kPowersOfTwo;
  static constexpr float kA1 = static_cast<float>(0x1.c6af0d93cf576p-5 / kSiftExpScale);
  static constexpr float kA2 = static_cast<float>(0x1.ebfbe081585e7p-3 / kSiftExpScale);
  static constexpr float kA3 = static_cast<float>(0x1.62e42fef9277bp-1 / kSiftExpScale);
  static constexpr float kA4 = static_cast<float>(1.0 / kSiftExpScale);
};

// Entry `i`, 0..63, of the table of SiftExp().
ORBSERVE_HOST_DEVICE constexpr float SiftExpEntry(int i) {
  return static_cast<float>(PowerOfTwo64th(i) * kSiftExpScale);
}

struct SiftExpEntries {
  float entry[kPowersOfTwo] = {};
};
constexpr SiftExpEntries MakeSiftExpEntries() {
  SiftExpEntries entries;
  for (int i = 0; i < kPowersOfTwo; ++i) entries.entry[i] = SiftExpEntry(i);
  return entries;
}

// e^x for -80 <= x <= 0. `table`: a function or an object that returns SiftExpEntry(i); devices
// keep the entries in shared memory.
template <typename Table>
ORBSERVE_HOST_DEVICE inline float SiftExpBy(float x, const Table& table) {
  using F = SiftExpFigures;
  const float scaled = x * F::kPerOctave;
  const int whole = RoundToInt(scaled);
  const float rest = (scaled - static_cast<float>(whole)) * F::kOctaves;
  const uint32_t exponent = static_cast<uint32_t>((whole >> kPowersOfTwoBits) + 127) << 23;
  float power;
  std::memcpy(&power, &exponent, sizeof(power));
  float sum = rest + F::kA1;
  sum = FusedMultiplyAdd(sum, rest, F::kA2);
  sum = FusedMultiplyAdd(sum, rest, F::kA3);
  sum = FusedMultiplyAdd(sum, rest, F::kA4);
  return sum * (table(whole & (kPowersOfTwo - 1)) * power);
}
ORBSERVE_HOST_DEVICE inline float SiftExp(float x) {
  return SiftExpBy(x, [](int i) { return SiftExpEntry(i); });
}

// Angles of fewer points than this at once come from another form of the polynomial.
inline constexpr int kSiftLongAngles = 16;

// Direction of (x, y) in degrees, [0, 360], counter-clockwise as both point: FastAtan2Degrees()
// with its sums fused. `long_form`: at least kSiftLongAngles were computed together.
ORBSERVE_HOST_DEVICE inline float SiftAngleDegrees(float y, float x, bool long_form) {
  using F = FastAtan2;
  const float ax = x < 0.0f ? -x : x;
  const float ay = y < 0.0f ? -y : y;
  const float c = Min(ax, ay) / (Max(ax, ay) + F::kEpsilon);
  const float c2 = c * c;
  float p = FusedMultiplyAdd(c2, F::kP7, F::kP5);
  p = FusedMultiplyAdd(p, c2, F::kP3);
  p = FusedMultiplyAdd(p, c2, F::kP1);
  float angle = p * c;
  if (ax < ay) angle = long_form ? 90.0f - angle : FusedMultiplyAdd(-p, c, 90.0f);
  if (x < 0.0f) angle = 180.0f - angle;
  if (y < 0.0f) angle = 360.0f - angle;
  return angle;
}

ORBSERVE_HOST_DEVICE inline float SiftMagnitude(float x, float y) {
  return SquareRoot(FusedMultiplyAdd(x, x, y * y));
}

// 2^x for -1 <= x <= 16, as glibc's powf(2, x). `powers`: a function or an object that returns
// PowerOfTwo64th(i); devices keep them in memory.
template <typename Powers>
ORBSERVE_HOST_DEVICE inline float SiftPowerOfTwoBy(float x, const Powers& powers) {
  constexpr double kC0 = 0x1.c6af84b912394p-5;
  constexpr double kC1 = 0x1.ebfce50fac4f3p-3;
  constexpr double kC2 = 0x1.62e42ff0c52d6p-1;
  constexpr int kParts = 32;
  const double scaled = static_cast<double>(x) * kParts;
  const int whole = RoundToInt(scaled);
  const double rest = (scaled - whole) * (1.0 / kParts);
  const int octave = whole >= 0 ? whole / kParts : -((-whole + kParts - 1) / kParts);
  const uint64_t exponent = static_cast<uint64_t>(octave + 1023) << 52;
  double power;
  std::memcpy(&power, &exponent, sizeof(power));
  power *= powers((whole - octave * kParts) * (kPowersOfTwo / kParts));
  const double square = rest * rest;
  const double sum = (kC0 * rest + kC1) * square + (kC2 * rest + 1.0);
  return static_cast<float>(sum * power);
}
ORBSERVE_HOST_DEVICE inline float SiftPowerOfTwo(float x) {
  return SiftPowerOfTwoBy(x, [](int i) { return PowerOfTwo64th(i); });
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_SIFT_FUNCTIONS_H_
