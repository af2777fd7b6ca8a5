// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/reference_name.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "features/errors.h"

namespace orbserve {

absl::Status CheckReferenceName(absl::string_view name) {
  if (name.empty() || name.size() > 128) {
    return MakeError(ErrorReason::kBadRequest,
                     absl::StrCat("reference name must have 1 to 128 bytes; got ", name.size()));
  }
  for (const char c : name) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) {
      return MakeError(ErrorReason::kBadRequest, "reference name must be printable ASCII");
    }
  }
  return absl::OkStatus();
}

}  // namespace orbserve
