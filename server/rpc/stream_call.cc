// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/stream_call.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "features/errors.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/process/memory/out_of_memory.h"
#include "server/rpc/conversion/frame_result.h"
#include "server/rpc/frame_input.h"
#include "server/rpc/frame_splitter.h"
#include "server/rpc/grpc_deadline.h"
#include "server/rpc/resolved_stream.h"
#include "server/rpc/status.h"
#include "server/rpc/wire_message.h"
#include "server/serving/stream/stream.h"

namespace orbserve {
namespace {

// Largest message whose memory is kept for the next one.
constexpr size_t kMaxKeptBytes = 256 << 10;

absl::Status BadRequest(absl::string_view message) {
  return MakeError(ErrorReason::kBadRequest, message);
}

// Call of one robot's stream: a reader, which turns messages into requests for frames, a writer,
// which turns finished frames into messages, and an end. What is read, computed, dropped and
// written when is up to the stream (server/serving/stream/stream.h).
//
// gRPC runs the reactions, one read and one write at a time, and never inside the operations that
// the stream starts: reactions go to its executor.
class StreamCall final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                         public StreamWire {
 public:
  StreamCall(const CallServices& services, DrainGate& gate, grpc::CallbackServerContext* context)
      : services_(services), gate_(gate), context_(context), ticket_(gate_.Enter()) {}

  void Start(StreamRegistry& registry) {
    self_ = std::shared_ptr<StreamCall>(this);
    stream_ = std::make_shared<Stream>(services_, &registry, self_);
    ClientId client;
    const absl::Status status = [&]() -> absl::Status {
      ORBSERVE_RETURN_IF_ERROR(gate_.refusal());
      ORBSERVE_ASSIGN_OR_RETURN(client, services_.identity->ClientOf(*context_));
      return absl::OkStatus();
    }();
    stream_->Start(status, client, context_->peer(), DeadlineOf(*context_));
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      stream_->ReadEnded();
      return;
    }
    if (!stream_->Received()) return;
    const absl::Status status = WithoutBadAlloc([this] { return TakeMessage(); });
    read_buffer_.Clear();
    stream_->ReadOn(status);
  }
  void OnWriteDone(bool ok) override { stream_->Written(ok); }
  void OnCancel() override { stream_->Cancelled(); }
  void OnDone() override {
    read_buffer_.Clear();
    write_buffer_.Clear();
    stream_->Done();
    stream_.reset();
    DrainGate& gate = gate_;
    const DrainGate::Ticket ticket = ticket_;
    self_.reset();
    gate.Leave(ticket);
  }

  void Read() override { StartRead(&read_buffer_); }
  void Write(MessageBytes message) override {
    write_buffer_ = ToByteBuffer(std::move(message));
    StartWrite(&write_buffer_);
  }
  void End(const absl::Status& status) override { Finish(StatusToGrpc(status, context_)); }
  void Cancel() override { context_->TryCancel(); }
  bool IsCancelled() const override { return context_->IsCancelled(); }
  MessageBytes Encode(StreamFrame& frame) override {
    MessageBytes message;
    const absl::Status encoded = WithoutBadAlloc([&] {
      response_.Clear();  // keeps its memory
      FrameResultToProto(frame, response_.mutable_result());
      message = SerializeToBytes(response_);
      return absl::OkStatus();
    });
    StreamResult left;
    left.outcome.status = encoded.ok() ? std::move(frame.result.outcome.status) : encoded;
    left.outcome.times = frame.result.outcome.times;
    frame.result = std::move(left);
    if (!encoded.ok()) message = EncodeFailure(frame, encoded);
    if (!encoded.ok() || message.size > kMaxKeptBytes) v1::StreamFramesResponse().Swap(&response_);
    return message;
  }
  MessageBytes EncodeFailure(const StreamFrame& frame, const absl::Status& status) override {
    v1::StreamFramesResponse response;
    FrameFailureToProto(frame, status, response.mutable_result());
    return SerializeToBytes(response);
  }
  MessageBytes EncodeGoingAway(const absl::Status& reason) override {
    v1::StreamFramesResponse response;
    StatusToProto(reason, response.mutable_going_away()->mutable_status());
    return SerializeToBytes(response);
  }

