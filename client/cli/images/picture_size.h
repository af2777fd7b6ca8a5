// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_PICTURE_SIZE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_PICTURE_SIZE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "client/cli/images/picture.h"

namespace orbserve::cli {

// Checks the size of a picture before it is decoded. INVALID_ARGUMENT: a side is below 1, or a side
// or the number of pixels is above `limits`.
absl::Status CheckPictureSize(int64_t width_px, int64_t height_px, const PictureLimits& limits);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_PICTURE_SIZE_H_
