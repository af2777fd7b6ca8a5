// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/src/jpeg_encoder.h"
#include "client/src/status.h"
#include "client/src/stream_connection.h"
#include "orbserve/client.h"

namespace orbserve::client {
namespace {

// Longest single wait. absl::Mutex waits by the clock of the day, which a robot may set back by
// years when it finds a network.
constexpr absl::Duration kLongestWait = absl::Seconds(1);

// A connection whose silence may come from what is under way gets more time, up to this.
constexpr absl::Duration kLongestKeepalive = absl::Seconds(30);

// True for errors after which a new connection may do better. Those that the server's table of
// errors names say so by their code; others come from gRPC or from a proxy in between.
bool MayPass(const absl::Status& status) {
  const bool from_server = !WireStatusOf(status).reason().empty();
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return true;
    case absl::StatusCode::kResourceExhausted:
      return from_server;  // otherwise gRPC says that a message is too large
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return !from_server;
    default:
      return false;
  }
}

// Wait before the next try, after `attempts` tries.
absl::Duration DelayOf(const StreamOptions& options, int attempts) {
  static thread_local std::mt19937_64 random(std::random_device{}());
  const absl::Duration longest =
      std::min(options.first_delay * std::pow(2.0, std::min(attempts, 30)), options.max_delay);
  return longest * std::uniform_real_distribution<double>(0.5, 1.0)(random);
}

constexpr char kDropped[] = "DROPPED";
constexpr char kLate[] = "DEADLINE_EXCEEDED";

absl::Status StreamHasEnded() { return absl::CancelledError("the stream has ended"); }

}  // namespace

absl::StatusOr<std::unique_ptr<FrameStream>> Client::OpenStream(const v1::StreamOpen& open,
                                                                StreamOptions options) {
  if (options.max_waiting < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_waiting must be 1 or more; got ", options.max_waiting));
  }
  if (options.jpeg_age < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("jpeg_age must be 0 or more; got ", absl::FormatDuration(options.jpeg_age)));
  }
  std::unique_ptr<FrameStream> stream(new FrameStream(this, open, std::move(options)));
  absl::MutexLock lock(&stream->mutex_);
  stream->try_timeout_ = options_.timeout;
  if (stream->reconnects()) {
    stream->try_timeout_ = std::min(options_.timeout, stream->options_.try_timeout);
  }
  stream->give_up_ = SteadyNow() + stream->options_.reconnect_for;
  stream->keepalive_ = options_.keepalive;
  const auto is_decided = [&stream]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return stream->was_open_ || stream->final_status_.has_value();
  };
  for (;;) {
    stream->Drive();
    // A loss since then is told by Receive().
    if (stream->was_open_) return stream;
    if (stream->final_status_.has_value()) return *stream->final_status_;
    stream->AwaitUntil(absl::InfiniteFuture(), is_decided);
  }
}

FrameStream::FrameStream(Client* client, v1::StreamOpen open, StreamOptions options)
    : client_(client),
      options_(std::move(options)),
      given_(open),
      open_(std::move(open)),
      jpeg_(options_.jpeg_age > absl::ZeroDuration()
                ? std::make_unique<JpegQuality>(options_.jpeg_age)
                : nullptr) {}

FrameStream::~FrameStream() {
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  if (connection_ != nullptr) connection_->Cancel(/*by_caller=*/true);
  const auto is_gone = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return connection_ == nullptr; };
  mutex_.Await(absl::Condition(&is_gone));
}

v1::StreamOpened FrameStream::opened() const {
  absl::MutexLock lock(&mutex_);
  return opened_;
}

bool FrameStream::going_away() const {
  absl::MutexLock lock(&mutex_);
  return going_away_;
}

LinkState FrameStream::link() const {
  absl::MutexLock lock(&mutex_);
  LinkState state = counts_;
  if (jpeg_ != nullptr) state.jpeg_quality = jpeg_->value();
  if (connection_ == nullptr || !connection_->is_open) return state;
  const LinkWindow& window = connection_->window;
  const bool is_answered = window.way() > absl::ZeroDuration();
  state.connected = true;
  state.way = is_answered ? window.way() : connection_->opening_way;
  state.shortest_way = is_answered ? window.shortest_way() : connection_->opening_way;
  const absl::Duration deadline = absl::Milliseconds(given_.deadline_ms());
  state.limits = window.Limits(SteadyNow()) ||
                 (deadline > absl::ZeroDuration() && state.shortest_way > deadline);
  return state;
}

