// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Coefficients of JPEG blocks to pixels: the SIMD twin of features/algo/jpeg_idct.h.

#ifndef ORBSERVE_DECODE_JPEG_BLOCKS_H_
#define ORBSERVE_DECODE_JPEG_BLOCKS_H_

#include <cstdint>

#include "features/algo/jpeg_idct.h"

namespace orbserve {

struct JpegQuantisers {
  uint16_t values[64] = {};  // 1..32767, in rows
  int16_t limits[64] = {};   // largest coefficients that are decided: kIdctMaxInput / values
  int16_t limit = 0;         // the least of them

  void SetLimits() {
    limit = kIdctMaxInput;
    for (int i = 0; i < 64; ++i) {
      limits[i] = static_cast<int16_t>(kIdctMaxInput / values[i]);
      if (limits[i] < limit) limit = limits[i];
    }
  }
};

// Where the 8x8 pixels of a block go.
struct JpegBlockPlace {
  uint8_t* pixels = nullptr;
  int64_t pitch_bytes = 0;
};

// WriteJpegBlocks() reads so many blocks behind the last one, too, without using them.
inline constexpr int kJpegBlocksBehind = 3;

// Writes the pixels of `count` blocks of 64 coefficients each, in rows, to their places. False if a
// block was undecided.
bool WriteJpegBlocks(const int16_t* coefficients, int count, const JpegQuantisers& quantisers,
                     const JpegBlockPlace* places);

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_JPEG_BLOCKS_H_
