// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/unary_call.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/strip.h"
#include "features/errors.h"
#include "server/process/log.h"
#include "server/rpc/frame_input.h"
#include "server/rpc/grpc_deadline.h"
#include "server/rpc/status.h"
#include "server/rpc/wire_message.h"

namespace orbserve {

absl::string_view MethodOf(const google::protobuf::Descriptor& request) {
  return absl::StripSuffix(request.name(), "Request");
}

UnaryCall::UnaryCall(const CallServices& services, DrainGate& gate, const CallBegin& begin,
                     const google::protobuf::Message& request,
                     const google::protobuf::Message& response)
    : services_(services),
      gate_(gate),
      context_(begin.context),
      begin_(std::chrono::steady_clock::now()),
      deadline_(DeadlineOf(*context_)),
      request_arena_(std::make_shared<google::protobuf::Arena>()),
      request_message_(request.New(request_arena_.get())),
      response_arena_(std::make_unique<google::protobuf::Arena>()),
      response_message_(response.New(response_arena_.get())),
      request_bytes_(const_cast<grpc::ByteBuffer&>(*begin.request)),
      response_bytes_(*begin.response),
      method_(MethodOf(*request.GetDescriptor())),
      ticket_(gate_.Enter()) {}

void UnaryCall::Begin(const WireRules& rules) {
  Guard([&] {
    const absl::Status status = ReadRequest(rules);
    if (status.ok()) {
      Start();
    } else {
      FinishWith(status);
    }
  });
}

absl::Status UnaryCall::ReadRequest(const WireRules& rules) {
  ORBSERVE_ASSIGN_OR_RETURN(client_, services_.identity->ClientOf(*context_));
  held_response_ = Holding(services_.ledger->Open(client_), Resource::kUnaryResponseBytes);
  absl::Status status = services_.memory->Check(request_bytes_.Length());
  if (status.ok()) {
    status = WithoutBadAlloc([&] { return ParseMessage(request_bytes_, rules, request_message_); });
  }
  request_bytes_.Clear();
  return status;
}

absl::Status UnaryCall::ExpectResponse(int64_t wire_bytes) {
  constexpr int64_t kForms = 2;  // gRPC keeps the message beside its bytes
  const std::optional<Refusal> full = held_response_.Resize(kForms * wire_bytes);
  return full.has_value() ? full->status() : absl::OkStatus();
}

void UnaryCall::OnCancel() {
  for (int i = 0; i < frames_; ++i) services_.batcher->Cancel(tickets_[static_cast<size_t>(i)]);
}

void UnaryCall::SubmitFrame(std::shared_ptr<const v1::Frame> frame,
                            std::shared_ptr<const ResolvedPipeline> pipeline, KeepState keep_state,
                            size_t message_bytes, const absl::Status& refusal, FrameDone done) {
  services_.frames->Received(client_, ImageBytes(*frame));
  const auto index = static_cast<size_t>(frames_++);
  FrameTimes& times = times_[index];
  const auto record = std::make_shared<FrameRecord>();
  record->outcome.times.Begin(begin_);
  record->client = client_;
  record->deadline = deadline_;
  record->message_bytes = static_cast<int64_t>(std::max(frame->ByteSizeLong(), message_bytes));
  record->done = [&times, done = std::move(done)](FrameRecord& ended) mutable {
    times = ended.outcome.times;
    std::move(done)(ended);
  };
  auto input = std::make_shared<UnaryFrameInput>(std::move(frame));
  input->client = client_;
  input->SetPipeline(std::move(pipeline));
  input->keep_state = keep_state;
  record->input = std::move(input);
  services_.intake->Submit(record, refusal);
  tickets_[index] = record->ticket;
}

void UnaryCall::FinishWith(const absl::Status& status) {
  FreeRequest();
  absl::Status sent = status;
  if (sent.ok()) sent = ExpectResponse(static_cast<int64_t>(response_message_->ByteSizeLong()));
  if (sent.ok()) {
    sent = WithoutBadAlloc([this] {
      response_bytes_ = ToByteBuffer(SerializeToBytes(*response_message_));
      response_arena_.reset();
      return absl::OkStatus();
    });
  }
  // The last moment: nothing but gRPC comes behind.
  sent = services_.frames->Told(std::move(sent), deadline_);
  if (sent.ok() && context_->IsCancelled()) sent = CancelledStatus();
  if (!sent.ok()) held_response_.Set(0);
  code_ = sent.code();
  LogFailure(method_, sent, [this] { return DisplayName(client_); });
  for (int i = 0; i < frames_; ++i) {
    services_.frames->Ended(method_, client_, times_[static_cast<size_t>(i)], sent,
                            sent.ok() ? std::exchange(keypoints_, 0) : 0);
  }
  // Only an answer can wait for its client: a status alone needs no leave from HTTP/2 flow control.
  if (sent.ok()) services_.send_timeouts->Begin(watch_, context_);
  Finish(StatusToGrpc(sent, context_));
}

void UnaryCall::OnDone() {
  services_.send_timeouts->End(watch_);
  held_response_.Set(0);
  const auto time = std::chrono::steady_clock::now() - begin_;
  services_.metrics->ObserveRequest(method_, code_, std::chrono::duration<double>(time).count());
  LogCall(method_, code_, time, [this] { return CallerForLog(client_, context_->peer()); });
  Drop();
}

void UnaryCall::Drop() {
  if (holds_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  DrainGate& gate = gate_;
  const DrainGate::Ticket ticket = ticket_;
  delete this;
  gate.Leave(ticket);  // last, because the server may be destroyed from here on
}

}  // namespace orbserve
