// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_DECODE_JPEG_HEADER_H_
#define ORBSERVE_DECODE_JPEG_HEADER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "decode/image_decoder.h"

namespace orbserve {

// Properties of a JPEG file according to its markers.
struct JpegHeader {
  int width_px = 0;
  int height_px = 0;
  int components = 0;  // 1 or 3
  bool progressive = false;
  bool is_rgb = false;       // as in ImageHeader
  bool for_library = false;  // as in ImageHeader
  int scans = 0;
  int64_t decoder_bytes = 0;  // that the decoder holds from the first scan to the last
};

// Walks through the markers of `bytes` from SOI to EOI, looking into the frame header and counting
// scans; entropy-coded data are skipped by searching for 0xFF. What follows EOI is not looked at.
// Errors as ReadImageHeader(). Source: ITU-T T.81, annex B.
absl::StatusOr<JpegHeader> ReadJpegHeader(absl::Span<const uint8_t> bytes,
                                          const ImageLimits& limits);

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_JPEG_HEADER_H_
