// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_REFERENCE_CALLS_H_
#define ORBSERVE_SERVER_RPC_REFERENCE_CALLS_H_

#include <memory>

#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/arena_messages.h"
#include "server/rpc/call.h"
#include "server/serving/client_id.h"

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
  void End(const absl::Status& status);

  const v1::PutReferenceRequest& request_;
  v1::PutReferenceResponse& response_;
  ClientId client_;
  Batcher::Ticket ticket_ = 0;  // set inside Start()
};

class DeleteReferenceCall final : public UnaryCall {
 public:
  DeleteReferenceCall(const CallServices& services, CallGate& gate,
                      grpc::CallbackServerContext* context);
  void Start(const v1::DeleteReferenceRequest& request);
};

// One page of the references of the caller. CallServices::lists builds it, one after the other, so
// that many calls take neither gRPC's threads nor memory for more than the answers' share.
class ListReferencesCall final : public UnaryCall {
 public:
  ListReferencesCall(const CallServices& services, CallGate& gate,
                     grpc::CallbackServerContext* context, v1::ListReferencesResponse* response);
  void Start(const v1::ListReferencesRequest& request);

 private:
  absl::Status ReadOptions(const v1::ListReferencesRequest& request);
  absl::Status List();

  v1::ListReferencesResponse& response_;
  ClientId client_;
  std::string after_;
  size_t page_size_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_REFERENCE_CALLS_H_
