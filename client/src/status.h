// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A call's outcome as the library reports it.

#ifndef ORBSERVE_CLIENT_SRC_STATUS_H_
#define ORBSERVE_CLIENT_SRC_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace orbserve::client {

// Code, `REASON: message` and the wire's message as payload. Codes of gRPC and Abseil are the same
// numbers.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace orbserve::client

#endif  // ORBSERVE_CLIENT_SRC_STATUS_H_
