// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/picture_size.h"

#include "absl/strings/str_cat.h"

namespace orbserve::cli {

absl::Status CheckPictureSize(int64_t width_px, int64_t height_px, const PictureLimits& limits) {
  if (width_px < 1 || height_px < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("an image must have pixels; got ", width_px, " x ", height_px));
  }
  if (width_px > limits.max_side_px || height_px > limits.max_side_px ||
      width_px > limits.max_pixels / height_px) {
    return absl::InvalidArgumentError(absl::StrCat("image too large: ", width_px, " x ", height_px,
                                                   "; allowed are ", limits.max_side_px,
                                                   " per side and ", limits.max_pixels, " pixels"));
  }
  return absl::OkStatus();
}

}  // namespace orbserve::cli
