// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_JPEG_FILE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_JPEG_FILE_H_

#include <cstddef>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/images/picture.h"

namespace orbserve::cli {

// Decodes a JPEG for drawing: grey stays grey, colour becomes RGB, EXIF rotation is ignored. Damage
// that the decoder can work around is accepted. INVALID_ARGUMENT: damaged, or larger than `limits`.
absl::StatusOr<Picture> DecodeJpeg(absl::string_view bytes, const PictureLimits& limits);

// Encodes a picture as JPEG, for pictures that are looked at. INTERNAL: the encoder refuses.
absl::StatusOr<std::string> EncodeJpeg(const Picture& picture, int quality);

// Number of pixels that the frame header of a JPEG declares; 0 if no header is found. Nothing is
// decoded.
size_t JpegPixels(absl::string_view bytes);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_JPEG_FILE_H_
