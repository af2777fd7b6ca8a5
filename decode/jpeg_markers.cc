// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/jpeg_markers.h"

#include <algorithm>
#include <cstring>

namespace orbserve {
namespace {

const uint8_t* PassFillBytes(const uint8_t* from, const uint8_t* end) {
  return std::find_if(from, end, [](uint8_t byte) { return byte != 0xFF; });
}

}  // namespace

const uint8_t* PassJpegRestart(const uint8_t* from, const uint8_t* end, int64_t number) {
  const uint8_t* const marker = PassFillBytes(from, end);
  return marker < end && *marker == JpegRestartMarker(number) ? marker + 1 : nullptr;
}

bool AreJpegFillBytes(const uint8_t* from, const uint8_t* end) {
  return PassFillBytes(from, end) == end;
}

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
