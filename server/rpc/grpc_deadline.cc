// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/grpc_deadline.h"

#include <chrono>

namespace orbserve {

SteadyTime DeadlineOf(const grpc::ServerContextBase& context) {
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
