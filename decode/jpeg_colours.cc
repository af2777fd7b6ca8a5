// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/jpeg_colours.h"

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "decode/jpeg_markers.h"

namespace orbserve {
namespace {

// A shorter segment is not that of JFIF or Adobe.
constexpr size_t kJfifBytes = 14;
constexpr size_t kAdobeBytes = 12;
constexpr size_t kAdobeTransform = 11;  // its place
constexpr int kAdobeYcc = 1;

}  // namespace

void JpegColours::ReadSegment(uint8_t marker, absl::Span<const uint8_t> segment) {
  const absl::string_view text(reinterpret_cast<const char*>(segment.data()), segment.size());
  if (marker == kJpegApp0 && segment.size() >= kJfifBytes &&
      absl::StartsWith(text, absl::string_view("JFIF\0", 5))) {
    has_jfif_ = true;
  }
  if (marker == kJpegApp14 && segment.size() >= kAdobeBytes && absl::StartsWith(text, "Adobe")) {
    adobe_transform_ = segment[kAdobeTransform];
  }
}

bool JpegColours::IsLumaFirst(const std::array<int, 3>& ids) const {
  if (has_jfif_) return true;
  if (adobe_transform_.has_value()) return *adobe_transform_ == kAdobeYcc;
  return ids != std::array<int, 3>{'R', 'G', 'B'};
}

}  // namespace orbserve
