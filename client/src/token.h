// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_SRC_TOKEN_H_
#define ORBSERVE_CLIENT_SRC_TOKEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace orbserve::client {

// First line of the file, for a server at `address`. NOT_FOUND; INVALID_ARGUMENT: the line is no
// token, or the token would be sent in plain text to another machine.
absl::StatusOr<std::string> ReadToken(const std::string& path, absl::string_view address,
                                      bool has_tls);

}  // namespace orbserve::client

#endif  // ORBSERVE_CLIENT_SRC_TOKEN_H_
