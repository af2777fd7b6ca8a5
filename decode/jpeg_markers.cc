// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/jpeg_markers.h"

#include <cstring>

namespace orbserve {

size_t FindJpegScanEnd(absl::Span<const uint8_t> bytes, size_t begin) {
  size_t position = begin;
  while (position < bytes.size()) {
    const void* const found = std::memchr(&bytes[position], 0xFF, bytes.size() - position);
    if (found == nullptr) return bytes.size();
    position = static_cast<size_t>(static_cast<const uint8_t*>(found) - bytes.data());
    if (position + 1 == bytes.size()) return position;
    const uint8_t next = bytes[position + 1];
    if (next == 0xFF) {
      ++position;  // fill byte
    } else if (next == 0 || IsJpegRestart(next)) {
      position += 2;
    } else {
      return position;
    }
  }
  return bytes.size();
}

}  // namespace orbserve
