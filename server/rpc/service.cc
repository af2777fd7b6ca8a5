// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/service.h"

#include <utility>

#include "server/rpc/health_descriptor.h"

namespace orbserve {
namespace {

class GetServerInfoCall final : public UnaryCall {
 public:
  GetServerInfoCall(const CallServices& services, CallGate& gate,
                    grpc::CallbackServerContext* context)
      : UnaryCall(services, gate, context, "GetServerInfo") {}
  void Start() { FinishWith(absl::OkStatus()); }
};

}  // namespace

FeaturesService::FeaturesService(const CallServices& services, v1::GetServerInfoResponse info)
    : services_(services), info_(std::move(info)) {
  AddHealthDescriptor();
  SetMessageAllocatorFor_Extract(&extract_messages_);
  SetMessageAllocatorFor_Match(&match_messages_);
  SetMessageAllocatorFor_PutReference(&put_reference_messages_);
}

// The objects below delete themselves when gRPC is done with them.

grpc::ServerUnaryReactor* FeaturesService::Extract(grpc::CallbackServerContext* context,
                                                   const v1::ExtractRequest* request,
                                                   v1::ExtractResponse* response) {
  auto* const call = new ExtractCall(services_, gate_, context, request, response);
  call->Start();
  return call;
}

grpc::ServerUnaryReactor* FeaturesService::Match(grpc::CallbackServerContext* context,
                                                 const v1::MatchRequest* request,
                                                 v1::MatchResponse* response) {
  auto* const call = new MatchCall(services_, gate_, context, request, response);
  call->Start();
  return call;
}

grpc::ServerUnaryReactor* FeaturesService::PutReference(grpc::CallbackServerContext* context,
                                                        const v1::PutReferenceRequest* request,
                                                        v1::PutReferenceResponse* response) {
  auto* const call = new PutReferenceCall(services_, gate_, context, request, response);
  call->Start();
  return call;
}

grpc::ServerUnaryReactor* FeaturesService::DeleteReference(
    grpc::CallbackServerContext* context, const v1::DeleteReferenceRequest* request,
    v1::DeleteReferenceResponse*) {
  auto* const call = new DeleteReferenceCall(services_, gate_, context);
  call->Start(*request);
  return call;
}

grpc::ServerUnaryReactor* FeaturesService::ListReferences(grpc::CallbackServerContext* context,
                                                          const v1::ListReferencesRequest* request,
                                                          v1::ListReferencesResponse* response) {
  auto* const call = new ListReferencesCall(services_, gate_, context, response);
  call->Start(*request);
  return call;
}

grpc::ServerUnaryReactor* FeaturesService::GetServerInfo(grpc::CallbackServerContext* context,
                                                         const v1::GetServerInfoRequest*,
                                                         v1::GetServerInfoResponse* response) {
  *response = info_;
  auto* const call = new GetServerInfoCall(services_, gate_, context);
  call->Start();
  return call;
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* FeaturesService::StreamFrames(
    grpc::CallbackServerContext* context) {
  return StreamCall::Start(services_, gate_, streams_, context);
}

void FeaturesService::Close(ErrorReason reason) {
  gate_.Close(reason);
  streams_.AnnounceGoingAway();
}

}  // namespace orbserve
