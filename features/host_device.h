// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What lets one function be compiled for the host and for a CUDA device. The only place outside
// gpu/ that looks for CUDA.

#ifndef ORBSERVE_FEATURES_HOST_DEVICE_H_
#define ORBSERVE_FEATURES_HOST_DEVICE_H_

#include <cstdint>

#if defined(__CUDACC__)
#define ORBSERVE_HOST_DEVICE __host__ __device__
#else
#define ORBSERVE_HOST_DEVICE
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

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_HOST_DEVICE_H_
