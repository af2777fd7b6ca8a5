// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/stream_call.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "server/process/log.h"
#include "server/process/memory/out_of_memory.h"
#include "server/rpc/call_context.h"
#include "server/rpc/status.h"
#include "server/rpc/wire_message.h"

namespace orbserve {
namespace {

// Results that may lie unread beside those of frames that are in flight or wait. Results of dropped
// frames have some hundred bytes.
constexpr int kMaxUnreadResults = 256;
// A stream that was cut, and one whose client went away, is cancelled if it has not ended by then.
constexpr std::chrono::milliseconds kGracePeriod{1000};

absl::Status BadRequest(absl::string_view message) {
  return MakeError(ErrorReason::kBadRequest, message);
}

// `policy`: of the frame whose arrival found the room full. `is_arriving`: it is dropped itself.
absl::Status DroppedStatus(DropPolicy policy, bool is_arriving, const StreamLimits& limits) {
  return MakeError(ErrorReason::kDropped,
                   absl::StrCat(is_arriving ? "earlier frames have all places"
                                            : "a newer frame took the place of this one",
                                policy == DropPolicy::kNewest ? " (drop_policy NEWEST)"
                                                              : " (drop_policy OLDEST)",
                                "; at most ", limits.max_frames_waiting, " frames with ",
                                limits.max_bytes_waiting, " bytes wait"));
}

}  // namespace

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
      begin_(std::chrono::steady_clock::now()),
      room_(services.streams.max_frames_waiting, services.streams.max_bytes_waiting),
      ticket_(gate_.Enter()) {}

void StreamCall::Begin() {
  {
    // Made first: once the registry knows the stream, another one may take its place.
    absl::MutexLock lock(&mutex_);
    alarm_ = services_.clock->MakeAlarm([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->OnAlarm();
    });
  }
  const SteadyTime now = services_.clock->Now();
  const absl::Status status = [&]() -> absl::Status {
    ORBSERVE_RETURN_IF_ERROR(gate_.refusal());
    ORBSERVE_ASSIGN_OR_RETURN(client_, services_.identity->ClientOf(*context_));
    // Before the registry knows the stream, which may then have messages to send.
    ORBSERVE_RETURN_IF_ERROR(WithoutBadAlloc([this] {
      Ledger::AccountPtr account = services_.ledger->Open(client_);
      absl::MutexLock lock(&mutex_);
      answers_ = Holding(std::move(account), Resource::kStreamBytes);
      return absl::OkStatus();
    }));
    ORBSERVE_ASSIGN_OR_RETURN(const uint64_t id,
                              registry_.Add(shared_from_this(), client_, context_->peer(), now));
    {
      absl::MutexLock lock(&mutex_);
      id_ = id;
    }
    services_.metrics->StreamOpened();
    return WithoutBadAlloc([this] {
      services_.clients->StreamOpened(client_);
      return absl::OkStatus();
    });
  }();
  absl::MutexLock lock(&mutex_);
  if (finished_) return;
  if (status.ok()) {
    active_at_ = now;
    SetAlarm();
    Read();
  } else {
    FinishNow(status);
  }
}

void StreamCall::OnReadDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    if (!ok) {
      reading_ = false;
      read_ended_ = true;
      if (options_ == nullptr && end_status_.ok()) {
        end_status_ = BadRequest("the stream ended without its opening message");
      }
      Step();
      return;
    }
    if (IsOver()) return;
    active_at_ = services_.clock->Now();
  }
  const absl::Status status = WithoutBadAlloc([this] { return TakeMessage(); });
  if (received_ != nullptr) received_->buffer.Clear();
  BeginFrames();

  absl::MutexLock lock(&mutex_);
  // Only now: a next read that ends on another thread would otherwise overtake this frame.
  reading_ = false;
  if (!status.ok() && !is_aborted_) {  // earlier frames are answered, then the stream ends with it
    end_status_ = status;
    read_ended_ = true;
  }
  Step();
}