bool FrameStream::has_slot() const {
  return given_.drop_policy() == v1::DROP_POLICY_NEWEST ||
         given_.drop_policy() == v1::DROP_POLICY_OLDEST;
}

bool FrameStream::has_ended() const { return cancelled_ || final_status_.has_value(); }

std::string FrameStream::Encoded(const v1::Frame& frame) const {
  if (jpeg_ == nullptr) return std::string();
  int quality = 0;
  {
    absl::MutexLock lock(&mutex_);
    quality = jpeg_->value();
  }
  return EncodeJpeg(frame, quality);
}

FrameStream::Entry FrameStream::MakeEntry(v1::Frame frame, CaptureTime captured) const {
  Entry entry;
  entry.is_frame = true;
  entry.sequence = frame.sequence();
  entry.timestamp_ns = frame.timestamp_ns();
  entry.budget_ms = frame.deadline_ms() > 0 ? frame.deadline_ms() : given_.deadline_ms();
  entry.captured = std::min(SteadyNow(), SteadyTime(captured));
  if (entry.budget_ms > 0) entry.deadline = entry.captured + absl::Milliseconds(entry.budget_ms);
  entry.bytes = static_cast<int64_t>(frame.ByteSizeLong());
  *entry.request.mutable_frame() = std::move(frame);
  return entry;
}

absl::Status FrameStream::Send(v1::Frame frame, std::optional<CaptureTime> captured) {
  if (!captured.has_value()) captured = std::chrono::steady_clock::now();
  if (std::string file = Encoded(frame); !file.empty()) ReplacePixels(std::move(file), &frame);
  absl::MutexLock lock(&mutex_);
  return Put(MakeEntry(std::move(frame), *captured));
}

absl::StatusOr<bool> FrameStream::TrySend(v1::Frame* frame, std::optional<CaptureTime> captured) {
  if (!captured.has_value()) captured = std::chrono::steady_clock::now();
  std::string file;
  if (jpeg_ != nullptr) {
    {
      absl::MutexLock lock(&mutex_);
      if (const absl::StatusOr<bool> has_place = HasPlace(); !has_place.value_or(false)) {
        return has_place;  // it need not be encoded
      }
    }
    file = Encoded(*frame);
  }
  absl::MutexLock lock(&mutex_);
  if (const absl::StatusOr<bool> has_place = HasPlace(); !has_place.value_or(false)) {
    return has_place;
  }
  if (!file.empty()) ReplacePixels(std::move(file), frame);
  if (absl::Status put = Put(MakeEntry(std::move(*frame), *captured)); !put.ok()) return put;
  return true;
}

absl::StatusOr<bool> FrameStream::HasPlace() {
  Drive();
  if (has_ended() || send_closed_) return StreamHasEnded();
  const bool may_write = connection_ != nullptr && connection_->is_open && connection_->can_write &&
                         !connection_->is_writing && !(going_away_ && reconnects()) &&
                         FirstWaiting() == entries_.size();
  return may_write || has_slot();
}

absl::Status FrameStream::Reopen(const v1::StreamOpen& open) {
  absl::MutexLock lock(&mutex_);
  given_ = open;
  Entry entry;
  *entry.request.mutable_open() = open;
  return Put(std::move(entry));
}

absl::Status FrameStream::Put(Entry entry) {
  Drive();
  if (has_ended() || send_closed_) return StreamHasEnded();
  const bool is_frame = entry.is_frame;
  const uint64_t number = first_number_ + entries_.size();
  entries_.push_back(std::move(entry));
  if (is_frame) ++waiting_frames_;
  DropBeyondSlot();
  Drive();
  if (has_slot()) return absl::OkStatus();
  const auto is_decided = [this, number]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return IsTaken(number) || has_ended();
  };
  while (!is_decided()) {
    AwaitUntil(absl::InfiniteFuture(), is_decided);
    Drive();
  }
  return IsTaken(number) ? absl::OkStatus() : StreamHasEnded();
}

bool FrameStream::IsTaken(uint64_t number) const {
  return number < first_number_ + written_ || entries_[number - first_number_].done;
}

size_t FrameStream::FirstWaiting() const {
  size_t index = written_;
  while (index < entries_.size() && entries_[index].done) ++index;
  return index;
}

