// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_REFERENCE_CALLS_H_
#define ORBSERVE_SERVER_RPC_REFERENCE_CALLS_H_

#include <memory>

#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/arena_messages.h"
#include "server/rpc/call.h"

namespace orbserve {

using PutReferenceMessages = ArenaMessages<v1::PutReferenceRequest, v1::PutReferenceResponse>;

// Stores features, sent as such or extracted from an image, under a name.
class PutReferenceCall final : public UnaryCall {
 public:
  PutReferenceCall(const CallServices& services, CallGate& gate,
                   grpc::CallbackServerContext* context, const v1::PutReferenceRequest* request,
                   v1::PutReferenceResponse* response);

  void Start();
  void OnCancel() override;

 private:
  absl::Status ReadOptions(std::shared_ptr<const ResolvedPipeline>& pipeline);
  void OnExtracted(const ExtractOutcome& outcome);
  // Stores the features and fills in the response.
  absl::Status Put(std::shared_ptr<const Features> features);

  const v1::PutReferenceRequest& request_;
  v1::PutReferenceResponse& response_;
  Batcher::Ticket ticket_ = 0;  // set inside Start()
};

class DeleteReferenceCall final : public UnaryCall {
 public:
  DeleteReferenceCall(const CallServices& services, CallGate& gate,
                      grpc::CallbackServerContext* context);
  void Start(const v1::DeleteReferenceRequest& request);
};

class ListReferencesCall final : public UnaryCall {
 public:
  ListReferencesCall(const CallServices& services, CallGate& gate,
                     grpc::CallbackServerContext* context);
  void Start(v1::ListReferencesResponse* response);
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_REFERENCE_CALLS_H_
