// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Deadline of a call. When it ends a waiting frame of a stream says serving/stream/stream.h. A
// result is in time by InTime() (serving/work_kind.h) where it is handed over: of a stream by
// FrameSequence, of a unary call by FrameAccount.

#ifndef ORBSERVE_SERVER_RPC_GRPC_DEADLINE_H_
#define ORBSERVE_SERVER_RPC_GRPC_DEADLINE_H_

#include "grpcpp/server_context.h"
#include "server/process/clock.h"

namespace orbserve {

// The call's deadline on the steady clock; kNever when it has none.
SteadyTime DeadlineOf(const grpc::ServerContextBase& context);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_GRPC_DEADLINE_H_
