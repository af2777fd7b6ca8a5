// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_SERVICE_H_
#define ORBSERVE_SERVER_RPC_SERVICE_H_

#include <chrono>
#include <functional>
#include <vector>

#include "orbserve/v1/orbserve.grpc.pb.h"
#include "server/rpc/call_services.h"
#include "server/rpc/drain_gate.h"
#include "server/rpc/extract_call.h"
#include "server/rpc/match_call.h"
#include "server/rpc/reference_calls.h"
#include "server/rpc/stream_call.h"

namespace orbserve {

// Base class with all methods as reactors, which read and write bytes instead of messages. Requests
// are scanned before they are parsed, one that cannot be parsed is told why, and an answer is held
// in one form only.
using FeaturesMethods = v1::Features::WithRawCallbackMethod_Extract<
    v1::Features::WithRawCallbackMethod_Match<v1::Features::WithRawCallbackMethod_PutReference<
        v1::Features::WithRawCallbackMethod_DeleteReference<
            v1::Features::WithRawCallbackMethod_ListReferences<
                v1::Features::WithRawCallbackMethod_GetServerInfo<
                    v1::Features::WithRawCallbackMethod_StreamFrames<v1::Features::Service>>>>>>>;

// The service of the wire contract. Each method makes the object of its call and starts it.
class FeaturesService final : public FeaturesMethods {
 public:
  // Adds what changes to an answer of GetServerInfo. Called from many threads.
  using AddConditions = std::function<void(v1::GetServerInfoResponse*)>;

  // `info`: answer of GetServerInfo, without what changes. The parts that `services` points to must
  // outlive the gRPC server.
  FeaturesService(const CallServices& services, v1::GetServerInfoResponse info,
                  AddConditions add_conditions);

  grpc::ServerUnaryReactor* Extract(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Match(grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* PutReference(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DeleteReference(grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListReferences(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StreamFrames(
      grpc::CallbackServerContext* context) override;

  // Refuses new calls and tells open streams. `reason`: kDraining (open streams may still send
  // frames) or kDeviceLost.
  void Close(ErrorReason reason);
  // Ends the streams whose clients are not known any more (identity.h).
  void CutUnknownStreams();
  // Ends the streams, each when its frames in flight are answered.
  void StopStreams();
  // The open streams.
  std::vector<StreamUse> stream_uses() { return streams_.uses(); }
  // Waits until no call is open or comes; false when `timeout` passed before.
  bool WaitUntilQuiet(std::chrono::milliseconds timeout) { return gate_.WaitUntilQuiet(timeout); }

 private:
  template <typename Call>
  grpc::ServerUnaryReactor* Begin(grpc::CallbackServerContext* context, const CallBytes& bytes);

  const CallServices services_;
  const v1::GetServerInfoResponse info_;
  const AddConditions add_conditions_;
  DrainGate gate_;
  StreamRegistry streams_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_SERVICE_H_
