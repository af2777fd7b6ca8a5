// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The order in which a JPEG file lists the coefficients and the quantisers of a block.
// Source: ITU-T T.81, figure A.6.

#ifndef ORBSERVE_FEATURES_ALGO_JPEG_ZIGZAG_H_
#define ORBSERVE_FEATURES_ALGO_JPEG_ZIGZAG_H_

#include <cstdint>

#include "features/algo/jpeg_huffman.h"

namespace orbserve {

// A struct, so that a kernel can have a copy in constant memory.
struct JpegZigzag {
  uint8_t place[kJpegBlockCoefficients];  // in rows of 8
};
// clang-format off
inline constexpr JpegZigzag kJpegZigzag = {{
     0,  1,  8, 16,  9,  2,  3, 10,
    17, 24, 32, 25, 18, 11,  4,  5,
    12, 19, 26, 33, 40, 48, 41, 34,
    27, 20, 13,  6,  7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36,
    29, 22, 15, 23, 30, 37, 44, 51,
    58, 59, 52, 45, 38, 31, 39, 46,
    53, 60, 61, 54, 47, 55, 62, 63}};
// clang-format on

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_ALGO_JPEG_ZIGZAG_H_
