// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Turns the outcome of a call into the status that the library reports.

#ifndef ORBSERVE_CLIENT_SRC_STATUS_H_
#define ORBSERVE_CLIENT_SRC_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace orbserve::client {

// The call's status with its code, the text `REASON: message`, and the server's table entry as
// payload. Codes of gRPC and Abseil are the same numbers. The entry is read from a v1::CallStatus
// and, as servers before 0.1.0 sent it, from a bare v1::Status.
//
// While a server shuts down, gRPC itself ends the calls that reach it with CANCELLED, without an
// entry. That becomes UNAVAILABLE, as when the server is gone a moment later, unless the caller
// cancelled the call (`caller_cancelled`). A connection that fails for its TLS is given advice.
absl::Status FromGrpc(const grpc::Status& status, bool caller_cancelled = false);

}  // namespace orbserve::client

#endif  // ORBSERVE_CLIENT_SRC_STATUS_H_
