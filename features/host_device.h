// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What lets one function be compiled for the host and for a CUDA device. The only place outside
// gpu/ that looks for CUDA.

#ifndef ORBSERVE_FEATURES_HOST_DEVICE_H_
#define ORBSERVE_FEATURES_HOST_DEVICE_H_

#include <cmath>
#include <cstdint>

#if defined(__CUDACC__)
#define ORBSERVE_HOST_DEVICE __host__ __device__
#else
#define ORBSERVE_HOST_DEVICE
#endif

// Before a host and device template that calls its argument: a device-only argument makes it a
// device function, without a warning.
#if defined(__CUDACC__)
#define ORBSERVE_HOST_DEVICE_OF_EITHER _Pragma("nv_exec_check_disable")
#else
#define ORBSERVE_HOST_DEVICE_OF_EITHER
#endif

// Before a loop whose arrays live in registers once a device unrolls it.
#if defined(__CUDA_ARCH__)
#define ORBSERVE_UNROLL _Pragma("unroll")
#else
#define ORBSERVE_UNROLL
#endif

namespace orbserve {

// Quotient rounded up. `divisor` > 0, `value` >= 0.
template <typename T>
ORBSERVE_HOST_DEVICE constexpr T DivUp(T value, T divisor) {
  return (value + divisor - 1) / divisor;
}

// `value` rounded up to a multiple of `multiple` > 0; `value` >= 0.
template <typename T>
ORBSERVE_HOST_DEVICE constexpr T RoundUp(T value, T multiple) {
  return DivUp(value, multiple) * multiple;
}

template <typename T>
ORBSERVE_HOST_DEVICE constexpr T Clamp(T value, T low, T high) {
  return value < low ? low : (high < value ? high : value);
}

// Number of set bits.
ORBSERVE_HOST_DEVICE inline int PopCount(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __popc(bits);
#else
  return __builtin_popcount(bits);
#endif
}

// The upper 32 bits of those two words after a shift by `bits` % 32 to the left.
ORBSERVE_HOST_DEVICE inline uint32_t FunnelShiftLeft(uint32_t high, uint32_t low, uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_l(low, high, bits);
#else
  return static_cast<uint32_t>(((static_cast<uint64_t>(high) << 32 | low) << (bits % 32)) >> 32);
#endif
}

// a * b + c, rounded once. Written out where the result is defined with it (docs/determinism.md);
// the compiler fuses nothing on its own.
ORBSERVE_HOST_DEVICE inline float FusedMultiplyAdd(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

// Square root of `value` >= 0, rounded to nearest.
ORBSERVE_HOST_DEVICE inline float SquareRoot(float value) {
#if defined(__CUDA_ARCH__)
  return __fsqrt_rn(value);
#else
  return std::sqrt(value);
#endif
}

// Nearest integer, halves to the even one. The result must fit.
ORBSERVE_HOST_DEVICE inline int RoundToInt(float value) {
#if defined(__CUDA_ARCH__)
  return __float2int_rn(value);
#else
  return static_cast<int>(std::rint(value));
#endif
}
ORBSERVE_HOST_DEVICE inline int RoundToInt(double value) {
#if defined(__CUDA_ARCH__)
  return __double2int_rn(value);
#else
  return static_cast<int>(std::rint(value));
#endif
}

// The largest integer that is not above `value`. The result must fit.
ORBSERVE_HOST_DEVICE inline int FloorToInt(float value) {
#if defined(__CUDA_ARCH__)
  return __float2int_rd(value);
#else
  return static_cast<int>(std::floor(value));
#endif
}

// RoundToInt() for |value| < 2^22, by an addition whose rounding drops the fraction: devices
// convert a quarter as fast as they add.
ORBSERVE_HOST_DEVICE inline int RoundSmallToInt(float value) {
#if defined(__CUDA_ARCH__)
  constexpr float kUnitsInPlace =
      12582912.0f;  // 1.5 * 2^23: the last bit of such a sum counts ones
  return __float_as_int(__fadd_rn(value, kUnitsInPlace)) - 0x4b400000;
#else
  return RoundToInt(value);
#endif
}

// For integers that are corrected afterwards, as devices differ in the last bits: the square root
// of `value` > 0, off by 2^-23 of it at most, and a / b for 2^-126 < |b| < 2^126, off by 2^-22.
ORBSERVE_HOST_DEVICE inline float RoughSquareRoot(float value) {
#if defined(__CUDA_ARCH__)
  float root;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(value));
  return root;
#else
  return std::sqrt(value);
#endif
}
ORBSERVE_HOST_DEVICE inline float RoughQuotient(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fdividef(a, b);
#else
  return a / b;
#endif
}

template <typename T>
ORBSERVE_HOST_DEVICE constexpr T Min(T a, T b) {
  return b < a ? b : a;
}

template <typename T>
ORBSERVE_HOST_DEVICE constexpr T Max(T a, T b) {
  return a < b ? b : a;
}

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_HOST_DEVICE_H_
