// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_DRAIN_H_
#define ORBSERVE_SERVER_DRAIN_H_

#include <chrono>

#include "grpcpp/server.h"
#include "server/config/config.pb.h"
#include "server/edge/listener.h"
#include "server/process/clock.h"
#include "server/rpc/service.h"
#include "server/serving/batcher.h"

namespace orbserve {

// After the loss of a device: time in which the CPU backend answers the frames that were accepted.
inline constexpr std::chrono::milliseconds kRescueTime{1000};

// The parts of the server that a drain stops; all outlive it.
struct DrainParts {
  Clock* clock = nullptr;
  FeaturesService* service = nullptr;
  Batcher* batcher = nullptr;
  grpc::Server* server = nullptr;
  Listener* listener = nullptr;  // null where the server has no address
};

// Stops to accept connections, then shuts the server down: calls may end within `time`, and then
// are cut. Connections that gRPC does not close soon afterwards are shut down, so that no client
// can hold this up.
void ShutDown(grpc::Server& server, Listener* listener, std::chrono::milliseconds time);

// Both stop a server whose health already says NOT_SERVING (Server::Drain()). They block, and
// return true when all calls have ended, false when the rest was cut.
//
// After `config.delay_ms` new calls are refused with DRAINING. Open streams go on for half of
// `config.timeout_ms`, then end when their frames in flight are answered.
bool DrainServer(const DrainParts& parts, const server::Config::Drain& config);
// After the loss of a device new calls are refused already. The CPU backend answers the frames that
// wait, within kRescueTime; clients that try again should meet the next process soon.
bool DrainAfterLoss(const DrainParts& parts);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_DRAIN_H_
