// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_DECODE_LIBJPEG_DECODER_H_
#define ORBSERVE_DECODE_LIBJPEG_DECODER_H_

#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "decode/image_decoder.h"
#include "features/image_view.h"

namespace orbserve {

// Decodes a JPEG file that ReadJpegHeader() has admitted, of the size of `out`, to grey, with
// libjpeg-turbo: the files that jpeg_sequential.h leaves to it. Any warning of libjpeg-turbo is an
// error but one: an unknown JFIF revision, which changes no pixel.
// `deadline`: the end of `limits.max_decode_time`, of which the strict decoder may have used a
// part. Errors as DecodeToGrey().
absl::Status DecodeJpeg(absl::Span<const uint8_t> bytes, const ImageLimits& limits,
                        std::chrono::steady_clock::time_point deadline,
                        const MutableImageView& out);

// DEADLINE_EXCEEDED: `max_decode_time` is over.
absl::Status JpegTooSlow(const ImageLimits& limits);

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_LIBJPEG_DECODER_H_
