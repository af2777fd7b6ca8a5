// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Highway targets that the kernels of cpu/simd/ are compiled for. Included before any Highway
// header. Targets without a real fused multiply-add are left out, since the Gaussian needs it
// (docs/determinism.md); processors below AVX2 get the plain loops.

#ifndef ORBSERVE_CPU_SIMD_TARGETS_H_
#define ORBSERVE_CPU_SIMD_TARGETS_H_

#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL  // Highway 1.0.3 compiles this target on demand only
#endif

#if defined(__aarch64__)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#else
#define HWY_DISABLED_TARGETS (~(HWY_AVX3_DL | HWY_AVX3 | HWY_AVX2 | HWY_SCALAR | HWY_EMU128))
#endif

#include "hwy/detect_targets.h"

// Targets that have vectors of at least 16 bytes: all but Highway's fallbacks.
#define ORBSERVE_SIMD_TARGETS ((HWY_TARGETS) & ~(HWY_SCALAR | HWY_EMU128))

// True if the target being compiled is one of them.
#define ORBSERVE_SIMD_TARGET_HAS_VECTORS (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

// Body of a function that returns the address of `function` as compiled for `target`, the number of
// a Highway target, or of `reference` where there is no such twin.
#if HWY_TARGETS & HWY_AVX3_DL
#define ORBSERVE_SIMD_CASE_AVX3_DL(function) \
  case HWY_AVX3_DL:                          \
    return &N_AVX3_DL::function;
#else
#define ORBSERVE_SIMD_CASE_AVX3_DL(function)
#endif
#if HWY_TARGETS & HWY_AVX3
#define ORBSERVE_SIMD_CASE_AVX3(function) \
  case HWY_AVX3:                          \
    return &N_AVX3::function;
#else
#define ORBSERVE_SIMD_CASE_AVX3(function)
#endif
#if HWY_TARGETS & HWY_AVX2
#define ORBSERVE_SIMD_CASE_AVX2(function) \
  case HWY_AVX2:                          \
    return &N_AVX2::function;
#else
#define ORBSERVE_SIMD_CASE_AVX2(function)
#endif
#if HWY_TARGETS & HWY_NEON
#define ORBSERVE_SIMD_CASE_NEON(function) \
  case HWY_NEON:                          \
    return &N_NEON::function;
#else
#define ORBSERVE_SIMD_CASE_NEON(function)
#endif
#if defined(HWY_NEON_WITHOUT_AES) && (HWY_TARGETS & HWY_NEON_WITHOUT_AES)
#define ORBSERVE_SIMD_CASE_NEON_WITHOUT_AES(function) \
  case HWY_NEON_WITHOUT_AES:                          \
    return &N_NEON_WITHOUT_AES::function;
#else
#define ORBSERVE_SIMD_CASE_NEON_WITHOUT_AES(function)
#endif
#if defined(HWY_NEON_BF16) && (HWY_TARGETS & HWY_NEON_BF16)
#define ORBSERVE_SIMD_CASE_NEON_BF16(function) \
  case HWY_NEON_BF16:                          \
    return &N_NEON_BF16::function;
#else
#define ORBSERVE_SIMD_CASE_NEON_BF16(function)
#endif
#define ORBSERVE_SIMD_SELECT(function, reference, target) \
  switch (target) {                                       \
    ORBSERVE_SIMD_CASE_AVX3_DL(function)                  \
    ORBSERVE_SIMD_CASE_AVX3(function)                     \
    ORBSERVE_SIMD_CASE_AVX2(function)                     \
    ORBSERVE_SIMD_CASE_NEON(function)                     \
    ORBSERVE_SIMD_CASE_NEON_WITHOUT_AES(function)         \
    ORBSERVE_SIMD_CASE_NEON_BF16(function)                \
    default:                                              \
      return &reference;                                  \
  }

#endif  // ORBSERVE_CPU_SIMD_TARGETS_H_