absl::Status StreamCall::TakeMessage() {
  auto message = std::make_shared<Request>();
  // A message that cannot be parsed ends the stream: it is unknown which frame it was.
  ORBSERVE_RETURN_IF_ERROR(received_->splitter.Parse(received_->buffer, message.get()));
  if (message->has_open()) return Open(message->open());
  if (session_ == nullptr) return BadRequest("the first message of a stream must be `open`");
  if (!message->has_frame()) return BadRequest("a message must be `open` or a `frame`");
  TakeFrame(std::move(message));
  return absl::OkStatus();
}

absl::Status StreamCall::Open(const v1::StreamOpen& open) {
  const bool is_first = session_ == nullptr;
  ORBSERVE_ASSIGN_OR_RETURN(StreamOptions parsed,
                            StreamOptionsFromProto(open, services_.streams, client_));
  const auto options = std::make_shared<const StreamOptions>(std::move(parsed));
  if (is_first) {
    call_deadline_ = DeadlineOf(*context_);
    const StreamSessionParts parts = {services_.backend, services_.clock,   services_.observer,
                                      services_.matcher, services_.tracker, services_.references};
    session_ = std::make_shared<StreamSession>(parts, options->session,
                                               [weak = weak_from_this()](StreamResult result) {
                                                 if (const auto self = weak.lock())
                                                   self->OnResult(std::move(result));
                                               });
  } else {
    session_->SetOptions(options->session);
  }

  Response response;
  v1::StreamOpened& opened = *response.mutable_opened();
  opened.set_stream_id(id_);
  StreamOptionsToProto(*options, &opened);
  *opened.mutable_limits() = services_.server_limits;
  grpc::ByteBuffer message = SerializeMessage(response);

  absl::MutexLock lock(&mutex_);
  options_ = options;
  next_answer_bytes_ =
      options->MostAnswerBytes(options->pipeline->options.select.capacity,
                               options->WantedFeatures({}), options->pipeline->match);
  ++unanswered_;
  if (is_first) {
    SetAlarm();
    // `opened` goes in front of a GoingAway that is already queued.
    outgoing_.insert(outgoing_.begin() + (writing_ ? 1 : 0), Outgoing{std::move(message)});
  } else if (frames_answered_ == frames_read_) {
    outgoing_.push_back(Outgoing{std::move(message)});
  } else {
    pending_opened_.push_back({frames_read_, std::move(message)});
  }
  if (is_first) {
    LogClientEvent([&] { return StreamOpenedLine(id_, client_, options->pipeline->preset); });
  }
  return absl::OkStatus();
}

std::string StreamCall::CloseLine() {
  StreamUse end = use();
  end.id = id_;
  absl::MutexLock lock(&mutex_);
  std::string why = "ended";
  if (abort_cause_.has_value()) {
    why = std::string(NameOf(*abort_cause_));
  } else if (!final_status_.ok()) {
    why = absl::AsciiStrToLower(InfoOf(ReasonOf(final_status_)).name);
  } else if (context_->IsCancelled()) {
    // The end of the client's messages may come before its cancellation.
    why = "cancelled";
  }
  return StreamClosedLine(end, why, final_status_.message());
}

