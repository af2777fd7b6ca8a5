// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Deadline of a call. When it ends a waiting frame of a stream says serving/stream/stream.h. A
// result is in time by InTime() (serving/work_kind.h) where it is handed over: of a stream by
// FrameSequence, of a unary call by FrameAccount.

#ifndef ORBSERVE_SERVER_RPC_GRPC_DEADLINE_H_
#define ORBSERVE_SERVER_RPC_GRPC_DEADLINE_H_

#include <chrono>

#include "grpcpp/server_context.h"
#include "server/process/clock.h"

namespace orbserve {

// The call's deadline on the steady clock; kNever when it has none.
inline SteadyTime DeadlineOf(const grpc::ServerContextBase& context) {
  using std::chrono::system_clock;
  const system_clock::time_point deadline = context.deadline();
  if (deadline == system_clock::time_point::max()) return kNever;
  // The wire carries the time left. gRPC adds the wall clock and this subtracts it again, which is
  // wrong only if the clock is set in between. Far deadlines would overflow the sum.
  const auto left = deadline - system_clock::now();
  if (left > std::chrono::hours(24 * 365)) return kNever;
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(left);
}

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_GRPC_DEADLINE_H_
