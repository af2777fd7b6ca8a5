// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_SERVICE_H_
#define ORBSERVE_SERVER_RPC_SERVICE_H_

#include <chrono>
#include <vector>

#include "features/errors.h"
#include "orbserve/v1/orbserve.grpc.pb.h"
#include "server/rpc/call_services.h"
#include "server/rpc/drain_gate.h"
#include "server/rpc/unary_call.h"
#include "server/serving/stream/stream_registry.h"

namespace orbserve {

// The service of the wire contract. Each method makes the object of its call and begins it. All
// read and write bytes instead of messages: requests are scanned before they are parsed, one that
// cannot be parsed is told why, and an answer is held in one form only.
class FeaturesService final : public v1::Features::Service {
 public:
  // The parts that `services` points to must outlive the gRPC server.
  explicit FeaturesService(const CallServices& services);

  // Refuses new calls and tells open streams. `reason`: kDraining (open streams may still send
  // frames) or kDeviceLost.
  void Close(ErrorReason reason);
  // Ends the streams whose clients are not known any more (identity.h).
  void CutUnknownStreams();
  // Ends the streams, each when its frames in flight are answered.
  void StopStreams();
  // The open streams.
  std::vector<server::StreamRow> stream_uses() { return streams_.uses(); }
  // Waits until no call is open or comes; false when `timeout` passed before.
  bool WaitUntilQuiet(std::chrono::milliseconds timeout) { return gate_.WaitUntilQuiet(timeout); }

 private:
  void AddUnary(const UnaryMethod& method);

  const CallServices services_;
  DrainGate gate_;
  StreamRegistry streams_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_SERVICE_H_
