// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_DECODE_JPEG_COLOURS_H_
#define ORBSERVE_DECODE_JPEG_COLOURS_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"

namespace orbserve {

// Tells YCbCr from other colours in the way of libjpeg-turbo: by the APP0 and APP14 segments before
// the first scan, then by the ids of the components.
class JpegColours {
 public:
  // `marker`: second byte of the marker of `segment`, of any kind.
  void ReadSegment(uint8_t marker, absl::Span<const uint8_t> segment);

  // True if the first of three components is luma. `ids`: of the components, in the frame's order.
  // False for RGB, and for an unknown Adobe transform, which libjpeg-turbo refuses.
  bool IsLumaFirst(const std::array<int, 3>& ids) const;

 private:
  bool has_jfif_ = false;
  std::optional<int> adobe_transform_;
};

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_JPEG_COLOURS_H_
