// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Stream of one robot: decides what is read, which frames are computed, dropped or late, and what
// the client is told. Its base (frame_sequence.h) orders the results, makes matches and keeps
// tracks. The call (StreamWire) reads, writes and ends as the stream says.
//
// Life of a frame. A frame that was read is admitted, takes its place in the order, and waits in
// the waiting room (waiting_room.h) until fewer than `max_in_flight` frames of the stream are in
// flight. Then it begins: it is decoded, and computed. It is in flight until its result is written.
// A frame that waits costs its message only. It leaves the room without having begun when the drop
// policy or its deadline says so.
//
// Backpressure. Under BLOCK a message is read only while there is a place in flight for it, and the
// messages in flight hold less than `max_bytes_in_flight`. HTTP/2 flow control then holds back a
// robot that sends faster than it is answered or reads its answers slowly. Under the other policies
// the stream goes on reading, and frames that find the room full are dropped. It stops only for a
// robot that does not read its results: at kMaxUnreadResults results more than frames that are in
// flight or wait.
//
// Answers may be larger than their frames, so their memory is bounded, too. A frame reserves its
// largest possible answer when it begins. The reservation shrinks to the real size when the answer
// exists and ends when it is sent. While the reservations of a stream exceed `max_response_bytes`,
// or those of its client exceed the client's share, a stream has at most one frame in flight. It is
// not stopped altogether: robots that read nothing would otherwise stop those that do.
//
// Deadlines. A frame is answered DEADLINE_EXCEEDED at its deadline, wherever it is. Work on it that
// has not begun is withdrawn, and work that has begun is told to stop. The answer keeps its place
// in the order: it waits for the answers of earlier frames whose deadline is later, or which have
// none.
//
// Outcomes. What the client is told about a frame is decided once, where its result is handed to
// gRPC: a result whose deadline has passed by then becomes DEADLINE_EXCEEDED. The frame is counted
// and logged there, too. A frame whose call is over before counts as CANCELLED, or as
// DEADLINE_EXCEEDED.
//
// A stream takes one of `max_streams` places. It therefore ends with DEADLINE_EXCEEDED when it has
// no opening message after `open_timeout`, when it owes nothing and has sent nothing for
// `idle_timeout`, and when a result was not read within the send timeout. It ends
// with QUOTA_EXCEEDED when another client needs its place more (stream_registry.h). The status of a
// stream waits behind the results that its client has not read, so the call is cancelled a second
// later.
//
// Threads: gRPC reports one read and one write at a time. Frames begin on its threads only. Results
// come from the threads that completed them, and from the clock's at deadlines. The stream's one
// mutex is held while an operation of the call is started, so that none starts after its end.

#ifndef ORBSERVE_SERVER_SERVING_STREAM_STREAM_H_
#define ORBSERVE_SERVER_SERVING_STREAM_STREAM_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/clients/client_id.h"
#include "server/clients/ledger.h"
#include "server/process/clock.h"
#include "server/serving/client_activity.h"
#include "server/serving/frame/frame_account.h"
#include "server/serving/frame/frame_intake.h"
#include "server/serving/stream/frame_sequence.h"
#include "server/serving/stream/stream_frame.h"
#include "server/serving/stream/stream_pictures.h"
#include "server/serving/stream/stream_registry.h"
#include "server/serving/stream/waiting_room.h"
#include "server/telemetry/metrics.h"
#include "server/telemetry/pages.pb.h"

namespace orbserve {

// The call of a stream, as rpc/ implements it.
class StreamWire {
 public:
  virtual ~StreamWire() = default;

  // Each starts an operation of the call. Called under the lock of the stream, until Done().
  virtual void Read() = 0;                           // then Received(), or ReadEnded()
  virtual void Write(MessageBytes message) = 0;      // then Written()
  virtual void End(const absl::Status& status) = 0;  // then Done()
  virtual void Cancel() = 0;
  virtual bool IsCancelled() const = 0;

  // The message with the frame's result, which it frees. Where there is no memory for it, the
  // result's status becomes OUT_OF_MEMORY. Called without a lock, for one frame at a time.
  virtual MessageBytes Encode(StreamFrame& frame) = 0;
  // The message with `status`, which is not OK, in place of a result.
  virtual MessageBytes EncodeFailure(const StreamFrame& frame, const absl::Status& status) = 0;
  virtual MessageBytes EncodeGoingAway(const absl::Status& reason) = 0;
};

class Stream final : public FrameSequence {
 public:
  // The wire is alive until Done() has returned.
  Stream(const StreamParts& parts, StreamRegistry* registry,
         const std::shared_ptr<StreamWire>& wire);

  // Begins to read, unless `status` is not OK: the stream then ends with it. `connection` is as in
  // StreamRegistry::Add().
  void Start(absl::Status status, const ClientId& client, const std::string& connection,
             SteadyTime call_deadline) ABSL_LOCKS_EXCLUDED(mutex_);

  // --- What the call reports. ---

