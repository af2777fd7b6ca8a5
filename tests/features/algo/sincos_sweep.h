// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_FEATURES_ALGO_SINCOS_SWEEP_H_
#define ORBSERVE_TESTS_FEATURES_ALGO_SINCOS_SWEEP_H_

#include <cmath>
#include <cstdint>
#include <cstring>

#include "features/algo/sincos.h"

namespace orbserve::algo {

struct SweepResult {
  int64_t angles = 0;
  int64_t differing = 0;
  float first_differing_deg = 0.0f;
};

// Bit pattern of 360.0f; those of all angles in [0, 360) lie below.
inline constexpr uint32_t kEndOfAngles = 0x43b40000u;
// The one after 720.0f.
inline constexpr uint32_t kEndOfDegrees = 0x44340001u;

// Returns true if the C library is glibc, whose functions are the ones meant.
inline bool SincosfIsTheOneMeant() {
#if defined(__GLIBC__)
  return true;
#else
  return false;
#endif
}

// Sine and cosine of an angle in degrees, by the C library.
using LibrarySinCos = SinCos (*)(float degrees);
inline SinCos LibrarySinCosOf(float degrees) {
  SinCos turn = {};
  sincosf(RadiansOfDegrees(degrees), &turn.sine, &turn.cosine);
  return turn;
}
inline SinCos LibrarySinCosOfDegrees(float degrees) {
  const double radians = static_cast<double>(degrees) * 0.017453292519943295;
  return {static_cast<float>(std::sin(radians)), static_cast<float>(std::cos(radians))};
}

// Compares the sine and cosine that `turn` gives of every `stride`-th float of [0, `end`), from
// the one with the bit pattern `first`, with the C library's. `end` is a bit pattern.
template <typename Turn>
SweepResult SweepAngles(uint32_t first, uint32_t end, uint32_t stride, const Turn& turn,
                        LibrarySinCos library) {
  SweepResult result;
  for (uint32_t bits = first; bits < end; bits += stride) {
    float degrees;
    std::memcpy(&degrees, &bits, sizeof(degrees));
    const SinCos expected = library(degrees);
    const SinCos actual = turn(degrees);
    ++result.angles;
    if (std::memcmp(&actual, &expected, sizeof(actual)) != 0) {
      if (result.differing++ == 0) result.first_differing_deg = degrees;
    }
  }
  return result;
}

// Of SinCosOf() in [0, 360) degrees.
inline SweepResult SweepAngles(uint32_t first, uint32_t stride) {
  const auto turn = [](float degrees) { return SinCosOf(RadiansOfDegrees(degrees)); };
  return SweepAngles(first, kEndOfAngles, stride, turn, LibrarySinCosOf);
}

// Of SinCosOfDegrees() in [0, 720] degrees.
inline SweepResult SweepDegrees(uint32_t first, uint32_t stride) {
  return SweepAngles(first, kEndOfDegrees, stride, SinCosOfDegrees, LibrarySinCosOfDegrees);
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_TESTS_FEATURES_ALGO_SINCOS_SWEEP_H_
