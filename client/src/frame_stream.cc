// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "client/src/status.h"
#include "grpcpp/alarm.h"
#include "orbserve/client.h"

namespace orbserve::client {

absl::StatusOr<std::unique_ptr<FrameStream>> Client::OpenStream(const v1::StreamOpen& open) {
  std::unique_ptr<FrameStream> result(new FrameStream());
  if (!options_.client_id.empty()) result->context_.AddMetadata("x-client-id", options_.client_id);

  // An alarm limits the opening only. A deadline of the call would end a healthy stream.
  grpc::Alarm alarm;
  std::atomic<bool> timed_out = false;
  absl::Mutex alarm_mutex;
  bool alarm_done = true;
  if (options_.timeout != absl::InfiniteDuration()) {
    alarm_done = false;
    alarm.Set(absl::ToChronoTime(absl::Now() + options_.timeout), [&](bool expired) {
      if (expired) {
        timed_out = true;
        result->context_.TryCancel();
      }
      absl::MutexLock lock(&alarm_mutex);
      alarm_done = true;
    });
  }

  result->stream_ = stub_->StreamFrames(&result->context_);
  v1::StreamFramesRequest request;
  *request.mutable_open() = open;
  v1::StreamFramesResponse response;
  const bool answered = result->stream_->Write(request) && result->stream_->Read(&response);

  alarm.Cancel();
  {
    absl::MutexLock lock(&alarm_mutex);
    alarm_mutex.Await(absl::Condition(&alarm_done));
  }
  if (timed_out.load()) {
    result->Cancel();
    (void)result->Finish();
    return absl::DeadlineExceededError(
        "the server did not answer the opening of the stream in time");
  }
  if (!answered) {
    const absl::Status status = result->Finish();
    return status.ok() ? absl::InternalError("the server ended the stream without an answer")
                       : status;
  }
  if (response.has_going_away()) {
    result->Cancel();
    (void)result->Finish();
    const absl::Status status = StatusFromWire(response.going_away().status());
    return status.ok() ? absl::UnavailableError("the server is about to stop") : status;
  }
  if (!response.has_opened()) {
    result->Cancel();
    (void)result->Finish();
    return absl::InternalError("the server's first answer on the stream is not `opened`");
  }
  result->opened_ = std::move(*response.mutable_opened());
  return result;
}

FrameStream::~FrameStream() {
  if (stream_ == nullptr || final_status_.has_value()) return;
  context_.TryCancel();
  (void)Finish();
}

absl::Status FrameStream::Finish() {
  if (!final_status_.has_value()) {
    // gRPC reports the outcome only after the incoming messages were read to their end.
    v1::StreamFramesResponse rest;
    while (stream_->Read(&rest)) {
    }
    final_status_ = FromGrpc(stream_->Finish(), cancelled_.load());
  }
  return *final_status_;
}

absl::Status FrameStream::Send(v1::Frame frame) {
  v1::StreamFramesRequest request;
  *request.mutable_frame() = std::move(frame);
  if (stream_->Write(request)) return absl::OkStatus();
  return absl::CancelledError("the stream has ended");
}

absl::Status FrameStream::CloseSend() {
  if (send_closed_.exchange(true)) return absl::OkStatus();
  if (stream_->WritesDone()) return absl::OkStatus();
  return absl::CancelledError("the stream has ended");
}

absl::StatusOr<std::optional<v1::FrameResult>> FrameStream::Receive() {
  v1::StreamFramesResponse response;
  while (!final_status_.has_value() && stream_->Read(&response)) {
    if (response.has_result()) return std::move(*response.mutable_result());
    if (response.has_going_away()) going_away_.store(true, std::memory_order_relaxed);
  }
  if (const absl::Status status = Finish(); !status.ok()) return status;
  return std::optional<v1::FrameResult>();
}

void FrameStream::Cancel() {
  cancelled_.store(true);
  context_.TryCancel();
}

}  // namespace orbserve::client
