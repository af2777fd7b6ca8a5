// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_REFERENCE_NAME_H_
#define ORBSERVE_SERVER_RPC_REFERENCE_NAME_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace orbserve {

// BAD_REQUEST unless the name has 1 to 128 bytes of printable ASCII.
absl::Status CheckReferenceName(absl::string_view name);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_REFERENCE_NAME_H_
