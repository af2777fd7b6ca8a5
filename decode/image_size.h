// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_DECODE_IMAGE_SIZE_H_
#define ORBSERVE_DECODE_IMAGE_SIZE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "decode/image_decoder.h"

namespace orbserve {

// OK if an image of this size may enter. BAD_IMAGE: a side under 1. TOO_LARGE: over `limits`.
absl::Status CheckImageSize(int64_t width_px, int64_t height_px, const ImageLimits& limits);

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_IMAGE_SIZE_H_
