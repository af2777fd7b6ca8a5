// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Rare, damaged and hostile JPEG files, made here: by libjpeg's rarer settings, and by changing the
// bytes of what it wrote. What must become of each is what docs/odd-images.md says.

#ifndef ORBSERVE_TESTS_DECODE_MADE_JPEGS_H_
#define ORBSERVE_TESTS_DECODE_MADE_JPEGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "features/errors.h"

namespace orbserve {

struct MadeJpeg {
  std::string name;
  std::vector<uint8_t> bytes;
  std::optional<ErrorReason> refusal;  // none: it is decoded
  // These are set for files that are decoded.
  int width_px = 0;
  int height_px = 0;
  bool rgb_coded = false;  // grey by formula instead of the Y plane
  std::string same_as;     // has the pixels of the file of this name; "" = of no other
};

// Every call returns the same files.
std::vector<MadeJpeg> MakeJpegs();

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_DECODE_MADE_JPEGS_H_
