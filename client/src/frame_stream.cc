// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/src/answer_check.h"
#include "client/src/status.h"
#include "grpcpp/alarm.h"
#include "orbserve/client.h"

namespace orbserve::client {
namespace {

// Unlocks a mutex that is held, and locks it again.
class Unlocked {
 public:
  explicit Unlocked(absl::Mutex* mutex) : mutex_(mutex) { mutex_->Unlock(); }
  ~Unlocked() { mutex_->Lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  absl::Mutex* const mutex_;
};

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

// Time of a clock that nobody sets, whose zero means nothing: a robot sets its clock when it finds
// a network, perhaps by years. `next_try_` and `give_up_` are such times.
absl::Time SteadyNow() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

// Wait before the next try, after `attempts` tries.
absl::Duration DelayOf(const StreamOptions& options, int attempts) {
  static thread_local std::mt19937_64 random(std::random_device{}());
  const absl::Duration longest =
      std::min(options.first_delay * std::pow(2.0, std::min(attempts, 30)), options.max_delay);
  return longest * std::uniform_real_distribution<double>(0.5, 1.0)(random);
}

}  // namespace

struct FrameStream::Connection {
  void Cancel() {
    cancelled.store(true);
    context.TryCancel();
  }

  // Drops what the server still sends. gRPC reports the outcome only after that.
  absl::Status Finish() {
    for (v1::StreamFramesResponse response; stream->Read(&response); response.Clear()) {
    }
    return FromGrpc(stream->Finish(), cancelled.load());
  }

  // True if `response` may be taken. The first one that is wrong ends the connection. Needs the
  // stream's mutex.
  bool Accepts(const v1::StreamFramesResponse& response) {
    if (!wrong.ok()) return false;
    wrong = check.Take(response);
    if (!wrong.ok()) Cancel();
    return wrong.ok();
  }

