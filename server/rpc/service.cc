// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/service.h"

#include <string>

#include "grpcpp/support/server_callback.h"
#include "server/process/memory/out_of_memory.h"
#include "server/rpc/stream_call.h"

namespace orbserve {
namespace {

// Time in which clients must have read answers when the server is about to stop: one that never
// reads must not use up the time of the drain.
constexpr std::chrono::milliseconds kReadingTimeAtEnd{2000};

class GetServerInfoCall final
    : public MessageCall<v1::GetServerInfoRequest, v1::GetServerInfoResponse> {
 public:
  using MessageCall::MessageCall;

 private:
  void Start() override {
    response_ = services_.server_info();
    FinishWith(absl::OkStatus());
  }
};

int NumberOf(absl::string_view method) {
  const auto& service = *v1::ExtractRequest::descriptor()->file()->service(0);
  return service.FindMethodByName(std::string(method))->index();
}

}  // namespace

FeaturesService::FeaturesService(const CallServices& services)
    : services_(services),
      streams_(services.ledger,
               {.max_streams = services.streams.max_streams,
                .max_streams_per_owner = services.streams.max_streams_per_client}) {
  AddUnary(ExtractMethod());
  AddUnary(MatchMethod());
  for (const UnaryMethod& method : ReferenceMethods()) AddUnary(method);
  AddUnary(MethodOfCall<GetServerInfoCall>());
  MarkMethodRawCallback(NumberOf("StreamFrames"),
                        new grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
                            [this](grpc::CallbackServerContext* context) {
                              return StartStream(services_, gate_, streams_, context);
                            }));
  OutOfMemoryStatus();  // made while there is memory
}

void FeaturesService::AddUnary(const UnaryMethod& method) {
  MarkMethodRawCallback(
      NumberOf(MethodOf(*method.request)),
      new grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
          [this, begin = method.begin](grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) {
            return begin(services_, gate_, {context, request, response});
          }));
}

void FeaturesService::Close(ErrorReason reason) {
  gate_.Close(reason);
  services_.send_timeouts->Shorten(kReadingTimeAtEnd);
  for (const auto& stream : streams_.streams()) stream->AnnounceGoingAway(gate_.refusal());
}

void FeaturesService::CutUnknownStreams() {
  for (const auto& stream : streams_.streams()) {
    if (services_.identity->IsKnown(stream->client())) continue;
    stream->Preempt(
        AbortCause::kCredentials,
        MakeError(ErrorReason::kUnauthenticated, "the token of the stream is not valid any more"));
  }
}

void FeaturesService::StopStreams() {
  for (const auto& stream : streams_.streams()) stream->Stop(gate_.refusal());
}

}  // namespace orbserve
