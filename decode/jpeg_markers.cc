// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/jpeg_markers.h"

#include <algorithm>

#include "decode/jpeg_lanes.h"

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
  const uint8_t* from = bytes.data() + begin;
  const uint8_t* const end = bytes.data() + bytes.size();
  while (true) {
    from = FindJpegMarker(from, end);
    if (end - from < 2) break;
    if (from[1] == 0xFF) {
      ++from;  // fill byte
    } else if (IsJpegRestart(from[1])) {
      from += 2;
    } else {
      break;
    }
  }
  return static_cast<size_t>(from - bytes.data());
}

}  // namespace orbserve