void StreamCall::TakeFrame(std::shared_ptr<Request> message) {
  const v1::Frame& frame = message->frame();
  Frame entry;
  {
    absl::MutexLock lock(&mutex_);
    entry.options = options_;
  }
  const StreamOptions& options = *entry.options;
  const ResolvedPipeline& pipeline = *options.pipeline;
  entry.sequence = frame.sequence();
  entry.timestamp_ns = frame.timestamp_ns();
  entry.bytes = static_cast<int64_t>(received_->buffer.Length());
  entry.arrival = services_.clock->Now();
  registry_.Touch(id_, entry.arrival);
  entry.deadline = call_deadline_;
  const uint32_t deadline_ms = frame.deadline_ms() != 0 ? frame.deadline_ms() : options.deadline_ms;
  if (deadline_ms != 0) {
    entry.deadline =
        std::min(entry.deadline, entry.arrival + std::chrono::milliseconds(deadline_ms));
  }
  auto match = FrameMatchFromProto(frame.parameters(), pipeline.match);
  entry.match = match.ok() ? *match : pipeline.match;
  const int64_t most_features = frame.has_keypoints()
                                    ? std::min<int64_t>(frame.keypoints().x_size(), kMaxFeatures)
                                    : pipeline.options.select.capacity;
  entry.wanted_features = options.WantedFeatures(frame.parameters());
  entry.most_answer_bytes =
      options.MostAnswerBytes(most_features, entry.wanted_features, entry.match);
  FrameSource source;
  source.client = client_;
  source.deadline = entry.deadline;
  source.pipeline = options.pipeline;
  source.keep_state = options.session.keep_state();
  source.track_levels = pipeline.track.levels;
  source.refusal = match.ok() ? gate_.frame_refusal() : match.status();
  if (source.refusal.ok()) source.refusal = services_.memory->Check(received_->buffer.Length());
  if (source.refusal.ok() && frame.parameters().max_features() <= kMaxFeatures) {
    source.refusal = options.CheckTracks(entry.wanted_features);
  }
  source.frame = std::shared_ptr<const v1::Frame>(message, &frame);
  source.pixels = received_->splitter.pixels();
  source.message_bytes = received_->buffer.Length();
  if (services_.pictures != nullptr && services_.pictures->TakeRequest(id_)) {
    entry.picture = std::make_shared<StreamPicture>();
    source.picture = entry.picture;
  }

  const uint64_t index = session_->AddFrame({.sequence = entry.sequence,
                                             .match = entry.match,
                                             .max_features = entry.wanted_features,
                                             .keyframe = frame.keyframe(),
                                             .deadline = entry.deadline});
  {
    absl::MutexLock lock(&mutex_);
    ++unanswered_;
    ++frames_read_;
    next_answer_bytes_ = entry.most_answer_bytes;
    const SteadyTime deadline = entry.deadline;
    frames_.emplace(index, std::move(entry));
    services_.frames->Received(client_, frame, source.pixels);
    if (deadline != kNever) {
      deadlines_.insert({deadline, index});
      SetAlarm();
    }
  }
  message.reset();  // `source.frame` holds the message until its pixels are decoded
  const FrameIntake::Admitted admitted = services_.intake->Admit(
      std::move(source), [self = shared_from_this(), index](ExtractOutcome outcome) {
        self->OnExtracted(index, std::move(outcome));
      });
  for (const Batcher::Ticket ticket : Wait(index, admitted)) {
    services_.batcher->Fail(
        ticket, DroppedStatus(options.drop_policy, ticket == admitted.ticket(), services_.streams));
  }
}

std::vector<Batcher::Ticket> StreamCall::Wait(uint64_t index,
                                              const FrameIntake::Admitted& admitted) {
  std::vector<WaitingRoom<Waiting>::Frame> dropped;
  bool is_over = false;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = frames_.find(index);
    is_over = found == frames_.end() || found->second.has_result || IsOver();
    if (!is_over) {
      Frame& frame = found->second;
      frame.ticket = admitted.ticket();
      if (!frame.is_extracted) {
        dropped = room_.Add({index, frame.bytes, frame.options->drop_policy,
                             Waiting{admitted, std::move(received_)}});
      }
    }
  }
  // OnCancel() or the deadline may have come before the ticket was known.
  if (is_over) services_.batcher->Cancel(admitted.ticket());
  std::vector<Batcher::Ticket> tickets;
  for (const auto& frame : dropped) tickets.push_back(frame.payload.admitted.ticket());
  return tickets;
}

void StreamCall::BeginFrames() {
  for (;;) {
    std::optional<WaitingRoom<Waiting>::Frame> first;
    {
      absl::MutexLock lock(&mutex_);
      if (IsOver() || room_.empty()) return;
      Frame& frame = frames_.at(room_.first().index);
      if (!HasPlace(frame.most_answer_bytes)) return;
      first = room_.TakeFirst();
      frame.has_begun = true;
      ++in_flight_;
      bytes_in_flight_ += frame.bytes;
      CountAnswer(frame.most_answer_bytes, &frame.answer_bytes);
    }
    services_.intake->Begin(first->payload.admitted);
    std::unique_ptr<Received> received = std::move(first->payload.received);
    received->buffer.Clear();
    absl::MutexLock lock(&mutex_);
    spare_ = std::move(received);
  }
}

