// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_PNG_FILE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_PNG_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/images/picture.h"

namespace orbserve::cli {

// DeepValues says what a 16-bit value becomes.
enum class DeepValues {
  kUpperByte,    // its upper 8 bits
  kNeverToZero,  // its upper 8 bits; 1 where they are 0 and the value is not
};

// Decodes every kind of PNG to 8 bits: grey stays grey, colour and palette become RGB, 16-bit
// values become what `deep` says, transparency is removed, gamma is not applied. Any damage is an
// error; the size is checked before memory is allocated. Errors: INVALID_ARGUMENT.
absl::StatusOr<Picture> DecodePng(absl::string_view bytes, const PictureLimits& limits,
                                  DeepValues deep = DeepValues::kUpperByte);

// Encodes a picture as PNG; the same picture gives the same bytes. INTERNAL: libpng refuses.
absl::StatusOr<std::string> EncodePng(const Picture& picture);

// True if the file at `path` begins and ends like a PNG, which a truncated file does not. The bytes
// between are not checked.
bool IsWholePng(const std::string& path);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_PNG_FILE_H_
