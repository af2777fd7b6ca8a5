// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Inverse DCT of one JPEG block: libjpeg-turbo's accurate integer one ("islow"), bit for bit. Two
// passes over rows of 8 numbers, columns first; all products are exact, and each pass rounds once
// at its end. The SIMD twin is decode/jpeg_blocks.cc.
// Source: Loeffler, Ligtenberg & Moschytz, "Practical fast 1-D DCT algorithms with 11
// multiplications", ICASSP 1989, with its rotations multiplied out: sums of exact products are
// equal in any order.

#ifndef ORBSERVE_FEATURES_ALGO_JPEG_IDCT_H_
#define ORBSERVE_FEATURES_ALGO_JPEG_IDCT_H_

#include <cstdint>

#include "features/host_device.h"

namespace orbserve {

// Weights in units of 2^-13. Names: what is computed, then the place in the row of the input.
inline constexpr int kIdctOneBits = 13;
inline constexpr int kIdctOne = 1 << kIdctOneBits;
inline constexpr int kIdctEven3Of2 = 10703, kIdctEven3Of6 = 4433;
inline constexpr int kIdctEven2Of2 = 4433, kIdctEven2Of6 = -10704;
inline constexpr int kIdctOdd0Of1 = 2260, kIdctOdd0Of3 = -6436, kIdctOdd0Of5 = 9633,
                     kIdctOdd0Of7 = -11363;
inline constexpr int kIdctOdd1Of1 = 6437, kIdctOdd1Of3 = -11362, kIdctOdd1Of5 = 2261,
                     kIdctOdd1Of7 = 9633;
inline constexpr int kIdctOdd2Of1 = 9633, kIdctOdd2Of3 = -2259, kIdctOdd2Of5 = -11362,
                     kIdctOdd2Of7 = -6436;
inline constexpr int kIdctOdd3Of1 = 11363, kIdctOdd3Of3 = 9633, kIdctOdd3Of5 = 6437,
                     kIdctOdd3Of7 = 2260;

// Right shifts at the end of the passes: 2 extra bits are kept between them, and the factor 8 of
// the transform goes at the end.
inline constexpr int kIdctColumnShift = kIdctOneBits - 2;
inline constexpr int kIdctRowShift = kIdctOneBits + 2 + 3;

// Coefficients times quantisers, and numbers between the passes, have at most this magnitude. Sums
// of two then fit into the 16-bit lanes of SIMD code, libjpeg-turbo's included. Encoders stay far
// below it. A block with larger numbers is undecided: implementations differ.
inline constexpr int kIdctMaxInput = 16383;

// One pass over the numbers at in[0], in[step], ..., in[7 * step], in place.
ORBSERVE_HOST_DEVICE constexpr void IdctPass(int32_t* in, int step, int shift) {
  const int32_t x0 = in[0], x1 = in[step], x2 = in[2 * step], x3 = in[3 * step];
  const int32_t x4 = in[4 * step], x5 = in[5 * step], x6 = in[6 * step], x7 = in[7 * step];
  const int32_t half = 1 << (shift - 1);
  const int32_t even0 = (x0 + x4) * kIdctOne + half;
  const int32_t even1 = (x0 - x4) * kIdctOne + half;
  const int32_t even2 = kIdctEven2Of2 * x2 + kIdctEven2Of6 * x6;
  const int32_t even3 = kIdctEven3Of2 * x2 + kIdctEven3Of6 * x6;
  const int32_t odd0 =
      kIdctOdd0Of1 * x1 + kIdctOdd0Of3 * x3 + kIdctOdd0Of5 * x5 + kIdctOdd0Of7 * x7;
  const int32_t odd1 =
      kIdctOdd1Of1 * x1 + kIdctOdd1Of3 * x3 + kIdctOdd1Of5 * x5 + kIdctOdd1Of7 * x7;
  const int32_t odd2 =
      kIdctOdd2Of1 * x1 + kIdctOdd2Of3 * x3 + kIdctOdd2Of5 * x5 + kIdctOdd2Of7 * x7;
  const int32_t odd3 =
      kIdctOdd3Of1 * x1 + kIdctOdd3Of3 * x3 + kIdctOdd3Of5 * x5 + kIdctOdd3Of7 * x7;
  in[0] = (even0 + even3 + odd3) >> shift;
  in[7 * step] = (even0 + even3 - odd3) >> shift;
  in[step] = (even1 + even2 + odd2) >> shift;
  in[6 * step] = (even1 + even2 - odd2) >> shift;
  in[2 * step] = (even1 - even2 + odd1) >> shift;
  in[5 * step] = (even1 - even2 - odd1) >> shift;
  in[3 * step] = (even0 - even3 + odd0) >> shift;
  in[4 * step] = (even0 - even3 - odd0) >> shift;
}

// The 8x8 pixels [0, 255] of a block, rows of 8. `coefficients` and `quantisers` (1..32767): 64
// each, in rows. False: undecided, and `pixels` are not to be used.
ORBSERVE_HOST_DEVICE constexpr bool IdctBlock(const int16_t* coefficients,
                                              const uint16_t* quantisers, uint8_t* pixels) {
  int32_t numbers[64] = {};
  bool fits = true;
  for (int i = 0; i < 64; ++i) {
    numbers[i] = int32_t{coefficients[i]} * quantisers[i];
    if (numbers[i] > kIdctMaxInput || numbers[i] < -kIdctMaxInput) fits = false;
  }
  if (!fits) return false;
  for (int x = 0; x < 8; ++x) IdctPass(numbers + x, 8, kIdctColumnShift);
  for (int i = 0; i < 64; ++i) {
    if (numbers[i] > kIdctMaxInput || numbers[i] < -kIdctMaxInput) fits = false;
  }
  if (!fits) return false;
  for (int y = 0; y < 8; ++y) IdctPass(numbers + 8 * y, 1, kIdctRowShift);
  for (int i = 0; i < 64; ++i) pixels[i] = static_cast<uint8_t>(Clamp(numbers[i] + 128, 0, 255));
  return true;
}

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_ALGO_JPEG_IDCT_H_
