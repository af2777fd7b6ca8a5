// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What a call of any kind needs to know about its caller and to tell telemetry.

#ifndef ORBSERVE_SERVER_RPC_CALL_CONTEXT_H_
#define ORBSERVE_SERVER_RPC_CALL_CONTEXT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "features/backend.h"
#include "grpcpp/server_context.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/frame_intake.h"

namespace orbserve {

// Who calls: the metadata `x-client-id` (1 to 128 bytes of printable ASCII), else the connection.
// The two never collide. BAD_REQUEST for a bad or repeated id.
absl::StatusOr<std::string> ClientOf(const grpc::ServerContextBase& context);

// The call's deadline on the steady clock; kNever when it has none.
SteadyTime DeadlineOf(const grpc::ServerContextBase& context);

// Times and places of an answered frame. `begin`: when its message had arrived.
void TimingsToProto(const ExtractOutcome& outcome, SteadyTime begin, v1::FrameTimings* proto);
void ExecutionToProto(const ExtractOutcome& outcome, v1::Execution* proto);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_CALL_CONTEXT_H_
