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
//
// gRPC itself ends calls that reach a server while it shuts down, with CANCELLED and no word of the
// service. Unless the caller did it, `caller_cancelled`, that is UNAVAILABLE, as it is when the
// server is gone a moment later.
absl::Status FromGrpc(const grpc::Status& status, bool caller_cancelled = false);

}  // namespace orbserve::client

#endif  // ORBSERVE_CLIENT_SRC_STATUS_H_
