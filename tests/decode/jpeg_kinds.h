// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Kinds of JPEG files that every sequential decoder is tested with.

#ifndef ORBSERVE_TESTS_DECODE_JPEG_KINDS_H_
#define ORBSERVE_TESTS_DECODE_JPEG_KINDS_H_

#include <random>
#include <string>
#include <vector>

#include "tests/decode/jpeg_oracle.h"

namespace orbserve {

struct JpegSampling {
  int components;
  int luma_across;
  int luma_down;
};
inline constexpr JpegSampling kJpegSamplings[] = {{1, 1, 1}, {3, 1, 1}, {3, 2, 1}, {3, 1, 2},
                                                  {3, 2, 2}, {3, 4, 1}, {3, 4, 2}, {3, 2, 4}};

// For messages.
std::string NameOf(const JpegKind& kind);

// All samplings, with many qualities, the standard and own tables, with and without noise.
std::vector<JpegKind> KindsOfAllQualities();

// All samplings in a size that has much data, with few and with many bits for a block.
std::vector<JpegKind> LargeKinds();

// Any size up to 300 x 300, sampling, quality and restart interval. Of three numbers in a row, one
// gives at most 20 columns and one at most 20 rows.
JpegKind RandomKind(std::mt19937& random, int number);

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_DECODE_JPEG_KINDS_H_
