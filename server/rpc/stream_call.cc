// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/stream_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "orbserve/v1/orbserve.grpc.pb.h"  // how gRPC turns messages into bytes
#include "server/log.h"
#include "server/rpc/answer_size.h"
#include "server/rpc/call_context.h"
#include "server/rpc/conversion/features.h"
#include "server/rpc/conversion/timings.h"
#include "server/rpc/reference_name.h"
#include "server/rpc/status.h"

namespace orbserve {
namespace {

constexpr int kMaxReferencesPerStream = 16;
// Largest answer whose memory a stream keeps for the next one.
constexpr size_t kMostKeptBytes = 256 << 10;

absl::Status BadRequest(absl::string_view message) {
  return MakeError(ErrorReason::kBadRequest, message);
}

grpc::ByteBuffer Serialize(const v1::StreamFramesResponse& message) {
  grpc::ByteBuffer buffer;
  bool own = false;
  // Fails only for messages larger than protobuf allows. The buffer is then empty.
  const grpc::Status status =
      grpc::SerializationTraits<v1::StreamFramesResponse>::Serialize(message, &buffer, &own);
  return status.ok() ? buffer : grpc::ByteBuffer();
}

}  // namespace

absl::StatusOr<uint64_t> StreamRegistry::Add(const std::shared_ptr<StreamCall>& stream,
                                             int max_streams) {
  absl::MutexLock lock(&mutex_);
  if (streams_.size() >= static_cast<size_t>(max_streams)) {
    return MakeError(
        ErrorReason::kQuotaExceeded,
        absl::StrCat(streams_.size(), " streams are open; at most ", max_streams, " may be"));
  }
  streams_.emplace(next_id_, stream);
  return next_id_++;
}

void StreamRegistry::Remove(uint64_t id) {
  absl::MutexLock lock(&mutex_);
  streams_.erase(id);
}

std::vector<std::shared_ptr<StreamCall>> StreamRegistry::All() {
  std::vector<std::shared_ptr<StreamCall>> all;
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, stream] : streams_) {
    if (auto alive = stream.lock()) all.push_back(std::move(alive));
  }
  return all;
}

void StreamRegistry::AnnounceGoingAway() {
  for (const auto& stream : All()) stream->AnnounceGoingAway();
}

void StreamRegistry::StopAll() {
  for (const auto& stream : All()) stream->Stop();
}

StreamCall* StreamCall::Start(const CallServices& services, CallGate& gate,
                              StreamRegistry& registry, grpc::CallbackServerContext* context) {
  auto call = std::make_shared<StreamCall>(services, gate, registry, context);
  call->self_ = call;
  call->Begin();
  return call.get();
}

StreamCall::StreamCall(const CallServices& services, CallGate& gate, StreamRegistry& registry,
                       grpc::CallbackServerContext* context)
    : services_(services),
      gate_(gate),
      registry_(registry),
      context_(context),
      begin_(std::chrono::steady_clock::now()) {
  gate_.Enter();
}

void StreamCall::Begin() {
  absl::Status status = gate_.refusal();
  if (status.ok()) {
    const auto id = registry_.Add(shared_from_this(), services_.streams.max_streams);
    status = id.status();
    if (id.ok()) {
      id_ = *id;
      services_.metrics->StreamOpened();
      open_alarm_ = services_.clock->MakeAlarm([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->OnOpenTimeout();
      });
      open_alarm_->Set(services_.clock->Now() + services_.streams.open_timeout);
    }
  }
  absl::MutexLock lock(&mutex_);
  if (status.ok()) {
    MayRead();
  } else {
    FinishNow(status);
  }
}

void StreamCall::OnReadDone(bool ok) {
  bool opened = false;
  {
    absl::MutexLock lock(&mutex_);
    if (!ok) {
      reading_ = false;
      read_ended_ = true;
      if (!opened_ && end_status_.ok()) {
        end_status_ = BadRequest("the stream ended without its opening message");
      }
      Step();
      return;
    }
    if (finished_) return;
    opened = opened_;
  }

  auto message = std::make_shared<Request>();
  absl::Status status;
  if (!splitter_.Parse(request_, message.get())) {
    // The stream ends here, because the place of later messages in it is unknown.
    status = BadRequest("a message of the stream is not a StreamFramesRequest");
  } else if (!opened) {
    status = message->has_open() ? Open(message->open())
                                 : BadRequest("the first message of a stream must be `open`");
  } else if (message->has_frame()) {
    TakeFrame(std::move(message));
  } else {
    status = BadRequest(message->has_open() ? "a stream is opened once; `open` came again"
                                            : "a message must be `open` or a `frame`");
  }
  request_.Clear();

  absl::MutexLock lock(&mutex_);
  // Only now: a next read that ends on another thread would otherwise overtake this frame.
  reading_ = false;
  if (!status.ok()) {  // earlier frames are answered, then the stream ends with the status
    end_status_ = status;
    read_ended_ = true;
  }
  Step();
}

