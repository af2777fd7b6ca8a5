// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Caller and deadline of a call.

#ifndef ORBSERVE_SERVER_RPC_CALL_CONTEXT_H_
#define ORBSERVE_SERVER_RPC_CALL_CONTEXT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "grpcpp/server_context.h"
#include "server/serving/clock.h"

namespace orbserve {

// Name of the caller: the metadata `x-client-id` (1 to 128 bytes of printable ASCII), else the
// connection's. Prefixes keep the two kinds apart. BAD_REQUEST for a bad or repeated id.
absl::StatusOr<std::string> ClientOf(const grpc::ServerContextBase& context);

// The call's deadline on the steady clock; kNever when it has none.
SteadyTime DeadlineOf(const grpc::ServerContextBase& context);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_CALL_CONTEXT_H_
