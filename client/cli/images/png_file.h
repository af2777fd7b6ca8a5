// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_PNG_FILE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_PNG_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/images/picture.h"

namespace orbserve::cli {

// Decodes every kind of PNG to 8 bits: grey stays grey, colour and palette become RGB, of 16 bits
// the upper 8 are kept, transparency is left away, gamma is not applied. Damage of any kind is an
// error; the size is checked before memory is taken.
// Errors: INVALID_ARGUMENT.
absl::StatusOr<Picture> DecodePng(absl::string_view bytes, const PictureLimits& limits);

// Encodes a picture as PNG; the same picture gives the same bytes. INTERNAL when libpng refuses.
absl::StatusOr<std::string> EncodePng(const Picture& picture);

// Whether the file at `path` begins and ends as a PNG does, and so was not cut off. What is between
// is not looked at.
bool IsWholePng(const std::string& path);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_PNG_FILE_H_