absl::Status StreamCall::Open(const v1::StreamOpen& open) {
  ORBSERVE_ASSIGN_OR_RETURN(client_, ClientOf(*context_));
  ORBSERVE_ASSIGN_OR_RETURN(ResolvedPipeline pipeline, PipelineFromProto(open.pipeline()));
  switch (open.drop_policy()) {
    case v1::DROP_POLICY_UNSPECIFIED:
    case v1::DROP_POLICY_BLOCK:
      break;
    case v1::DROP_POLICY_NEWEST:
    case v1::DROP_POLICY_OLDEST:
      return MakeError(ErrorReason::kUnsupported,
                       "drop_policy other than BLOCK is not available in this version");
    default:
      return MakeError(ErrorReason::kBadOptions,
                       absl::StrCat("drop_policy must be one of the values known to this server, "
                                    "0 to 3; got ",
                                    static_cast<int>(open.drop_policy())));
  }
  if (open.track()) {
    return MakeError(ErrorReason::kUnsupported, "track is not available in this version");
  }
  if (open.references_size() > kMaxReferencesPerStream) {
    return BadRequest(absl::StrCat("references must name at most ", kMaxReferencesPerStream,
                                   "; got ", open.references_size()));
  }
  StreamSessionOptions options;
  options.client = client_;
  options.match_previous = open.match_previous();
  options.reference_window = pipeline.match;
  for (const std::string& name : open.references()) {
    ORBSERVE_RETURN_IF_ERROR(CheckReferenceName(name));
    options.references.push_back(name);
  }
  match_targets_ =
      static_cast<int64_t>(options.references.size()) + (options.match_previous ? 1 : 0);
  if (options.matches() && DescriptorBytes(pipeline.options.describe.descriptor) == 0) {
    return MakeError(ErrorReason::kBadOptions,
                     "matching needs descriptors; describe.descriptor_type is NONE");
  }
  pipeline_ = std::make_shared<const ResolvedPipeline>(std::move(pipeline));
  deadline_ms_ = open.deadline_ms();
  call_deadline_ = DeadlineOf(*context_);
  omit_features_ = open.omit_features();
  session_keeps_ = options.keep_state();
  session_ = std::make_shared<StreamSession>(
      StreamSessionParts{services_.backend, services_.clock, services_.observer, services_.matcher,
                         services_.tracker, services_.references},
      std::move(options), [weak = weak_from_this()](StreamResult result) {
        if (const auto self = weak.lock()) self->OnResult(std::move(result));
      });

  Response response;
  v1::StreamOpened& opened = *response.mutable_opened();
  opened.set_stream_id(id_);
  opened.set_max_in_flight(static_cast<uint32_t>(services_.streams.max_frames_in_flight));
  PipelineToProto(*pipeline_, opened.mutable_pipeline());
  open_alarm_->Set(kNever);
  absl::MutexLock lock(&mutex_);
  opened_ = true;
  next_answer_bytes_ = MostAnswerBytes(pipeline_->options.select.capacity, pipeline_->match);
  // `opened` goes in front of a GoingAway that is already queued.
  outgoing_.insert(outgoing_.begin() + (writing_ ? 1 : 0), Outgoing{Serialize(response)});
  return absl::OkStatus();
}

void StreamCall::TakeFrame(std::shared_ptr<Request> message) {
  const v1::Frame& frame = message->frame();
  Frame entry;
  entry.sequence = frame.sequence();
  entry.timestamp_ns = frame.timestamp_ns();
  entry.bytes = static_cast<int64_t>(request_.Length());
  entry.arrival = services_.clock->Now();
  FrameSource source;
  source.client = client_;
  source.deadline = call_deadline_;
  const uint32_t deadline_ms = frame.deadline_ms() != 0 ? frame.deadline_ms() : deadline_ms_;
  if (deadline_ms != 0) {
    source.deadline =
        std::min(source.deadline, entry.arrival + std::chrono::milliseconds(deadline_ms));
  }
  source.pipeline = pipeline_;
  source.keep_state = session_keeps_;
  auto match = FrameMatchFromProto(frame.parameters(), pipeline_->match);
  entry.match = match.ok() ? *match : pipeline_->match;
  const int64_t most_features = frame.has_keypoints()
                                    ? std::min<int64_t>(frame.keypoints().x_size(), kMaxFeatures)
                                    : pipeline_->options.select.capacity;
  source.refusal = match.ok() ? gate_.frame_refusal() : match.status();
  source.frame = std::shared_ptr<const v1::Frame>(message, &frame);
  source.pixels = splitter_.pixels();
  source.message_bytes = request_.Length();

  const uint64_t index = session_->AddFrame(
      {.sequence = entry.sequence, .match = entry.match, .deadline = source.deadline});
  {
    absl::MutexLock lock(&mutex_);
    ++in_flight_;
    bytes_in_flight_ += entry.bytes;
    next_answer_bytes_ = MostAnswerBytes(most_features, entry.match);
    if (!finished_) CountAnswer(next_answer_bytes_, &entry.answer_bytes);
    frames_.emplace(index, std::move(entry));
  }
  message.reset();  // `source.frame` holds the message until its pixels are decoded
  const Batcher::Ticket ticket = services_.intake->Submit(
      std::move(source), [self = shared_from_this(), index](ExtractOutcome outcome) {
        self->OnExtracted(index, std::move(outcome));
      });
  bool cancel = false;
  {
    absl::MutexLock lock(&mutex_);
    cancel = finished_;
    if (const auto open = frames_.find(index); open != frames_.end()) open->second.ticket = ticket;
  }
  // OnCancel() may have come before the ticket was known.
  if (cancel) services_.batcher->Cancel(ticket);
}