void FrameStream::DropBeyondSlot() {
  const bool oldest_survive = given_.drop_policy() == v1::DROP_POLICY_OLDEST;
  while (has_slot() && waiting_frames_ > options_.max_waiting) {
    Entry* dropped = nullptr;
    for (size_t i = FirstWaiting(); i < entries_.size(); ++i) {
      if (entries_[i].done || !entries_[i].is_frame) continue;
      dropped = &entries_[i];
      if (!oldest_survive) break;
    }
    ++counts_.dropped;
    Fail(absl::StatusCode::kAborted, kDropped, "the drop policy kept another frame on the client",
         dropped);
  }
}

void FrameStream::Drive() {
  if (final_status_.has_value()) return;
  const absl::Time now = SteadyNow();
  for (size_t i = FirstWaiting(); i < entries_.size();) {
    if (entries_[i].done || entries_[i].deadline > now) {
      ++i;
      continue;
    }
    FailLate(&entries_[i]);
    i = FirstWaiting();
  }
  if (connection_ != nullptr) {
    if (connection_->is_open) {
      Write(now);
    } else if (now >= connection_->open_by) {
      connection_->Break(absl::DeadlineExceededError(
          "the server did not answer the opening of the stream in time"));
    }
    return;
  }
  if (cancelled_) {
    final_status_ = absl::CancelledError("the stream was cancelled");
  } else if (send_closed_ && FirstWaiting() == entries_.size()) {
    final_status_ = absl::OkStatus();  // every frame has its result, and none follows
  } else if (now >= next_try_) {
    Connect(now);
  }
}

absl::Time FrameStream::NextDue() const {
  absl::Time due = absl::InfiniteFuture();
  for (size_t i = FirstWaiting(); i < entries_.size(); ++i) {
    if (!entries_[i].done) due = std::min(due, entries_[i].deadline);
  }
  if (connection_ == nullptr) return std::min(due, next_try_);
  if (connection_->is_open || !connection_->failure.ok()) return due;
  return std::min(due, connection_->open_by);
}

template <typename Predicate>
void FrameStream::AwaitUntil(absl::Time until, const Predicate& is_done) {
  const absl::Time due = NextDue();
  const auto wakes = [this, due, &is_done]()
                         ABSL_NO_THREAD_SAFETY_ANALYSIS { return is_done() || NextDue() < due; };
  mutex_.AwaitWithTimeout(absl::Condition(&wakes),
                          std::min(std::min(due, until) - SteadyNow(), kLongestWait));
}

v1::Features::StubInterface* FrameStream::Stub() {
  const bool shares = open_.references_size() > 0 && client_->options_.client_id.empty() &&
                      client_->options_.tls_cert_file.empty() && client_->authorization_.empty();
  if (!reconnects() || client_->make_channel_ == nullptr || shares) return client_->stub_.get();
  return client_->StreamStub(keepalive_);
}

void FrameStream::Connect(absl::Time now) {
  // gRPC connects only while a call waits for it. The last try fails at once, with gRPC's reason.
  // There is one even if the caller comes back after the time only.
  const bool is_last = now >= give_up_;
  const absl::Duration limit = is_last ? try_timeout_ : std::min(try_timeout_, give_up_ - now);
  connection_ = new Connection(this, now, now + limit, is_last);
  ++attempts_;
  client_->AddIdentity(&connection_->context);
  connection_->context.set_wait_for_ready(!is_last);
  *connection_->request.mutable_open() = open_;
  connection_->check.Sent(connection_->request);
  Stub()->async()->StreamFrames(&connection_->context, connection_);
  connection_->AddHold();
  connection_->StartWrite(&connection_->request);
  connection_->ReadOn();
  connection_->StartCall();
}

void FrameStream::Write(absl::Time now) {
  Connection* const connection = connection_;
  if (cancelled_ || !connection->failure.ok() || !connection->can_write) return;
  if (connection->is_writing || connection->half_closed) return;
  size_t index = FirstWaiting();
  while (index < entries_.size() && entries_[index].budget_ms > 0 &&
         entries_[index].deadline - now < absl::Milliseconds(1)) {
    FailLate(&entries_[index]);  // nothing is left that could be sent with it
    index = FirstWaiting();
  }
  const bool waits = index < entries_.size();
  // A server that goes away answers what it has. The next frame goes over the next connection.
  if (waits ? going_away_ && reconnects() : send_closed_) {
    connection->half_closed = true;
    connection->StartWritesDone();
    return;
  }
  if (!waits) return;
  Entry& next = entries_[index];
  if (next.is_frame) {
    if (has_slot() && !connection->window.Admits(next.bytes, now)) return;
    if (next.budget_ms > 0) {
      next.request.mutable_frame()->set_deadline_ms(
          static_cast<uint32_t>(absl::ToInt64Milliseconds(next.deadline - now)));
    }
    next.written = now;
    next.outstanding = connection->window.Write(next.bytes);
    --waiting_frames_;
  } else {
    open_ = next.request.open();
  }
  connection->check.Sent(next.request);
  connection->request = std::move(next.request);
  connection->number = first_number_ + index;
  written_ = index + 1;
  connection->is_writing = true;
  connection->StartWrite(&connection->request);
}

