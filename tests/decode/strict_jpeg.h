// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A strict reading of the entropy-coded data of baseline JPEG files, bit by bit as T.81 writes it
// down. Slow, and independent of the decoder that it is an oracle for.

#ifndef ORBSERVE_TESTS_DECODE_STRICT_JPEG_H_
#define ORBSERVE_TESTS_DECODE_STRICT_JPEG_H_

#include <cstdint>
#include <string>
#include <vector>

namespace orbserve {

struct StrictVerdict {
  bool known = false;  // the file is one that this reader knows: one whole sequential scan
  std::string flaw;    // "" = none; else the words that an error has, with the MCU
  int64_t scan_begin = 0;
  int64_t scan_end = 0;
};

StrictVerdict ReadStrictly(const std::vector<uint8_t>& file);

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_DECODE_STRICT_JPEG_H_
