// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/image_size.h"

#include "absl/strings/str_cat.h"
#include "decode/bad_image.h"
#include "features/errors.h"

namespace orbserve {

absl::Status CheckImageSize(int64_t width_px, int64_t height_px, const ImageLimits& limits) {
  if (width_px < 1 || height_px < 1) {
    return BadImage(
        absl::StrCat("an image needs at least 1x1 pixels; got ", width_px, "x", height_px));
  }
  if (width_px > limits.max_side_px || height_px > limits.max_side_px) {
    return MakeError(ErrorReason::kTooLarge,
                     absl::StrCat("an image of ", width_px, "x", height_px, " pixels; at most ",
                                  limits.max_side_px, " pixels a side are allowed"));
  }
  if (width_px * height_px > limits.max_pixels) {
    return MakeError(
        ErrorReason::kTooLarge,
        absl::StrCat("an image of ", width_px, "x", height_px, " = ", width_px * height_px,
                     " pixels; at most ", limits.max_pixels, " pixels are allowed"));
  }
  return absl::OkStatus();
}

}  // namespace orbserve
