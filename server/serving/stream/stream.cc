// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/stream/stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "server/clients/identity.h"
#include "server/process/log.h"
#include "server/process/memory/out_of_memory.h"

namespace orbserve {
namespace {

// Results that may lie unread beside those of frames that are in flight or wait. Results of dropped
// frames have some hundred bytes.
constexpr int kMaxUnreadResults = 256;
// A stream that was cut, and one whose client went away, is cancelled if it has not ended by then.
constexpr std::chrono::milliseconds kGracePeriod{1000};

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

Stream::Stream(const StreamParts& parts, StreamRegistry* registry,
               const std::shared_ptr<StreamWire>& wire)
    : FrameSequence(parts),
      registry_(*registry),
      clock_(*parts.clock),
      call_(wire.get()),
      weak_call_(wire),
      begin_(std::chrono::steady_clock::now()),
      room_(parts.streams.max_frames_waiting, parts.streams.max_bytes_waiting) {}

void Stream::Start(absl::Status status, const ClientId& client, const std::string& connection,
                   SteadyTime call_deadline) {
  const auto self = std::static_pointer_cast<Stream>(shared_from_this());
  client_ = client;
  connection_ = connection;
  call_deadline_ = call_deadline;
  {
    // Made first: once the registry knows the stream, another one may take its place.
    absl::MutexLock lock(&mutex_);
    alarm_ = clock_.MakeAlarm([weak = std::weak_ptr<Stream>(self)] {
      if (const auto alive = weak.lock()) alive->OnAlarm();
    });
  }
  const SteadyTime now = clock_.Now();
  status = WithoutBadAlloc([&]() -> absl::Status {
    ORBSERVE_RETURN_IF_ERROR(status);
    Holding responses(parts_.ledger->Open(client_), Resource::kStreamResponseBytes);
    {
      // Before the registry knows the stream, which may then have messages to send.
      absl::MutexLock lock(&mutex_);
      responses_ = std::move(responses);
    }
    ORBSERVE_ASSIGN_OR_RETURN(const StreamRegistry::Admission admission,
                              registry_.Add(self, client_, connection, now));
    {
      absl::MutexLock lock(&mutex_);
      id_ = admission.id;
    }
    parts_.metrics->StreamOpened();
    parts_.clients->StreamOpened(client_);
    return absl::OkStatus();
  });
  absl::MutexLock lock(&mutex_);
  if (finished_) return;
  if (!status.ok()) {
    FinishNow(status);
    return;
  }
  active_at_ = now;
  SetAlarm();
  reading_ = true;
  call_->Read();
}

bool Stream::Received() {
  absl::MutexLock lock(&mutex_);
  if (IsOver()) return false;
  active_at_ = clock_.Now();
  return true;
}

void Stream::ReadEnded() {
  absl::MutexLock lock(&mutex_);
  reading_ = false;
  read_ended_ = true;
  if (options_ == nullptr && end_status_.ok()) {
    end_status_ =
        MakeError(ErrorReason::kBadRequest, "the stream ended without its opening message");
  }
  Step();
}

void Stream::Open(std::shared_ptr<const StreamOptions> options, int64_t max_response_bytes,
                  MessageBytes opened) {
  absl::MutexLock lock(&mutex_);
  const bool is_first = options_ == nullptr;
  options_ = std::move(options);
  next_response_bytes_ = max_response_bytes;
  ++unanswered_;
  if (is_first) {
    SetAlarm();
    // `opened` goes in front of a GoingAway that is already queued.
    outgoing_.insert(outgoing_.begin() + (writing_ ? 1 : 0), Outgoing{std::move(opened)});
    LogClientEvent(ClientEvent::kStream, [&] {
      return absl::StrCat("event=stream_opened stream=", id_,
                          " client=", LogValue(DisplayName(client_)),
                          " pipeline=", LogValue(options_->preset));
    });
  } else if (frames_.empty() || frames_.back()->is_encoded) {
    outgoing_.push_back(Outgoing{std::move(opened)});
  } else {
    frames_.back()->opened.push_back(std::move(opened));
  }
}

void Stream::Take(const StreamFramePtr& frame, int64_t image_bytes, const absl::Status& refusal) {
  frame->arrival = clock_.Now();
  frame->outcome.times.Begin(frame->arrival);
  frame->result.outcome.times = frame->outcome.times;  // should the stream end it first
  registry_.Touch(id_, frame->arrival);
  frame->client = client_;
  frame->deadline = call_deadline_;
  if (frame->time_limit.count() > 0) {
    frame->deadline = std::min(frame->deadline, frame->arrival + frame->time_limit);
  }
  frame->done = [self = std::static_pointer_cast<Stream>(shared_from_this())](FrameRecord& record) {
    self->OnComputed(static_cast<StreamFrame&>(record));
  };
  if (parts_.pictures != nullptr && parts_.pictures->TakeRequest(id_)) {
    frame->picture = frame->input->picture = std::make_shared<StreamPicture>();
  }
  // The frame may end here, and with it become one of the list that is complete already.
  frame->admitted = parts_.intake->Admit(frame, refusal);

  std::vector<StreamFramePtr> dropped;
  StreamFramePtr begun;
  bool is_over = false;
  bool has_ended = false;
  {
    absl::MutexLock lock(&mutex_);
    parts_.frames->Received(client_, image_bytes);
    ++frames_read_;
    is_over = IsOver();
    has_ended = frame->is_extracted;
    if (is_over) {
      CountEnd(*frame, GoneStatus(WorkKind::kFrames, frame->arrival, frame->deadline));
    } else {
      ++unanswered_;
      next_response_bytes_ = frame->response_bound.For(frame->most_features);
      frame->is_listed = true;
      Append(frame);
      if (frame->deadline < next_deadline_) {
        next_deadline_ = frame->deadline;
        SetAlarm();
      }
      if (!has_ended) dropped = room_.Add(frame);
      begun = NextToBegin();
    }
  }
  if (is_over) parts_.batcher->Cancel(frame->ticket);
  for (const StreamFramePtr& one : dropped) {
    parts_.batcher->Fail(one->ticket,
                         DroppedStatus(frame->options->drop_policy, one == frame, parts_.streams));
  }
  if (has_ended && !is_over) Advance();
  if (begun != nullptr) parts_.intake->Begin(begun->admitted);
}

void Stream::ReadOn(const absl::Status& status) { BeginFrames(&status); }

void Stream::BeginFrames(const absl::Status* read) {
  for (;;) {
    StreamFramePtr begun;
    {
      absl::MutexLock lock(&mutex_);
      begun = NextToBegin();
      if (begun == nullptr) {
        // Only now: a next read that ends on another thread would otherwise overtake this frame.
        if (read != nullptr) reading_ = false;
        if (read != nullptr && !read->ok() && !is_aborted_) {
          end_status_ = *read;
          read_ended_ = true;
        }
        Step();
        return;
      }
    }
    parts_.intake->Begin(begun->admitted);
  }
}

StreamFramePtr Stream::NextToBegin() {
  if (IsOver() || room_.empty()) return nullptr;
  const StreamFrame& first = room_.first();
  const int64_t max_response_bytes = first.response_bound.For(first.most_features);
  if (!HasPlace(max_response_bytes)) return nullptr;
  StreamFramePtr frame = room_.TakeFirst();
  frame->has_begun = true;
  frame->result.outcome.times.Enter(FramePhase::kQueue, clock_.Now());
  ++in_flight_;
  bytes_in_flight_ += frame->message_bytes;
  Reserve(*frame, max_response_bytes);
  return frame;
}

void Stream::OnComputed(StreamFrame& frame) {
  {
    absl::MutexLock lock(&mutex_);
    const Features* const features = frame.outcome.features.get();
    const int64_t count = features == nullptr ? 0 : static_cast<int64_t>(features->count());
    Extracted(frame);
    if (!frame.is_listed) return;
    if (!closed_) {
      room_.Take(frame);
      if (!finished_ && frame.has_begun && !frame.is_given) {
        Reserve(frame, frame.response_bound.For(count));
      }
      Step();  // the reservation shrank, so that the next frame may fit
    }
  }
  frame.outcome = {};  // of a frame that has failed in the meantime
  Advance();
}

void Stream::Encode(StreamFrame& frame) {
  const std::shared_ptr<StreamWire> call = weak_call_.lock();
  if (call == nullptr) return;
  const std::shared_ptr<const Features> features = frame.result.outcome.features;
  if (features != nullptr) {
    frame.seen = {.features = static_cast<uint32_t>(features->count()),
                  .width_px = static_cast<uint32_t>(features->image_width_px),
                  .height_px = static_cast<uint32_t>(features->image_height_px)};
  }
  frame.result.outcome.times.Enter(FramePhase::kEncode, clock_.Now());
  frame.response = call->Encode(frame);
  frame.result.outcome.times.Enter(FramePhase::kSend, clock_.Now());
  if (frame.picture != nullptr && features != nullptr) {
    frame.picture->sequence = frame.sequence;
    frame.picture->features = features;
    parts_.pictures->Put(id_, std::move(frame.picture));
  }
}

void Stream::GiveOut(const StreamFramePtr& frame) {
  if (IsOver()) return;
  Reserve(*frame, static_cast<int64_t>(frame->response.size));
  outgoing_.push_back({.frame = frame});
  frame->is_encoded = true;
  for (MessageBytes& opened : frame->opened) outgoing_.push_back(Outgoing{std::move(opened)});
  Step();
}

void Stream::Written(bool ok) {
  Outgoing written;  // freed outside the lock
  bool hands_over = false;
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    written = std::move(outgoing_.front());
    outgoing_.pop_front();
    if (StreamFrame* const frame = written.frame.get(); frame != nullptr) {
      if (!finished_) Reserve(*frame, 0);
      if (frame->has_begun) {
        --in_flight_;
        bytes_in_flight_ -= frame->message_bytes;
      }
    }
    if (written.is_response) --unanswered_;
    active_at_ = clock_.Now();
    // A failed write means that the call is over; Cancelled() ends it.
    if (!ok) return;
    if (!finished_) Write();
    hands_over = writing_;
  }
  if (hands_over) Advance();
  BeginFrames(/*read=*/nullptr);
}

void Stream::AnnounceGoingAway(const absl::Status& reason) {
  absl::MutexLock lock(&mutex_);
  if (IsOver() || going_away_) return;
  going_away_ = true;
  outgoing_.push_back({.message = call_->EncodeGoingAway(reason), .is_response = false});
  SetAlarm();  // readers have less time
  Step();
}

void Stream::Stop(const absl::Status& reason) {
  absl::MutexLock lock(&mutex_);
  if (IsOver()) return;
  if (end_status_.ok()) end_status_ = reason;
  read_ended_ = true;
  Step();
}

void Stream::OnAlarm() {
  const SteadyTime now = clock_.Now();
  std::vector<StreamFramePtr> late;
  Released released;
  {
    absl::MutexLock lock(&mutex_);
    alarm_at_ = kNever;  // it has fired
    AbortCause cause = AbortCause::kSendTimeout;
    if (IsOver()) {
      // The call lives until Done(), which waits for this function.
      if (now >= cancel_at_) call_->Cancel();
      if (now < cancel_at_) SetAlarm();
    } else if (const absl::Status stalled = Stalled(now, &cause); !stalled.ok()) {
      released = Cut(cause, stalled);
    } else if (options_ == nullptr && now < begin_ + parts_.streams.open_timeout) {
      SetAlarm();
    } else if (options_ == nullptr && !read_ended_) {
      end_status_ = MakeError(ErrorReason::kDeadlineExceeded,
                              absl::StrCat("the stream was not opened within ",
                                           parts_.streams.open_timeout.count(), " ms"));
      read_ended_ = true;
      Step();
    } else if (options_ != nullptr) {
      next_deadline_ = kNever;
      for (const StreamFramePtr& frame : frames_) {
        if (frame->is_settled || frame->is_given) continue;
        if (frame->deadline <= now) late.push_back(frame);
        if (frame->deadline > now) next_deadline_ = std::min(next_deadline_, frame->deadline);
      }
      SetAlarm();
    }
  }
  Release(std::exchange(released, {}));
  if (late.empty()) return;
  // Work stops before its frame is answered: nothing begins for a frame whose client was told.
  for (const StreamFramePtr& frame : late) parts_.batcher->Cancel(frame->ticket);
  {
    absl::MutexLock lock(&mutex_);
    for (const StreamFramePtr& frame : late) {
      room_.Take(*frame);
      Fail(*frame, LateStatus(WorkKind::kFrames), released);
    }
  }
  Release(std::move(released));
  Advance();
}

SteadyTime Stream::NextAlarm() const {
  if (IsOver()) return cancel_at_;
  if (options_ == nullptr) return begin_ + parts_.streams.open_timeout;
  SteadyTime next = next_deadline_;
  if (writing_) next = std::min(next, write_begin_ + parts_.send_timeout());
  // A stream that is busy cannot be idle before it has been active once more.
  if (parts_.streams.idle_timeout.count() > 0) {
    const SteadyTime active = IsIdle() ? active_at_ : clock_.Now();
    next = std::min(next, active + parts_.streams.idle_timeout);
  }
  return next;
}

void Stream::SetAlarm() {
  const SteadyTime next = NextAlarm();
  if (next >= alarm_at_ || alarm_ == nullptr) return;
  alarm_at_ = next;
  alarm_->Set(next);
}

absl::Status Stream::Stalled(SteadyTime now, AbortCause* cause) const {
  const std::chrono::milliseconds send_timeout = parts_.send_timeout();
  if (writing_ && now - write_begin_ >= send_timeout) {
    *cause = AbortCause::kSendTimeout;
    return MakeError(
        ErrorReason::kDeadlineExceeded,
        absl::StrCat("a result of the stream was not read within ", send_timeout.count(), " ms"));
  }
  const std::chrono::milliseconds idle_timeout = parts_.streams.idle_timeout;
  if (IsIdle() && idle_timeout.count() > 0 && now - active_at_ >= idle_timeout) {
    *cause = AbortCause::kIdleStream;
    return MakeError(ErrorReason::kDeadlineExceeded,
                     absl::StrCat("the stream has sent nothing for ", idle_timeout.count(), " ms"));
  }
  return absl::OkStatus();
}

void Stream::Preempt(AbortCause cause, const absl::Status& status) {
  Released released;
  {
    absl::MutexLock lock(&mutex_);
    released = Cut(cause, status);
  }
  Release(std::move(released));
}

Stream::Released Stream::Cut(AbortCause cause, const absl::Status& status) {
  if (IsOver()) return {};
  is_aborted_ = true;
  abort_cause_ = cause;
  end_status_ = status;
  read_ended_ = true;
  Released released = TakeFrames();
  outgoing_.erase(outgoing_.begin() + (writing_ ? 1 : 0), outgoing_.end());
  cancel_at_ = clock_.Now() + kGracePeriod;
  SetAlarm();
  parts_.metrics->CallAborted(cause);
  Step();
  return released;
}

Stream::Released Stream::TakeFrames() {
  std::vector<WorkTicket> tickets;
  const SteadyTime now = clock_.Now();
  for (const StreamFramePtr& frame : frames_) {
    tickets.push_back(frame->ticket);
    CountEnd(*frame, GoneStatus(WorkKind::kFrames, now, frame->deadline));
  }
  next_deadline_ = kNever;
  room_.Clear();
  Released released = Close();
  released.frame_tickets = std::move(tickets);
  return released;
}

void Stream::Reserve(StreamFrame& frame, int64_t bytes) {
  responses_.Set(responses_.amount() + bytes - std::exchange(frame.response_bytes, bytes));
}

bool Stream::HasPlace(int64_t max_response_bytes) const {
  if (in_flight_ == 0) return true;
  const StreamLimits& limits = parts_.streams;
  return in_flight_ < options_->max_in_flight && bytes_in_flight_ < limits.max_bytes_in_flight &&
         responses_.amount() + max_response_bytes <= limits.max_response_bytes &&
         !responses_.AskFurther(max_response_bytes).has_value();
}

void Stream::Step() {
  if (finished_) return;
  Write();
  if (MayRead()) {
    reading_ = true;
    call_->Read();
  }
  if (!read_ended_ || writing_) return;
  if (!is_aborted_ && (unanswered_ > 0 || (options_ != nullptr && !outgoing_.empty()))) return;
  FinishNow(end_status_);
}

bool Stream::MayRead() const {
  if (reading_ || read_ended_) return false;
  if (options_ == nullptr) return true;
  if (options_->drop_policy == DropPolicy::kBlock) {
    return room_.empty() && unanswered_ < options_->max_in_flight && HasPlace(next_response_bytes_);
  }
  return unanswered_ < options_->max_in_flight + options_->max_waiting + kMaxUnreadResults;
}

void Stream::Write() {
  if (writing_ || outgoing_.empty() || options_ == nullptr) return;
  Outgoing& next = outgoing_.front();
  if (next.frame != nullptr) Decide(next);
  writing_ = true;
  write_begin_ = clock_.Now();
  SetAlarm();
  call_->Write(std::move(next.message));
}

void Stream::Decide(Outgoing& outgoing) {
  StreamFrame& frame = *outgoing.frame;
  outgoing.message = std::move(frame.response);
  const absl::Status& status = frame.result.outcome.status;
  const bool was_ok = status.ok();
  const absl::Status told = HandOver(status);
  if (was_ok && !told.ok()) {
    outgoing.message = call_->EncodeFailure(frame, told);
    Reserve(frame, static_cast<int64_t>(outgoing.message.size));
  }
  LogFailure("StreamFrames.frame", told, [this] { return DisplayName(client_); });
  CountEnd(frame, told);
}

void Stream::CountEnd(const StreamFrame& frame, const absl::Status& told) {
  parts_.frames->Ended("StreamFrames", client_, frame.result.outcome.times, told,
                       told.ok() ? frame.seen.features : 0);
  if (!told.ok()) {
    const bool is_dropped = ReasonOf(told) == ErrorReason::kDropped;
    if (is_dropped) return counts_.set_dropped(counts_.dropped() + 1);
    return counts_.set_failed(counts_.failed() + 1);
  }
  counts_.set_ok(counts_.ok() + 1);
  counts_.set_latency_seconds(std::chrono::duration<double>(clock_.Now() - frame.arrival).count());
  counts_.set_features(frame.seen.features);
  if (frame.seen.width_px == 0) return;
  counts_.set_width_px(frame.seen.width_px);
  counts_.set_height_px(frame.seen.height_px);
}

void Stream::FinishNow(const absl::Status& status) {
  finished_ = true;
  final_status_ = status;
  LogFailure("StreamFrames", status, [this] { return DisplayName(client_); });
  // Without a result in front of it the status does not wait for the client.
  if (options_ != nullptr) {
    cancel_at_ = std::min(cancel_at_, clock_.Now() + parts_.send_timeout());
    SetAlarm();
  }
  // Before the client knows: it may open its next stream at once.
  if (id_ != 0) registry_.GiveUpPlace(id_);
  call_->End(status);
}

void Stream::Cancelled() {
  Released released;
  {
    absl::MutexLock lock(&mutex_);
    if (!finished_) {
      FinishNow(is_aborted_ ? end_status_
                            : MakeError(ErrorReason::kCancelled, "the client went away"));
    }
    released = TakeFrames();
  }
  Release(std::move(released));
}

void Stream::Done() {
  const auto time = std::chrono::steady_clock::now() - begin_;
  std::unique_ptr<Alarm> alarm;  // its end waits for OnAlarm(), which takes the lock
  {
    absl::MutexLock lock(&mutex_);
    alarm = std::move(alarm_);
  }
  alarm.reset();
  absl::StatusCode code;
  Released released;
  {
    absl::MutexLock lock(&mutex_);
    code = finished_ ? final_status_.code() : absl::StatusCode::kUnknown;
    // Freed here, because frames that the backend still computes hold the stream a little longer.
    outgoing_.clear();
    released = TakeFrames();
    responses_.Set(0);
  }
  parts_.metrics->ObserveRequest("StreamFrames", code, std::chrono::duration<double>(time).count());
  LogCall("StreamFrames", code, time, [this] { return CallerForLog(client_, connection_); });
  if (id_ != 0) {
    registry_.Remove(id_);
    parts_.metrics->StreamClosed();
    parts_.clients->StreamClosed(client_);
    LogClientEvent(ClientEvent::kStream, [this] { return CloseLine(); });
  }
  Release(std::move(released));
}

std::string Stream::CloseLine() {
  const server::StreamRow end = use();
  const auto frames = [](double count) { return static_cast<int64_t>(count); };
  absl::MutexLock lock(&mutex_);
  absl::string_view why = "ended";
  std::string reason;
  if (abort_cause_.has_value()) {
    why = NameOf(*abort_cause_);
  } else if (!final_status_.ok()) {
    why = reason = absl::AsciiStrToLower(InfoOf(ReasonOf(final_status_)).name);
  } else if (call_->IsCancelled()) {
    // The end of the client's messages may come before its cancellation.
    why = "cancelled";
  }
  return absl::StrCat("event=stream_closed stream=", id_, " client=", LogValue(end.client()),
                      " why=", why, " seconds=", end.age_seconds(),
                      " frames=", frames(end.received()), " ok=", frames(end.ok()),
                      " dropped=", frames(end.dropped()), " failed=", frames(end.failed()),
                      " message=", LogValue(final_status_.message()));
}

server::StreamRow Stream::use() {
  absl::MutexLock lock(&mutex_);
  server::StreamRow use = counts_;
  use.set_id(static_cast<double>(id_));
  use.set_client(DisplayName(client_));
  use.set_age_seconds(std::chrono::duration<double>(clock_.Now() - begin_).count());
  if (options_ != nullptr) use.set_pipeline(options_->preset);
  use.set_received(static_cast<double>(frames_read_));
  use.set_in_flight(static_cast<uint32_t>(in_flight_));
  use.set_waiting(static_cast<uint32_t>(room_.size()));
  return use;
}

}  // namespace orbserve
