// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_PNM_FILE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_PNM_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/images/picture.h"

namespace orbserve::cli {

// Decodes PGM (P5, P2; grey) or PPM (P6, P3; RGB) with a largest value of 1..255. Values are scaled
// to 0..255, rounding to nearest. The picture reuses the memory of `bytes`. Bytes behind the first
// picture are ignored.
// Errors: INVALID_ARGUMENT (malformed, too short, too large), UNIMPLEMENTED (bitmaps, 16 bits).
absl::StatusOr<Picture> DecodePnm(std::string bytes, const PictureLimits& limits);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_PNM_FILE_H_