void StreamCall::OnExtracted(uint64_t index, ExtractOutcome outcome) {
  {
    absl::MutexLock lock(&mutex_);
    if (const auto found = frames_.find(index); found != frames_.end()) {
      Frame& frame = found->second;
      frame.outcome.decode_time = outcome.decode_time;
      const Features* const features = outcome.frame.features.get();
      const int64_t count = features == nullptr ? 0 : static_cast<int64_t>(features->count());
      if (!finished_) CountAnswer(MostAnswerBytes(count, frame.match), &frame.answer_bytes);
      Step();  // the reservation shrank, so that the next frame may fit
    }
  }
  session_->FrameDone(index, std::move(outcome.frame));
}

void StreamCall::OnResult(StreamResult result) {
  Frame frame;
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = frames_.find(result.index);
    if (entry == frames_.end()) return;  // cancelled
    frame = std::move(entry->second);
    frames_.erase(entry);
  }
  LogFailure("StreamFrames.frame", result.outcome.status);
  const auto encode_begin = std::chrono::steady_clock::now();
  response_.Clear();  // keeps its memory
  v1::FrameResult& proto = *response_.mutable_result();
  proto.set_sequence(frame.sequence);
  proto.set_timestamp_ns(frame.timestamp_ns);
  if (!result.outcome.status.ok()) StatusToProto(result.outcome.status, proto.mutable_status());
  for (const TargetMatches& target : result.matches) {
    v1::FrameMatches& matches = *proto.add_matches();
    if (target.target == MatchTarget::kReference) {
      matches.set_target(v1::MATCH_TARGET_REFERENCE);
      matches.set_reference(target.reference);
      matches.set_reference_version(target.reference_version);
    } else {
      matches.set_target(v1::MATCH_TARGET_PREVIOUS);
      matches.set_target_sequence(target.sequence);
    }
    if (target.status.ok()) {
      MatchesToProto(target.matches, matches.mutable_matches());
    } else {
      StatusToProto(target.status, matches.mutable_status());
    }
  }
  if (!omit_features_ && result.outcome.features != nullptr) {
    FeaturesToProto(*result.outcome.features, proto.mutable_features());
  }
  frame.outcome.frame = std::move(result.outcome);
  ExecutionToProto(frame.outcome, proto.mutable_execution());
  TimingsToProto(frame.outcome, frame.arrival, proto.mutable_timings());
  AddMatchTime(result.match_time, proto.mutable_timings());
  Outgoing outgoing{Serialize(response_), frame.bytes, frame.answer_bytes};
  if (outgoing.message.Length() > kMostKeptBytes) Response().Swap(&response_);
  const std::chrono::duration<double> encode = std::chrono::steady_clock::now() - encode_begin;
  services_.metrics->ObservePhase(FramePhase::kEncode, encode.count());
  ObserveFrame(frame);

  absl::MutexLock lock(&mutex_);
  if (finished_) return;
  CountAnswer(static_cast<int64_t>(outgoing.message.Length()), &outgoing.answer_bytes);
  outgoing_.push_back(std::move(outgoing));
  Step();
}

void StreamCall::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  const int64_t frame_bytes = outgoing_.front().frame_bytes;
  if (!finished_) CountAnswer(0, &outgoing_.front().answer_bytes);
  outgoing_.pop_front();
  if (frame_bytes >= 0) {
    --in_flight_;
    bytes_in_flight_ -= frame_bytes;
  }
  // A failed write means that the call is over; OnCancel() ends it.
  if (ok) Step();
}