void StreamCall::OnExtracted(uint64_t index, ExtractOutcome outcome) {
  std::optional<WaitingRoom<Waiting>::Frame> waiting;  // freed outside the lock
  {
    absl::MutexLock lock(&mutex_);
    if (const auto found = frames_.find(index); found != frames_.end()) {
      Frame& frame = found->second;
      frame.decode_time = outcome.decode_time;
      frame.is_extracted = true;
      waiting = room_.Take(index);
      if (!finished_ && frame.has_begun && !frame.has_result) {
        const Features* const features = outcome.frame.features.get();
        const int64_t count = features == nullptr ? 0 : static_cast<int64_t>(features->count());
        CountAnswer(frame.options->MostAnswerBytes(count, frame.wanted_features, frame.match),
                    &frame.answer_bytes);
      }
      Step();  // the reservation shrank, so that the next frame may fit
    }
  }
  session_->FrameDone(index, std::move(outcome.frame));
}

void StreamCall::OnResult(StreamResult result) {
  ResultHead head;
  Outgoing outgoing;
  std::shared_ptr<StreamPicture> picture;
  std::optional<WaitingRoom<Waiting>::Frame> waiting;  // of a frame that is late; freed outside
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = frames_.find(result.index);
    if (entry == frames_.end()) return;  // cancelled
    Frame& frame = entry->second;
    frame.has_result = true;
    waiting = room_.Take(result.index);
    if (frame.deadline != kNever) deadlines_.erase({frame.deadline, result.index});
    head = {.sequence = frame.sequence,
            .timestamp_ns = frame.timestamp_ns,
            .arrival = frame.arrival,
            .decode_time = frame.decode_time,
            .omit_features = frame.options->omit_features};
    picture = std::move(frame.picture);
    outgoing.is_in_flight = frame.has_begun;
    outgoing.frame_bytes = frame.has_begun ? frame.bytes : 0;
    outgoing.answer_bytes = frame.answer_bytes;
  }
  const uint64_t index = result.index;
  const std::shared_ptr<const Features> features = result.outcome.features;
  Result& of_frame = outgoing.result.emplace();
  of_frame.index = index;
  of_frame.head = head;
  of_frame.status = result.outcome.status;
  if (features != nullptr) {
    of_frame.seen = {.features = static_cast<int>(features->count()),
                     .width_px = features->image_width_px,
                     .height_px = features->image_height_px};
  }
  const auto encode_begin = std::chrono::steady_clock::now();
  outgoing.message = encoder_.Encode(head, std::move(result), &of_frame.status);
  const std::chrono::duration<double> encode = std::chrono::steady_clock::now() - encode_begin;
  services_.metrics->ObservePhase(FramePhase::kEncode, encode.count());
  if (picture != nullptr && features != nullptr) {
    picture->sequence = head.sequence;
    picture->features = features;
    services_.pictures->Put(id_, std::move(picture));
  }

  absl::MutexLock lock(&mutex_);
  if (IsOver()) return;
  CountAnswer(static_cast<int64_t>(outgoing.message.Length()), &outgoing.answer_bytes);
  outgoing_.push_back(std::move(outgoing));
  frames_answered_ = index + 1;
  while (!pending_opened_.empty() && pending_opened_.front().frames == frames_answered_) {
    outgoing_.push_back(Outgoing{std::move(pending_opened_.front().message)});
    pending_opened_.pop_front();
  }
  Step();
}

void StreamCall::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    Outgoing& written = outgoing_.front();
    if (!finished_) CountAnswer(0, &written.answer_bytes);
    if (written.is_answer) --unanswered_;
    if (written.is_in_flight) --in_flight_;
    bytes_in_flight_ -= written.frame_bytes;
    outgoing_.pop_front();
    active_at_ = services_.clock->Now();
    // A failed write means that the call is over; OnCancel() ends it.
    if (!ok) return;
    if (!finished_) Write();
  }
  session_->Resume();  // a result that waited may have been handed over
  BeginFrames();
  absl::MutexLock lock(&mutex_);
  Step();
}