  // A message was read. False for one that is of no use any more. ReadOn() follows.
  bool Received() ABSL_LOCKS_EXCLUDED(mutex_);
  // The message was an `open`. `max_response_bytes`: of a frame by these options; `opened`: answer.
  void Open(std::shared_ptr<const StreamOptions> options, int64_t max_response_bytes,
            MessageBytes opened) ABSL_LOCKS_EXCLUDED(mutex_);
  // The message was a frame. `image_bytes`: of image and mask; `refusal` is as in
  // FrameIntake::Admit().
  void Take(const StreamFramePtr& frame, int64_t image_bytes, const absl::Status& refusal)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Reads the next message, if there is room for it. If `status` is not OK, the stream ends with it
  // when the earlier frames are answered.
  void ReadOn(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // The client sends no more.
  void ReadEnded() ABSL_LOCKS_EXCLUDED(mutex_);
  void Written(bool ok) ABSL_LOCKS_EXCLUDED(mutex_);
  void Cancelled() ABSL_LOCKS_EXCLUDED(mutex_);
  // The call is over, and calls the stream no more.
  void Done() ABSL_LOCKS_EXCLUDED(mutex_);

  // --- What the server decides. ---

  // Ends the stream without the results that it owes.
  void Preempt(AbortCause cause, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Tells the client that the server is about to stop.
  void AnnounceGoingAway(const absl::Status& reason) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the stream with `reason` when the frames that it has read are answered.
  void Stop(const absl::Status& reason) ABSL_LOCKS_EXCLUDED(mutex_);

  // Set by Start().
  const ClientId& client() const { return client_; }
  uint64_t id() const { return id_; }
  server::StreamRow use() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A message that waits to be written.
  struct Outgoing {
    MessageBytes message;     // unless it is the answer of `frame`
    bool is_response = true;  // to a message that was read
    StreamFramePtr frame = nullptr;
  };

  void Encode(StreamFrame& frame) override ABSL_LOCKS_EXCLUDED(mutex_);
  void GiveOut(const StreamFramePtr& frame) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The frame's features are computed, or it has failed.
  void OnComputed(StreamFrame& frame) ABSL_LOCKS_EXCLUDED(mutex_);

  // Begins the frames that wait, as far as there are places in flight, and goes on with reading and
  // writing. `read`: what came of the message that was read; null if none was.
  void BeginFrames(const absl::Status* read) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes the frame out of the room that may begin now; null if there is none.
  StreamFramePtr NextToBegin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Decides what the client is told about the frame of this message, which is to be written next,
  // and counts it.
  void Decide(Outgoing& outgoing) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountEnd(const StreamFrame& frame, const absl::Status& told)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts and takes out the frames of a stream that is over, whose results nobody reads.
  Released TakeFrames() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Ends the stream if its client takes too long, and answers frames that are late.
  void OnAlarm() ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets the alarm for what comes next, unless it is set for an earlier moment.
  void SetAlarm() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SteadyTime NextAlarm() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Why a stream ends whose client takes too long; OK for others.
  absl::Status Stalled(SteadyTime now, AbortCause* cause) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // As Preempt(). Release() follows.
  Released Cut(AbortCause cause, const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Nothing that is computed from now on is of use.
  bool IsOver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return finished_ || is_aborted_; }
  // The client waits for nothing, and we wait for its next message.
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return options_ != nullptr && reading_ && unanswered_ == 0;
  }

  // Changes what is reserved for the frame's answer. Must not be called once the call is finished,
  // as Done() ends all reservations.
  void Reserve(StreamFrame& frame, int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True if one more frame, with an answer of at most so many bytes, may be in flight.
  bool HasPlace(int64_t max_response_bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Each starts the operations that the state allows. The first one also ends the call.
  void Step() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayRead() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishNow(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The line of the log that closes the stream.
  std::string CloseLine() ABSL_LOCKS_EXCLUDED(mutex_);

  StreamRegistry& registry_;
  Clock& clock_;
  StreamWire* const call_;
  const std::weak_ptr<StreamWire> weak_call_;  // for results that come after Done()
  const SteadyTime begin_;

  // Set by Start(), before others know the stream.
  ClientId client_;
  std::string connection_;
  uint64_t id_ = 0;  // 0 = refused
  SteadyTime call_deadline_ = kNever;

  // Options of the last `open`; null before the first.
  std::shared_ptr<const StreamOptions> options_ ABSL_GUARDED_BY(mutex_);
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_ended_ ABSL_GUARDED_BY(mutex_) = false;  // half-closed by the client, or we stopped
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_aborted_ ABSL_GUARDED_BY(mutex_) = false;
  bool going_away_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_status_ ABSL_GUARDED_BY(mutex_);
  absl::Status final_status_ ABSL_GUARDED_BY(mutex_);              // if finished_
  std::optional<AbortCause> abort_cause_ ABSL_GUARDED_BY(mutex_);  // if is_aborted_
  std::unique_ptr<Alarm> alarm_ ABSL_GUARDED_BY(mutex_);           // null after Done()
  SteadyTime alarm_at_ ABSL_GUARDED_BY(mutex_) = kNever;           // never later than NextAlarm()
  SteadyTime active_at_ ABSL_GUARDED_BY(mutex_);           // of the last message, either way
  SteadyTime write_begin_ ABSL_GUARDED_BY(mutex_);         // if writing_
  SteadyTime cancel_at_ ABSL_GUARDED_BY(mutex_) = kNever;  // if IsOver()

  uint64_t frames_read_ ABSL_GUARDED_BY(mutex_) = 0;
  WaitingRoom room_ ABSL_GUARDED_BY(mutex_);  // its frames are in frames_, too
  // Never later than the first deadline of a frame of frames_ that may still fail.
  SteadyTime next_deadline_ ABSL_GUARDED_BY(mutex_) = kNever;
  int unanswered_ ABSL_GUARDED_BY(mutex_) = 0;  // messages whose answers are not written
  int in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  Holding responses_ ABSL_GUARDED_BY(mutex_);  // what frames_ and outgoing_ have reserved
  int64_t next_response_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // for a frame like the last one
  std::deque<Outgoing> outgoing_ ABSL_GUARDED_BY(mutex_);    // front = being written if writing_
  server::StreamRow counts_ ABSL_GUARDED_BY(mutex_);         // of the frames that have ended
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_STREAM_STREAM_H_
