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

// Returns true if the C library is glibc, whose sincosf is the one meant.
inline bool SincosfIsTheOneMeant() {
#if defined(__GLIBC__)
  return true;
#else
  return false;
#endif
}

// Compares sine and cosine of every `stride`-th float of [0, 360) degrees, from the one with the
// bit pattern `first`, with the C library's.
inline SweepResult SweepAngles(uint32_t first, uint32_t stride) {
  SweepResult result;
  for (uint32_t bits = first; bits < kEndOfAngles; bits += stride) {
    float degrees;
    std::memcpy(&degrees, &bits, sizeof(degrees));
    const float radians = RadiansOfDegrees(degrees);
    float sine = 0.0f;
    float cosine = 0.0f;
    sincosf(radians, &sine, &cosine);
    const SinCos actual = SinCosOf(radians);
    ++result.angles;
    if (std::memcmp(&actual.sine, &sine, sizeof(sine)) != 0 ||
        std::memcmp(&actual.cosine, &cosine, sizeof(cosine)) != 0) {
      if (result.differing++ == 0) result.first_differing_deg = degrees;
    }
  }
  return result;
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_TESTS_FEATURES_ALGO_SINCOS_SWEEP_H_