absl::Status FrameStream::CloseSend() {
  absl::MutexLock lock(&mutex_);
  if (std::exchange(send_closed_, true)) return absl::OkStatus();
  // A try may wait for a server that cannot be reached, and would have nothing to do.
  if (connection_ != nullptr && !connection_->is_open && FirstWaiting() == entries_.size()) {
    connection_->Cancel(/*by_caller=*/false);
  }
  Drive();
  return cancelled_ ? StreamHasEnded() : absl::OkStatus();
}

absl::StatusOr<std::optional<v1::FrameResult>> FrameStream::Receive(FrameTimes* times) {
  absl::StatusOr<std::optional<v1::FrameResult>> result;
  (void)Receive(absl::InfiniteDuration(), &result, times);
  return result;
}

bool FrameStream::Receive(absl::Duration timeout,
                          absl::StatusOr<std::optional<v1::FrameResult>>* result,
                          FrameTimes* times) {
  absl::MutexLock lock(&mutex_);
  const absl::Time until = SteadyNow() + timeout;
  const auto is_decided = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !deliveries_.empty() || final_status_.has_value();
  };
  for (;;) {
    Drive();
    while (!deliveries_.empty()) {
      Delivery next = std::move(deliveries_.front());
      deliveries_.pop_front();
      if (connection_ != nullptr && deliveries_.size() < kMaxUnread) connection_->ReadOn();
      if (auto* const received = std::get_if<Received>(&next); received != nullptr) {
        if (times != nullptr) *times = received->times;
        *result = std::move(received->result);
        return true;
      }
      if (!options_.on_event) continue;
      mutex_.Unlock();
      options_.on_event(std::get<StreamEvent>(next));
      mutex_.Lock();
    }
    if (final_status_.has_value()) {
      if (final_status_->ok()) {
        *result = std::nullopt;
      } else {
        *result = *final_status_;
      }
      return true;
    }
    if (SteadyNow() >= until) return false;
    AwaitUntil(until, is_decided);
  }
}

void FrameStream::Take(v1::StreamFramesResponse response) {
  if (response.has_result()) {
    TakeResult(std::move(*response.mutable_result()));
  } else if (response.has_opened()) {
    TakeOpened(std::move(*response.mutable_opened()));
  } else if (response.has_going_away()) {
    going_away_ = true;
    deliveries_.emplace_back(StreamEvent{.kind = StreamEvent::Kind::kGoingAway,
                                         .status = StatusFromWire(response.going_away().status())});
  }
}

void FrameStream::TakeOpened(v1::StreamOpened opened) {
  opened_ = std::move(opened);
  // One more than are computed at a time keeps the server busy.
  connection_->window.SetFramesAtServer(static_cast<int>(opened_.max_in_flight()) + 1);
  if (connection_->is_open) {
    Entry& entry = entries_.front();
    entry.delivery = StreamEvent{.kind = StreamEvent::Kind::kReopened, .opened = opened_};
    entry.done = true;
    Deliver();
    return;
  }
  connection_->is_open = true;
  connection_->opening_way =
      std::max(SteadyNow() - connection_->opening_written, absl::ZeroDuration());
  going_away_ = false;
  first_id_ = last_id_;
  for (const uint64_t id : tracks_) {
    v1::EndedTrack& track = unseen_ends_.emplace_back();
    track.set_id(id);
    track.set_reason(v1::TRACK_END_RECONNECTED);
  }
  tracks_.clear();
  if (std::exchange(was_open_, true)) {
    deliveries_.emplace_back(StreamEvent{
        .kind = StreamEvent::Kind::kReconnected, .attempts = attempts_, .opened = opened_});
    return;
  }
  give_up_ = absl::InfiniteFuture();
  attempts_ = 0;
  try_timeout_ = options_.try_timeout;
}

