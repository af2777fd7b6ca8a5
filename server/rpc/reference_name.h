// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_REFERENCE_NAME_H_
#define ORBSERVE_SERVER_RPC_REFERENCE_NAME_H_

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"

namespace orbserve {

// BAD_REQUEST unless the name has 1 to 128 bytes of printable ASCII.
inline absl::Status CheckReferenceName(absl::string_view name) {
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

#endif  // ORBSERVE_SERVER_RPC_REFERENCE_NAME_H_