void StreamCall::AnnounceGoingAway() {
  absl::MutexLock lock(&mutex_);
  if (IsOver() || going_away_) return;
  going_away_ = true;
  Response response;
  StatusToProto(gate_.refusal(), response.mutable_going_away()->mutable_status());
  outgoing_.push_back(Outgoing{SerializeMessage(response), /*is_answer=*/false});
  SetAlarm();  // clients have less time
  Step();
}

void StreamCall::Stop() {
  absl::MutexLock lock(&mutex_);
  if (IsOver()) return;
  if (end_status_.ok()) end_status_ = gate_.refusal();
  read_ended_ = true;
  Step();
}

void StreamCall::OnAlarm() {
  const SteadyTime now = services_.clock->Now();
  std::vector<std::pair<uint64_t, Batcher::Ticket>> late;
  std::shared_ptr<StreamSession> session;
  {
    absl::MutexLock lock(&mutex_);
    alarm_at_ = kNever;  // it has fired
    if (IsOver()) {
      // The context lives until OnDone(), which waits for this function.
      if (now >= cancel_at_) context_->TryCancel();
      if (now < cancel_at_) SetAlarm();
      return;
    }
  }
  if (AbortIfStalled(now)) return;
  {
    absl::MutexLock lock(&mutex_);
    if (IsOver()) return;
    if (options_ == nullptr) {
      if (now < begin_ + services_.streams.open_timeout) return SetAlarm();
      if (read_ended_) return;
      end_status_ = MakeError(ErrorReason::kDeadlineExceeded,
                              absl::StrCat("the stream was not opened within ",
                                           services_.streams.open_timeout.count(), " ms"));
      read_ended_ = true;
      Step();
      return;
    }
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      const uint64_t index = deadlines_.begin()->second;
      late.emplace_back(index, frames_.at(index).ticket);
      deadlines_.erase(deadlines_.begin());
    }
    SetAlarm();
    session = session_;
  }
  // Work stops before its frame is answered: nothing begins for a frame whose client was told.
  for (const auto& [index, ticket] : late) services_.batcher->Cancel(ticket);
  for (const auto& [index, ticket] : late) session->Fail(index, LateStatus(WorkKind::kFrames));
}

SteadyTime StreamCall::NextAlarm() const {
  if (IsOver()) return cancel_at_;
  if (options_ == nullptr) return begin_ + services_.streams.open_timeout;
  SteadyTime next = deadlines_.empty() ? kNever : deadlines_.begin()->first;
  if (writing_) next = std::min(next, write_begin_ + services_.send_timeouts->limit());
  // A stream that is busy cannot be idle before it has been active once more.
  if (services_.streams.idle_timeout.count() > 0) {
    const SteadyTime active = IsIdle() ? active_at_ : services_.clock->Now();
    next = std::min(next, active + services_.streams.idle_timeout);
  }
  return next;
}

void StreamCall::SetAlarm() {
  const SteadyTime next = NextAlarm();
  if (next >= alarm_at_ || alarm_ == nullptr) return;
  alarm_at_ = next;
  alarm_->Set(next);
}

bool StreamCall::AbortIfStalled(SteadyTime now) {
  AbortCause cause = AbortCause::kSendTimeout;
  std::string message;
  {
    absl::MutexLock lock(&mutex_);
    if (IsOver()) return false;
    const std::chrono::milliseconds idle_timeout = services_.streams.idle_timeout;
    if (writing_ && now - write_begin_ >= services_.send_timeouts->limit()) {
      message = absl::StrCat("a result of the stream was not read within ",
                             services_.send_timeouts->limit().count(), " ms");
    } else if (IsIdle() && idle_timeout.count() > 0 && now - active_at_ >= idle_timeout) {
      cause = AbortCause::kIdleStream;
      message = absl::StrCat("the stream has sent nothing for ", idle_timeout.count(), " ms");
    } else {
      return false;
    }
  }
  Abort(cause, MakeError(ErrorReason::kDeadlineExceeded, message));
  return true;
}

