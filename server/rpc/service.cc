// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/service.h"

#include <utility>

#include "server/rpc/message_call.h"

namespace orbserve {
namespace {

// Time in which clients must have read answers when the server is about to stop: one that never
// reads must not use up the time of the drain.
constexpr std::chrono::milliseconds kReadingTimeAtEnd{2000};

class GetServerInfoCall final
    : public MessageCall<v1::GetServerInfoRequest, v1::GetServerInfoResponse> {
 public:
  using MessageCall::MessageCall;

  void Start(const v1::GetServerInfoResponse& info,
             const FeaturesService::AddConditions& add_conditions) {
    const absl::Status status = ReadRequest();
    if (status.ok()) {
      response_ = info;
      add_conditions(&response_);
    }
    FinishWith(status);
  }
};

}  // namespace

FeaturesService::FeaturesService(const CallServices& services, v1::GetServerInfoResponse info,
                                 AddConditions add_conditions)
    : services_(services),
      info_(std::move(info)),
      add_conditions_(std::move(add_conditions)),
      streams_(services.ledger,
               {.max_streams = services.streams.max_streams,
                .max_streams_per_owner = services.streams.max_streams_per_client}) {
  // Made while there is memory.
  OutOfMemoryStatus();
  v1::ExtractRequest::descriptor();
}

// The objects below delete themselves when gRPC is done with them.

template <typename Call>
grpc::ServerUnaryReactor* FeaturesService::Begin(grpc::CallbackServerContext* context,
                                                 const CallBytes& bytes) {
  auto* const call = new Call(services_, gate_, context, bytes);
  call->Guard([call] { call->Start(); });
  return call;
}

grpc::ServerUnaryReactor* FeaturesService::Extract(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request,
                                                   grpc::ByteBuffer* response) {
  return Begin<ExtractCall>(context, {request, response});
}

grpc::ServerUnaryReactor* FeaturesService::Match(grpc::CallbackServerContext* context,
                                                 const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* response) {
  return Begin<MatchCall>(context, {request, response});
}

grpc::ServerUnaryReactor* FeaturesService::PutReference(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request,
                                                        grpc::ByteBuffer* response) {
  return Begin<PutReferenceCall>(context, {request, response});
}

grpc::ServerUnaryReactor* FeaturesService::DeleteReference(grpc::CallbackServerContext* context,
                                                           const grpc::ByteBuffer* request,
                                                           grpc::ByteBuffer* response) {
  return Begin<DeleteReferenceCall>(context, {request, response});
}

grpc::ServerUnaryReactor* FeaturesService::ListReferences(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request,
                                                          grpc::ByteBuffer* response) {
  return Begin<ListReferencesCall>(context, {request, response});
}

grpc::ServerUnaryReactor* FeaturesService::GetServerInfo(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* request,
                                                         grpc::ByteBuffer* response) {
  auto* const call = new GetServerInfoCall(services_, gate_, context, CallBytes{request, response});
  call->Guard([this, call] { call->Start(info_, add_conditions_); });
  return call;
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* FeaturesService::StreamFrames(
    grpc::CallbackServerContext* context) {
  return StreamCall::Start(services_, gate_, streams_, context);
}

void FeaturesService::Close(ErrorReason reason) {
  gate_.Close(reason);
  services_.send_timeouts->Shorten(kReadingTimeAtEnd);
  for (const auto& stream : streams_.streams()) stream->AnnounceGoingAway(gate_.refusal());
}

void FeaturesService::CutUnknownStreams() {
  for (const auto& stream : streams_.streams()) {
    if (!services_.identity->IsKnown(stream->client())) stream->CutUnknown();
  }
}

void FeaturesService::StopStreams() {
  for (const auto& stream : streams_.streams()) stream->Stop(gate_.refusal());
}

}  // namespace orbserve