  grpc::ClientContext context;
  std::unique_ptr<
      grpc::ClientReaderWriterInterface<v1::StreamFramesRequest, v1::StreamFramesResponse>>
      stream;
  const absl::Time begun = SteadyNow();
  std::atomic<bool> cancelled = false;  // by the caller
  // The server knows that no frame follows. Guarded by the stream's mutex, as all below.
  bool half_closed = false;
  StreamCheck check;
  absl::Status wrong;  // an answer that breaks the wire contract
};

absl::StatusOr<std::unique_ptr<FrameStream>> Client::OpenStream(const v1::StreamOpen& open,
                                                                StreamOptions options) {
  std::unique_ptr<FrameStream> stream(new FrameStream(this, open, std::move(options)));
  const StreamOptions& chosen = stream->options_;
  const bool tries_again = chosen.reconnect_for > absl::ZeroDuration();
  absl::MutexLock lock(&stream->mutex_);
  stream->give_up_ = SteadyNow() + chosen.reconnect_for;
  while (stream->connection_ == nullptr) {
    stream->Connect(tries_again ? std::min(options_.timeout, chosen.try_timeout)
                                : options_.timeout);
    if (stream->final_status_.has_value()) return *stream->final_status_;
  }
  stream->deliveries_.clear();  // the first connection is no event
  stream->give_up_ = absl::InfiniteFuture();
  stream->attempts_ = 0;
  return stream;
}

FrameStream::FrameStream(Client* client, v1::StreamOpen open, StreamOptions options)
    : client_(client), options_(std::move(options)), open_(std::move(open)) {}

FrameStream::~FrameStream() {
  std::shared_ptr<Connection> connection;
  {
    absl::MutexLock lock(&mutex_);
    connection = std::move(connection_);
  }
  if (connection == nullptr) return;
  connection->context.TryCancel();
  (void)connection->Finish();
}

absl::Status FrameStream::Open(const v1::StreamOpen& open, absl::Duration timeout,
                               bool wait_for_server, Connection* connection,
                               v1::StreamOpened* opened) const {
  grpc::ClientContext& context = connection->context;
  client_->AddIdentity(&context);
  context.set_wait_for_ready(wait_for_server);
  // An alarm limits the opening only. A deadline of the call would end a healthy stream.
  grpc::Alarm alarm;
  std::atomic<bool> timed_out = false;
  absl::Mutex alarm_mutex;
  bool alarm_done = true;
  if (timeout != absl::InfiniteDuration()) {
    alarm_done = false;
    alarm.Set(absl::ToChronoTime(absl::Now() + timeout), [&](bool expired) {
      if (expired) {
        timed_out = true;
        context.TryCancel();
      }
      absl::MutexLock lock(&alarm_mutex);
      alarm_done = true;
    });
  }

  connection->stream = client_->stub_->StreamFrames(&context);
  v1::StreamFramesRequest request;
  *request.mutable_open() = open;
  connection->check.Sent(request);
  v1::StreamFramesResponse response;
  const bool answered = connection->stream->Write(request) && connection->stream->Read(&response);

  alarm.Cancel();
  {
    absl::MutexLock lock(&alarm_mutex);
    alarm_mutex.Await(absl::Condition(&alarm_done));
  }
  if (timed_out.load()) {
    connection->Cancel();
    (void)connection->Finish();
    return absl::DeadlineExceededError(
        "the server did not answer the opening of the stream in time");
  }
  if (!answered) {
    const absl::Status status = connection->Finish();
    return status.ok() ? absl::InternalError("the server ended the stream without an answer")
                       : status;
  }
  if (response.has_going_away()) {
    connection->Cancel();
    (void)connection->Finish();
    const absl::Status status = StatusFromWire(response.going_away().status());
    return status.ok() ? absl::UnavailableError("the server is about to stop") : status;
  }
  if (absl::Status right = connection->check.Take(response); !right.ok()) {
    connection->Cancel();
    (void)connection->Finish();
    return right;
  }
  *opened = std::move(*response.mutable_opened());
  return absl::OkStatus();
}

v1::StreamOpened FrameStream::opened() const {
  absl::MutexLock lock(&mutex_);
  return opened_;
}

bool FrameStream::going_away() const {
  absl::MutexLock lock(&mutex_);
  return going_away_;
}

absl::Status FrameStream::Send(v1::Frame frame) {
  v1::StreamFramesRequest request;
  *request.mutable_frame() = std::move(frame);
  return Write(request);
}

absl::Status FrameStream::Reopen(const v1::StreamOpen& open) {
  v1::StreamFramesRequest request;
  *request.mutable_open() = open;
  return Write(request);
}

absl::Status FrameStream::Write(const v1::StreamFramesRequest& request) {
  absl::MutexLock lock(&mutex_);
  for (;;) {
    if (cancelled_ || final_status_.has_value()) break;
    if (busy_) {
      mutex_.Await(absl::Condition(
          +[](bool* busy) { return !*busy; }, &busy_));
      continue;
    }
    if (connection_ == nullptr) {
      Connect(options_.try_timeout);
      continue;
    }
    const std::shared_ptr<Connection> connection = connection_;
    if (going_away_ && options_.reconnect_for > absl::ZeroDuration()) {
      // The server answers what it has. The next frame goes over the next connection.
      if (!std::exchange(connection->half_closed, true)) {
        writing_ = true;
        {
          const Unlocked unlocked(&mutex_);
          (void)connection->stream->WritesDone();
        }
        writing_ = false;
      }
      End(connection);
      continue;
    }
    if (request.has_frame()) {
      unanswered_.push_back({request.frame().sequence(), request.frame().timestamp_ns()});
    } else {
      open_ = request.open();
    }
    connection->check.Sent(request);
    bool written = false;
    writing_ = true;
    {
      const Unlocked unlocked(&mutex_);
      written = connection->stream->Write(request);
    }
    writing_ = false;
    if (written) return absl::OkStatus();
    if (options_.reconnect_for <= absl::ZeroDuration()) break;
    // The frame is not lost: it is sent again.
    if (request.has_frame() && !unanswered_.empty()) unanswered_.pop_back();
    End(connection);
  }
  return absl::CancelledError("the stream has ended");
}

absl::Status FrameStream::CloseSend() {
  absl::MutexLock lock(&mutex_);
  if (std::exchange(send_closed_, true)) return absl::OkStatus();
  // It may wait for a server that cannot be reached, and would have nothing to do.
  if (opening_ != nullptr) opening_->Cancel();
  mutex_.Await(absl::Condition(
      +[](bool* busy) { return !*busy; }, &busy_));
  if (final_status_.has_value() && !final_status_->ok()) {
    return absl::CancelledError("the stream has ended");
  }
  if (connection_ == nullptr) {
    // Every frame has its result, and none follows.
    if (!final_status_.has_value()) final_status_ = absl::OkStatus();
    return absl::OkStatus();
  }
  const std::shared_ptr<Connection> connection = connection_;
  if (std::exchange(connection->half_closed, true)) return absl::OkStatus();
  bool written = false;
  writing_ = true;
  {
    const Unlocked unlocked(&mutex_);
    written = connection->stream->WritesDone();
  }
  writing_ = false;
  // With reconnection a loss is no error any more: Receive() tells what became of every frame.
  if (written || options_.reconnect_for > absl::ZeroDuration()) return absl::OkStatus();
  return absl::CancelledError("the stream has ended");
}

absl::StatusOr<std::optional<v1::FrameResult>> FrameStream::Receive() {
  absl::MutexLock lock(&mutex_);
  for (;;) {
    if (!deliveries_.empty()) {
      Delivery next = std::move(deliveries_.front());
      deliveries_.pop_front();
      if (auto* const result = std::get_if<v1::FrameResult>(&next); result != nullptr) {
        return std::optional<v1::FrameResult>(std::move(*result));
      }
      const Unlocked unlocked(&mutex_);
      if (options_.on_event) options_.on_event(std::get<StreamEvent>(next));
      continue;
    }
    if (final_status_.has_value()) {
      if (!final_status_->ok()) return *final_status_;
      return std::optional<v1::FrameResult>();
    }
    if (busy_) {
      mutex_.Await(absl::Condition(
          +[](bool* busy) { return !*busy; }, &busy_));
      continue;
    }
    if (connection_ == nullptr) {
      Connect(options_.try_timeout);
      continue;
    }
    const std::shared_ptr<Connection> connection = connection_;
    v1::StreamFramesResponse response;
    bool read = false;
    reading_ = true;
    {
      const Unlocked unlocked(&mutex_);
      read = connection->stream->Read(&response);
    }
    reading_ = false;
    if (read && connection->Accepts(response)) {
      Take(std::move(response));
    } else {
      End(connection);
    }
  }
}

void FrameStream::Take(v1::StreamFramesResponse response) {
  if (response.has_result()) {
    v1::FrameResult& result = *response.mutable_result();
    if (!unanswered_.empty()) unanswered_.pop_front();
    give_up_ = absl::InfiniteFuture();
    attempts_ = 0;
    TakeTracks(&result);
    deliveries_.emplace_back(std::move(result));
  } else if (response.has_opened()) {
    opened_ = std::move(*response.mutable_opened());
    deliveries_.emplace_back(StreamEvent{.kind = StreamEvent::Kind::kReopened, .opened = opened_});
  } else if (response.has_going_away()) {
    going_away_ = true;
    deliveries_.emplace_back(StreamEvent{.kind = StreamEvent::Kind::kGoingAway,
                                         .status = StatusFromWire(response.going_away().status())});
  }
}

void FrameStream::TakeTracks(v1::FrameResult* result) {
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
  // A result without any may be that of a frame that failed.
  if (result->tracks_size() + result->ended_tracks_size() > 0) {
    tracks_.clear();
    for (const v1::Track& track : result->tracks()) tracks_.push_back(track.id());
  }
  if (lost_tracks_.empty() || result->status().code() != 0) return;
  google::protobuf::RepeatedPtrField<v1::EndedTrack> ended;
  for (const uint64_t id : lost_tracks_) {
    v1::EndedTrack& track = *ended.Add();
    track.set_id(id);
    track.set_reason(v1::TRACK_END_RECONNECTED);
  }
  lost_tracks_.clear();
  ended.MergeFrom(result->ended_tracks());
  result->mutable_ended_tracks()->Swap(&ended);
}

void FrameStream::End(const std::shared_ptr<Connection>& connection) {
  if (connection_ != connection) return;
  if (busy_) {
    mutex_.Await(absl::Condition(
        +[](bool* busy) { return !*busy; }, &busy_));
    return;
  }
  busy_ = true;
  // The other thread leaves a call that has ended. The caller's own call is over.
  mutex_.Await(absl::Condition(
      +[](FrameStream* stream)
           ABSL_NO_THREAD_SAFETY_ANALYSIS { return !stream->reading_ && !stream->writing_; },
      this));
  // The server may have sent results before the end. StreamCheck bounds their number.
  absl::Status status;
  for (;;) {
    v1::StreamFramesResponse response;
    bool read = false;
    {
      const Unlocked unlocked(&mutex_);
      read = connection->stream->Read(&response);
      if (!read) status = connection->Finish();
    }
    if (!read) break;
    if (connection->Accepts(response)) Take(std::move(response));
  }
  connection_ = nullptr;
  busy_ = false;
  if (!connection->wrong.ok()) {
    final_status_ = connection->wrong;
    return;
  }
  if (status.ok() && !unanswered_.empty()) {
    status = absl::UnavailableError(absl::StrCat("the server has ended the stream with ",
                                                 unanswered_.size(), " frames not answered"));
  } else if (status.ok() && !send_closed_) {
    status = absl::UnavailableError("the server has ended the stream");
  }
  const bool wants_more = options_.reconnect_for > absl::ZeroDuration() && !cancelled_;
  if (status.ok() || !wants_more || !MayPass(status)) {
    final_status_ = status;
    return;
  }
  // A server that said that it would stop, and answered everything, has cost nothing.
  if (!going_away_ || !unanswered_.empty()) LoseUnanswered(status);
  if (SteadyNow() - connection->begun > options_.reconnect_for) {
    // It was healthy for long enough, even if no frame was sent.
    give_up_ = absl::InfiniteFuture();
    attempts_ = 0;
  }
  if (send_closed_) {
    final_status_ = absl::OkStatus();  // every frame has its result, and none follows
    return;
  }
  const absl::Time now = SteadyNow();
  give_up_ = std::min(give_up_, now + options_.reconnect_for);
  if (now >= give_up_) {
    final_status_ = status;  // the last try was opened, and lost before a result came
    return;
  }
  PlanTry(status, now);
}

void FrameStream::LoseUnanswered(const absl::Status& cause) {
  StreamEvent event{.kind = StreamEvent::Kind::kLost, .status = cause};
  for (const Unanswered& frame : unanswered_) event.lost_sequences.push_back(frame.sequence);
  deliveries_.emplace_back(std::move(event));
  v1::Status status = WireStatusOf(cause);
  status.set_code(static_cast<int>(absl::StatusCode::kUnavailable));
  status.set_message(
      absl::StrCat("the connection was lost before the frame was answered: ", status.message()));
  for (const Unanswered& frame : unanswered_) {
    v1::FrameResult result;
    result.set_sequence(frame.sequence);
    result.set_timestamp_ns(frame.timestamp_ns);
    *result.mutable_status() = status;
    deliveries_.emplace_back(std::move(result));
  }
  unanswered_.clear();
}

void FrameStream::PlanTry(const absl::Status& cause, absl::Time begun) {
  // The last try comes at the end of the time, however long the wait would be.
  next_try_ = std::min(begun + DelayOf(options_, attempts_), give_up_);
  const auto asked_ms = WireStatusOf(cause).retry_after_ms();
  if (asked_ms == 0) return;
  next_try_ = std::max(next_try_, SteadyNow() + absl::Milliseconds(asked_ms));
  if (next_try_ > give_up_) final_status_ = cause;
}

void FrameStream::Connect(absl::Duration timeout) {
  busy_ = true;
  mutex_.AwaitWithTimeout(absl::Condition(
                              +[](FrameStream* stream) ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                return stream->cancelled_ || stream->send_closed_;
                              },
                              this),
                          next_try_ - SteadyNow());
  auto connection = std::make_shared<Connection>();
  v1::StreamOpened opened;
  absl::Status status;
  const absl::Time begun = SteadyNow();
  // gRPC connects only while a call waits for it. The last try fails at once, with gRPC's reason.
  // There is one even if the caller comes back after the time only.
  const bool last = begun >= give_up_;
  if (!cancelled_ && !send_closed_) {
    opening_ = connection;
    const v1::StreamOpen open = open_;
    const absl::Duration limit = last ? timeout : std::min(timeout, give_up_ - begun);
    const Unlocked unlocked(&mutex_);
    status = Open(open, limit, /*wait_for_server=*/!last, connection.get(), &opened);
  }
  opening_ = nullptr;
  busy_ = false;
  ++attempts_;
  if (cancelled_ || send_closed_) {
    // A connection that was opened all the same ends as the first one would.
    if (status.ok() && connection->stream != nullptr) {
      connection->Cancel();
      (void)connection->Finish();
    }
    final_status_ =
        cancelled_ ? absl::CancelledError("the stream was cancelled") : absl::OkStatus();
  } else if (status.ok()) {
    connection_ = std::move(connection);
    going_away_ = false;
    opened_ = opened;
    first_id_ = last_id_;
    lost_tracks_.insert(lost_tracks_.end(), tracks_.begin(), tracks_.end());
    tracks_.clear();
    deliveries_.emplace_back(StreamEvent{.kind = StreamEvent::Kind::kReconnected,
                                         .attempts = attempts_,
                                         .opened = std::move(opened)});
  } else if (last || !MayPass(status)) {
    final_status_ = status;
  } else {
    PlanTry(status, begun);
  }
}

void FrameStream::Cancel() {
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  if (connection_ != nullptr) connection_->Cancel();
  if (opening_ != nullptr) opening_->Cancel();
}

}  // namespace orbserve::client