void StreamCall::MakeRoom() {
  Abort(AbortCause::kPreempted,
        MakeError(ErrorReason::kQuotaExceeded,
                  absl::StrCat("all ", services_.streams.max_streams,
                               " streams were open; this one made room for a client with fewer")));
}

void StreamCall::AbortIfUnknown() {
  if (services_.identity->IsKnown(client_)) return;
  Abort(AbortCause::kCredentials,
        MakeError(ErrorReason::kUnauthenticated, "the token of the stream is not valid any more"));
}

void StreamCall::Abort(AbortCause cause, const absl::Status& status) {
  std::vector<Batcher::Ticket> tickets;
  std::shared_ptr<StreamSession> session;
  {
    absl::MutexLock lock(&mutex_);
    if (IsOver()) return;
    is_aborted_ = true;
    abort_cause_ = cause;
    end_status_ = status;
    read_ended_ = true;
    tickets = TakeFrames(&session);
    outgoing_.erase(outgoing_.begin() + (writing_ ? 1 : 0), outgoing_.end());
    cancel_at_ = services_.clock->Now() + kGracePeriod;
    SetAlarm();
    services_.metrics->CallAborted(cause);
    Step();
  }
  if (session != nullptr) session->Close();
  for (const Batcher::Ticket ticket : tickets) services_.batcher->Cancel(ticket);
}

std::vector<Batcher::Ticket> StreamCall::TakeFrames(std::shared_ptr<StreamSession>* session) {
  std::vector<Batcher::Ticket> tickets;
  tickets.reserve(frames_.size());
  for (const auto& [index, frame] : frames_) tickets.push_back(frame.ticket);
  ForgetFrames();
  if (options_ != nullptr) *session = session_;
  return tickets;
}

void StreamCall::CountAnswer(int64_t bytes, int64_t* counted) {
  const int64_t change = bytes - *counted;
  *counted = bytes;
  answers_.Set(answers_.amount() + change);
}

bool StreamCall::AnswerFits(int64_t bytes) const {
  return answers_.amount() + bytes <= services_.streams.max_answer_bytes &&
         !answers_.AskFurther(bytes).has_value();
}

bool StreamCall::HasPlace(int64_t most_answer_bytes) const {
  if (in_flight_ == 0) return true;
  return in_flight_ < options_->max_in_flight &&
         bytes_in_flight_ < services_.streams.max_bytes_in_flight && AnswerFits(most_answer_bytes);
}

void StreamCall::Step() {
  if (finished_) return;
  Write();
  if (MayRead()) Read();
  FinishIfOver();
}

bool StreamCall::MayRead() const {
  if (reading_ || read_ended_) return false;
  if (options_ == nullptr) return true;
  if (options_->drop_policy == DropPolicy::kBlock) {
    return room_.empty() && unanswered_ < options_->max_in_flight && HasPlace(next_answer_bytes_);
  }
  return unanswered_ < options_->max_in_flight + options_->max_waiting + kMaxUnreadResults;
}

void StreamCall::Read() {
  reading_ = true;
  if (received_ == nullptr) received_ = std::move(spare_);
  if (received_ == nullptr) received_ = std::make_unique<Received>();
  StartRead(&received_->buffer);
}

void StreamCall::Write() {
  if (writing_ || outgoing_.empty() || options_ == nullptr) return;
  HandOver(outgoing_.front());
  writing_ = true;
  write_begin_ = services_.clock->Now();
  SetAlarm();
  StartWrite(&outgoing_.front().message);
}

void StreamCall::FinishIfOver() {
  if (!read_ended_ || writing_) return;
  if (!is_aborted_ && (unanswered_ > 0 || (options_ != nullptr && !outgoing_.empty()))) return;
  FinishNow(end_status_);
}