void StreamCall::AnnounceGoingAway() {
  absl::MutexLock lock(&mutex_);
  if (finished_ || going_away_) return;
  going_away_ = true;
  Response response;
  StatusToProto(gate_.refusal(), response.mutable_going_away()->mutable_status());
  outgoing_.push_back(Outgoing{Serialize(response)});
  Step();
}

void StreamCall::Stop() {
  absl::MutexLock lock(&mutex_);
  if (finished_) return;
  if (end_status_.ok()) end_status_ = gate_.refusal();
  read_ended_ = true;
  Step();
}

void StreamCall::OnOpenTimeout() {
  absl::MutexLock lock(&mutex_);
  if (opened_ || read_ended_ || finished_) return;
  end_status_ = MakeError(ErrorReason::kDeadlineExceeded,
                          absl::StrCat("the stream was not opened within ",
                                       services_.streams.open_timeout.count(), " ms"));
  read_ended_ = true;
  Step();
}

int64_t StreamCall::MostAnswerBytes(int64_t features, const MatchOptions& match) const {
  int64_t bytes = kOtherWireBytes + features * match_targets_ * match.k * kMatchWireBytes;
  // Features that are not sent are held while they are matched.
  if (!omit_features_ || match_targets_ > 0) {
    bytes += MostWireBytes(features, pipeline_->options.describe.descriptor);
  }
  return bytes;
}

void StreamCall::CountAnswer(int64_t bytes, int64_t* counted) {
  const int64_t change = bytes - *counted;
  *counted = bytes;
  answer_bytes_ += change;
  registry_.AddAnswerBytes(change);
  services_.metrics->AddStreamAnswerBytes(change);
}

bool StreamCall::NextAnswerFits() const {
  return answer_bytes_ + next_answer_bytes_ <= services_.streams.max_answer_bytes &&
         registry_.answer_bytes() + next_answer_bytes_ <= services_.streams.max_answer_bytes_of_all;
}

void StreamCall::Step() {
  if (finished_) return;
  MayWrite();
  MayRead();
  MayFinish();
}

void StreamCall::MayRead() {
  if (reading_ || read_ended_ || in_flight_ >= services_.streams.max_frames_in_flight) return;
  if (in_flight_ > 0 &&
      (bytes_in_flight_ >= services_.streams.max_bytes_in_flight || !NextAnswerFits())) {
    return;
  }
  reading_ = true;
  StartRead(&request_);
}

void StreamCall::MayWrite() {
  if (writing_ || outgoing_.empty() || !opened_) return;
  writing_ = true;
  StartWrite(&outgoing_.front().message);
}

void StreamCall::MayFinish() {
  if (!read_ended_ || in_flight_ > 0 || writing_) return;
  if (opened_ && !outgoing_.empty()) return;
  FinishNow(end_status_);
}

void StreamCall::FinishNow(const absl::Status& status) {
  finished_ = true;
  code_ = status.code();
  LogFailure("StreamFrames", status);
  Finish(StatusToGrpc(status, context_));
}

void StreamCall::ObserveFrame(const Frame& frame) {
  const std::chrono::duration<double> time = services_.clock->Now() - frame.arrival;
  services_.metrics->ObserveFrame("StreamFrames", time.count());
}

void StreamCall::ForgetFrames() {
  for (const auto& [index, frame] : frames_) ObserveFrame(frame);
  frames_.clear();
}

void StreamCall::OnCancel() {
  std::vector<Batcher::Ticket> tickets;
  std::shared_ptr<StreamSession> session;
  {
    absl::MutexLock lock(&mutex_);
    if (!finished_) FinishNow(MakeError(ErrorReason::kCancelled, "the client went away"));
    for (const auto& [index, frame] : frames_) tickets.push_back(frame.ticket);
    ForgetFrames();
    if (opened_) session = session_;
  }
  if (session != nullptr) session->Close();
  for (const Batcher::Ticket ticket : tickets) services_.batcher->Cancel(ticket);
}

void StreamCall::OnDone() {
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin_;
  open_alarm_.reset();
  absl::StatusCode code;
  {
    absl::MutexLock lock(&mutex_);
    code = code_;
    // Freed here, because frames that the backend still computes hold the call a little longer.
    outgoing_.clear();
    ForgetFrames();
    registry_.AddAnswerBytes(-answer_bytes_);
    services_.metrics->AddStreamAnswerBytes(-answer_bytes_);
    answer_bytes_ = 0;
  }
  services_.metrics->ObserveRequest("StreamFrames", code, time.count());
  if (id_ != 0) {
    registry_.Remove(id_);
    services_.metrics->StreamClosed();
  }
  if (session_ != nullptr) session_->Close();
  CallGate& gate = gate_;
  self_.reset();
  gate.Leave();
}

}  // namespace orbserve
