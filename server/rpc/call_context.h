// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Caller and deadline of a call.

#ifndef ORBSERVE_SERVER_RPC_CALL_CONTEXT_H_
#define ORBSERVE_SERVER_RPC_CALL_CONTEXT_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "server/serving/client_id.h"
#include "server/serving/clock.h"

namespace orbserve {

// The caller. Its owner is the address that it calls from (peer.h). Its name is the metadata
// `x-client-id` (1 to 128 bytes of printable ASCII), else that of the connection; prefixes keep the
// two kinds apart. BAD_REQUEST for a bad or repeated id.
absl::StatusOr<ClientId> ClientOf(const grpc::ServerContextBase& context);

// The call's deadline on the steady clock; kNever when it has none.
SteadyTime DeadlineOf(const grpc::ServerContextBase& context);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_CALL_CONTEXT_H_