void StreamCall::FinishNow(const absl::Status& status) {
  finished_ = true;
  code_ = status.code();
  final_status_ = status;
  LogFailure("StreamFrames", status, [this] { return DisplayName(client_); });
  // Without a result in front of it the status does not wait for the client.
  if (options_ != nullptr) {
    cancel_at_ = std::min(cancel_at_, services_.clock->Now() + services_.send_timeouts->limit());
    SetAlarm();
  }
  // Before the client knows: it may open its next stream at once.
  if (id_ != 0) registry_.GiveUpPlace(id_);
  Finish(StatusToGrpc(status, context_));
}

void StreamCall::HandOver(Outgoing& outgoing) {
  if (!outgoing.result.has_value()) return;
  Result& result = *outgoing.result;
  const auto entry = frames_.find(result.index);
  const Frame& frame = entry->second;
  const absl::Status told = session_->HandOver(result.status);
  if (result.status.ok() && !told.ok()) {
    outgoing.message = ResultEncoder::EncodeFailure(result.head, told);
    CountAnswer(static_cast<int64_t>(outgoing.message.Length()), &outgoing.answer_bytes);
  }
  LogFailure("StreamFrames.frame", told, [this] { return DisplayName(client_); });
  CountEnd(frame, told, result.seen);
  frames_.erase(entry);
}

void StreamCall::CountEnd(const Frame& frame, const absl::Status& told,
                          const StreamAccount::Seen& seen) {
  services_.frames->Ended("StreamFrames", client_, frame.arrival, told,
                          told.ok() ? seen.features : 0);
  account_.Count(told, services_.clock->Now() - frame.arrival, seen);
}

StreamUse StreamCall::use() {
  StreamUse use;
  use.client = client_;
  use.age = services_.clock->Now() - begin_;
  account_.FillIn(&use);
  absl::MutexLock lock(&mutex_);
  if (options_ != nullptr) use.preset = options_->pipeline->preset;
  use.received = static_cast<int64_t>(frames_read_);
  use.in_flight = in_flight_;
  use.waiting = static_cast<int>(room_.size());
  return use;
}

void StreamCall::ForgetFrames() {
  const SteadyTime now = services_.clock->Now();
  for (const auto& [index, frame] : frames_) {
    CountEnd(frame, now >= frame.deadline ? LateStatus(WorkKind::kFrames) : CancelledStatus(), {});
  }
  frames_.clear();
  deadlines_.clear();
  room_.TakeAll();
}

void StreamCall::OnCancel() {
  std::vector<Batcher::Ticket> tickets;
  std::shared_ptr<StreamSession> session;
  {
    absl::MutexLock lock(&mutex_);
    if (!finished_) {
      FinishNow(is_aborted_ ? end_status_
                            : MakeError(ErrorReason::kCancelled, "the client went away"));
    }
    tickets = TakeFrames(&session);
  }
  if (session != nullptr) session->Close();
  for (const Batcher::Ticket ticket : tickets) services_.batcher->Cancel(ticket);
}

void StreamCall::OnDone() {
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin_;
  std::unique_ptr<Alarm> alarm;  // its end waits for OnAlarm(), which takes the lock
  {
    absl::MutexLock lock(&mutex_);
    alarm = std::move(alarm_);
  }
  alarm.reset();
  absl::StatusCode code;
  {
    absl::MutexLock lock(&mutex_);
    code = code_;
    // Freed here, because frames that the backend still computes hold the call a little longer.
    outgoing_.clear();
    pending_opened_.clear();
    ForgetFrames();
    answers_.Set(0);
  }
  received_.reset();
  services_.metrics->ObserveRequest("StreamFrames", code, time.count());
  if (id_ != 0) {
    registry_.Remove(id_);
    services_.metrics->StreamClosed();
    services_.clients->StreamClosed(client_);
    LogClientEvent([this] { return CloseLine(); });
  }
  if (session_ != nullptr) session_->Close();
  CallGate& gate = gate_;
  const CallGate::Ticket ticket = ticket_;
  self_.reset();
  gate.Leave(ticket);
}

}  // namespace orbserve
