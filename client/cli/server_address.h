// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_SERVER_ADDRESS_H_
#define ORBSERVE_CLIENT_CLI_SERVER_ADDRESS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace orbserve::cli {

// Checks the value of --server: HOST:PORT, or a target of gRPC such as unix:PATH or
// dns:///HOST:PORT. INVALID_ARGUMENT says what is missing or too much, and what to write instead.
// gRPC itself would only say that it cannot connect.
absl::Status CheckServerAddress(absl::string_view address);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_SERVER_ADDRESS_H_