 private:
  absl::Status TakeMessage() {
    auto message = std::make_shared<StreamMessage>();
    // A message that cannot be parsed ends the stream: it is unknown which frame it was.
    ORBSERVE_RETURN_IF_ERROR(splitter_.Parse(read_buffer_, &message->request));
    if (message->request.has_open()) return Open(message->request.open());
    if (resolved_ == nullptr) return BadRequest("the first message of a stream must be `open`");
    if (!message->request.has_frame()) return BadRequest("a message must be `open` or a `frame`");
    TakeFrame(std::move(message));
    return absl::OkStatus();
  }

  absl::Status Open(const v1::StreamOpen& open) {
    ORBSERVE_ASSIGN_OR_RETURN(ResolvedStream parsed,
                              StreamFromProto(open, services_.streams, stream_->client()));
    const auto resolved = std::make_shared<const ResolvedStream>(std::move(parsed));
    v1::StreamFramesResponse response;
    v1::StreamOpened& opened = *response.mutable_opened();
    opened.set_stream_id(stream_->id());
    StreamToProto(*resolved, &opened);
    *opened.mutable_limits() = services_.server_limits;
    const ResponseBound bound =
        resolved->ResponseBoundOf(resolved->WantedFeatures({}), resolved->pipeline->match);
    stream_->Open(std::shared_ptr<const StreamOptions>(resolved, &resolved->options),
                  bound.For(resolved->pipeline->options.select.capacity),
                  SerializeToBytes(response));
    resolved_ = resolved;
    return absl::OkStatus();
  }

  void TakeFrame(std::shared_ptr<StreamMessage> message) {
    const v1::Frame& proto = message->request.frame();
    const ResolvedStream& resolved = *resolved_;
    const ResolvedPipeline& pipeline = *resolved.pipeline;
    const size_t wire_bytes = read_buffer_.Length();
    const int64_t image_bytes = ImageBytes(proto, splitter_.pixels());
    auto match = FrameMatchFromProto(proto.parameters(), pipeline.match);

    auto frame = std::make_shared<StreamFrame>();
    frame->sequence = proto.sequence();
    frame->timestamp_ns = proto.timestamp_ns();
    frame->match = match.ok() ? *match : pipeline.match;
    frame->max_features = resolved.WantedFeatures(proto.parameters());
    frame->keyframe = proto.keyframe();
    frame->time_limit = std::chrono::milliseconds(proto.deadline_ms() != 0 ? proto.deadline_ms()
                                                                           : resolved.deadline_ms);
    frame->response_bound = resolved.ResponseBoundOf(frame->max_features, frame->match);
    frame->most_features = proto.has_keypoints()
                               ? std::min<int64_t>(proto.keypoints().x_size(), kMaxFeatures)
                               : pipeline.options.select.capacity;
    frame->options = std::shared_ptr<const StreamOptions>(resolved_, &resolved.options);
    frame->message_bytes = static_cast<int64_t>(wire_bytes);

    absl::Status refusal = match.ok() ? gate_.frame_refusal() : match.status();
    if (refusal.ok()) refusal = services_.memory->Check(wire_bytes);
    if (refusal.ok() && proto.parameters().max_features() <= kMaxFeatures) {
      refusal = resolved.CheckTracks(frame->max_features);
    }
    message->client = stream_->client();
    message->SetPipeline(resolved.pipeline);
    message->keep_state = resolved.options.keep_state();
    message->track_levels = pipeline.track.levels;
    message->KeepFrame(&read_buffer_, splitter_.TakePixels());
    frame->input = std::move(message);
    stream_->Take(frame, image_bytes, refusal);
  }

  const CallServices& services_;
  DrainGate& gate_;
  grpc::CallbackServerContext* const context_;
  const DrainGate::Ticket ticket_;
  std::shared_ptr<StreamCall> self_;  // held for gRPC until OnDone()
  std::shared_ptr<Stream> stream_;

  // The reader alone uses these.
  grpc::ByteBuffer read_buffer_;
  FrameSplitter splitter_;
  std::shared_ptr<const ResolvedStream> resolved_;  // of the last `open`; null before the first

  // The writer alone uses these.
  grpc::ByteBuffer write_buffer_;
  v1::StreamFramesResponse response_;
};

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartStream(
    const CallServices& services, DrainGate& gate, StreamRegistry& registry,
    grpc::CallbackServerContext* context) {
  auto* const call = new StreamCall(services, gate, context);
  call->Start(registry);
  return call;
}

}  // namespace orbserve