void FrameStream::TakeResult(v1::FrameResult result) {
  Entry& entry = entries_.front();
  const absl::Time now = SteadyNow();
  const FrameTimes times = {
      .age = now - entry.captured,
      .round_trip = now - entry.written,
      .server = absl::Nanoseconds(static_cast<int64_t>(result.timings().total_ns()))};
  connection_->window.Leave(entry.bytes);
  // A frame that failed early has no time of the server.
  if (result.timings().total_ns() > 0) {
    connection_->window.Measure({.written = entry.written,
                                 .arrived = now,
                                 .server = times.server,
                                 .bytes = entry.bytes,
                                 .outstanding = entry.outstanding});
  }
  if (jpeg_ != nullptr && result.status().code() == 0) {
    jpeg_->Measure({.captured = entry.captured,
                    .arrived = now,
                    .link = times.round_trip - times.server,
                    .server = times.server});
  }
  give_up_ = absl::InfiniteFuture();
  attempts_ = 0;
  const bool is_late = result.status().code() == 0 && now > entry.deadline;
  TakeTracks(is_late, &result);
  if (is_late) {
    ++counts_.late_answers;
    result.clear_features();
    result.clear_matches();
    result.clear_tracks();
    result.clear_ended_tracks();
    result.mutable_status()->set_code(static_cast<int>(absl::StatusCode::kDeadlineExceeded));
    result.mutable_status()->set_reason(kLate);
    result.mutable_status()->set_message(absl::StrCat(
        "the answer came after the frame's ", entry.budget_ms, " ms had passed on the client"));
  }
  entry.delivery = Received{.result = std::move(result), .times = times};
  entry.done = true;
  Deliver();
}

void FrameStream::TakeTracks(bool is_late, v1::FrameResult* result) {
  // A server counts its tracks anew on every connection.
  for (v1::Track& track : *result->mutable_tracks()) {
    track.set_id(track.id() + first_id_);
    last_id_ = std::max(last_id_, track.id());
  }
  for (v1::EndedTrack& ended : *result->mutable_ended_tracks()) {
    ended.set_id(ended.id() + first_id_);
    // The result in which the track began may have failed.
    last_id_ = std::max(last_id_, ended.id());
  }
  if (is_late) {
    for (const v1::EndedTrack& ended : result->ended_tracks()) {
      const auto known = std::lower_bound(tracks_.begin(), tracks_.end(), ended.id());
      if (known == tracks_.end() || *known != ended.id()) continue;
      tracks_.erase(known);
      unseen_ends_.push_back(ended);
    }
    return;
  }
  // A result without any may be that of a frame that failed.
  if (result->tracks_size() + result->ended_tracks_size() > 0) {
    tracks_.clear();
    for (const v1::Track& track : result->tracks()) tracks_.push_back(track.id());
  }
  if (unseen_ends_.empty() || result->status().code() != 0) return;
  auto& ended = *result->mutable_ended_tracks();
  for (v1::EndedTrack& track : unseen_ends_) *ended.Add() = std::move(track);
  unseen_ends_.clear();
  std::sort(ended.begin(), ended.end(),
            [](const v1::EndedTrack& a, const v1::EndedTrack& b) { return a.id() < b.id(); });
}

void FrameStream::End(absl::Status status) {
  const Connection& connection = *connection_;
  if (!connection.is_open) {
    EndTry(status);
    return;
  }
  if (connection.is_unwritten && reconnects() && connection.number >= first_number_) {
    // This entry is not lost: it is sent again.
    written_ = connection.number - first_number_;
    Entry& entry = entries_[written_];
    entry.request = std::move(connection_->request);
    if (entry.is_frame) ++waiting_frames_;
    DropBeyondSlot();
  }
  int unanswered = 0;
  for (size_t i = 0; i < written_; ++i) {
    if (entries_[i].is_frame && !entries_[i].done) ++unanswered;
  }
  const bool all_sent = send_closed_ && FirstWaiting() == entries_.size();
  if (status.ok() && unanswered > 0) {
    status = absl::UnavailableError(
        absl::StrCat("the server has ended the stream with ", unanswered, " frames not answered"));
  } else if (status.ok() && !all_sent) {
    status = absl::UnavailableError("the server has ended the stream");
  }
  if (status.ok() || !reconnects() || cancelled_ || !MayPass(status)) {
    final_status_ = status;
    return;
  }
  // A server that said that it would stop, and answered everything, has cost nothing.
  if (!going_away_ || unanswered > 0) LoseUnanswered(status);
  const absl::Time now = SteadyNow();
  // Perhaps the answer to the probe only waited.
  if (now - connection.heard >= keepalive_ && connection.window.MayTake(keepalive_)) {
    keepalive_ = std::min(2 * keepalive_, std::max(kLongestKeepalive, keepalive_));
  }
  if (now - connection.begun > options_.reconnect_for) {
    // It was healthy for long enough, even if no frame was sent.
    give_up_ = absl::InfiniteFuture();
    attempts_ = 0;
  }
  if (all_sent) {
    final_status_ = absl::OkStatus();  // every frame has its result, and none follows
    return;
  }
  give_up_ = std::min(give_up_, now + options_.reconnect_for);
  if (now >= give_up_) {
    final_status_ = status;  // the last try was opened, and lost before a result came
    return;
  }
  PlanTry(status, now);
}

