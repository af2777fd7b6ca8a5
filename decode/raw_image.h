// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Images of the raw formats: pixels as a camera lays them out, in one piece or in several.

#ifndef ORBSERVE_DECODE_RAW_IMAGE_H_
#define ORBSERVE_DECODE_RAW_IMAGE_H_

#include "absl/status/statusor.h"
#include "decode/image_decoder.h"
#include "features/image_view.h"

namespace orbserve {

// Does what ReadImageHeader() does, for all formats but JPEG.
absl::StatusOr<ImageHeader> ReadRawHeader(const EncodedImage& image, const ImageLimits& limits);

// Does what DecodeToGrey() does, for all formats but JPEG and an `out` that fits.
void DecodeRaw(const EncodedImage& image, const ImageHeader& header, const MutableImageView& out);

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_RAW_IMAGE_H_
