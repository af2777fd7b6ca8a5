// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_SUPPORT_SIFT_RECORDS_H_
#define ORBSERVE_TESTS_SUPPORT_SIFT_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "features/types.h"

namespace orbserve::testing {

// OpenCV's KeyPoint::octave of a row of the detector SIFT.
inline int32_t PackedOctaveOf(const Features& features, size_t row) {
  return static_cast<int32_t>((static_cast<uint32_t>(features.octave[row]) & 0xFF) |
                              static_cast<uint32_t>(features.layer[row]) << 8 |
                              static_cast<uint32_t>(features.layer_fraction[row]) << 16);
}

// Bytes of all rows: x, y, size, angle, response, KeyPoint::octave and the descriptor, low bytes
// first.
inline std::string SiftRecordsOf(const Features& features) {
  std::string text;
  const auto append = [&text](const auto& value) {
    char bytes[sizeof(value)];
    std::memcpy(bytes, &value, sizeof(value));
    text.append(bytes, sizeof(value));
  };
  const auto size = static_cast<size_t>(features.descriptor_bytes);
  for (size_t row = 0; row < features.count(); ++row) {
    for (const auto* column :
         {&features.x, &features.y, &features.size, &features.angle_deg, &features.response}) {
      append((*column)[row]);
    }
    append(PackedOctaveOf(features, row));
    text.append(reinterpret_cast<const char*>(features.descriptors.data()) + row * size, size);
  }
  return text;
}

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_SIFT_RECORDS_H_