void FrameStream::EndTry(const absl::Status& status) {
  const absl::Status cause =
      status.ok() ? absl::InternalError("the server ended the stream without an answer") : status;
  if (cancelled_) {
    final_status_ = absl::CancelledError("the stream was cancelled");
  } else if (send_closed_ && FirstWaiting() == entries_.size()) {
    final_status_ = absl::OkStatus();
  } else if (connection_->is_last || !MayPass(cause)) {
    final_status_ = cause;
  } else {
    PlanTry(cause, connection_->begun);
  }
}

void FrameStream::LoseUnanswered(const absl::Status& cause) {
  StreamEvent event{.kind = StreamEvent::Kind::kLost, .status = cause};
  v1::Status status = WireStatusOf(cause);
  status.set_code(static_cast<int>(absl::StatusCode::kUnavailable));
  status.set_message(
      absl::StrCat("the connection was lost before the frame was answered: ", status.message()));
  const absl::Time now = SteadyNow();
  for (size_t i = 0; i < written_; ++i) {
    Entry& entry = entries_[i];
    if (entry.done) continue;
    entry.done = true;
    if (!entry.is_frame) continue;
    event.lost_sequences.push_back(entry.sequence);
    Received& lost = entry.delivery.emplace<Received>();
    lost.result.set_sequence(entry.sequence);
    lost.result.set_timestamp_ns(entry.timestamp_ns);
    *lost.result.mutable_status() = status;
    lost.times.age = now - entry.captured;
  }
  deliveries_.emplace_back(std::move(event));
  Deliver();
}

void FrameStream::FailLate(Entry* entry) {
  ++counts_.late;
  Fail(absl::StatusCode::kDeadlineExceeded, kLate,
       absl::StrCat("the frame's ", entry->budget_ms,
                    " ms passed before it was sent, on the client"),
       entry);
}

void FrameStream::Fail(absl::StatusCode code, const std::string& reason, const std::string& message,
                       Entry* entry) {
  --waiting_frames_;
  entry->request.Clear();
  Received& failed = entry->delivery.emplace<Received>();
  failed.result.set_sequence(entry->sequence);
  failed.result.set_timestamp_ns(entry->timestamp_ns);
  failed.result.mutable_status()->set_code(static_cast<int>(code));
  failed.result.mutable_status()->set_reason(reason);
  failed.result.mutable_status()->set_message(message);
  failed.times.age = SteadyNow() - entry->captured;
  entry->done = true;
  Deliver();
}

void FrameStream::Deliver() {
  while (!entries_.empty() && entries_.front().done) {
    Delivery& delivery = entries_.front().delivery;
    if (!std::holds_alternative<std::monostate>(delivery)) {
      deliveries_.push_back(std::move(delivery));
    }
    entries_.pop_front();
    ++first_number_;
    if (written_ > 0) --written_;
  }
}

void FrameStream::PlanTry(const absl::Status& cause, absl::Time begun) {
  // The last try comes at the end of the time, however long the wait would be.
  next_try_ = std::min(begun + DelayOf(options_, attempts_), give_up_);
  const auto asked_ms = WireStatusOf(cause).retry_after_ms();
  if (asked_ms == 0) return;
  next_try_ = std::max(next_try_, SteadyNow() + absl::Milliseconds(asked_ms));
  if (next_try_ > give_up_) final_status_ = cause;
}

void FrameStream::Cancel() {
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  if (connection_ != nullptr) {
    connection_->Cancel(/*by_caller=*/true);
  } else {
    Drive();
  }
}

}  // namespace orbserve::client
