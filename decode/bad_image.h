// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_DECODE_BAD_IMAGE_H_
#define ORBSERVE_DECODE_BAD_IMAGE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"

namespace orbserve {

// BAD_IMAGE. `message` as for MakeError().
inline absl::Status BadImage(absl::string_view message) {
  return MakeError(ErrorReason::kBadImage, message);
}

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_BAD_IMAGE_H_
