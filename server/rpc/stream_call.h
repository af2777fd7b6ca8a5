// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Stream of one robot. The call reads and writes messages and decides which frames are computed;
// the session orders the results, makes matches and keeps tracks.
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
// the call goes on reading, and frames that find the room full are dropped. It stops only for a
// robot that does not read its results: at kMaxUnreadResults results more than frames that are in
// flight or wait.
//
// Answers may be larger than their frames, so their memory is bounded, too. A frame reserves its
// largest possible answer when it begins. The reservation shrinks to the real size when the answer
// exists and ends when it is sent. While the reservations of a stream exceed `max_answer_bytes`, or
// those of its client exceed the client's share, a stream has at most one frame in flight. It is
// not stopped altogether: robots that read nothing would otherwise stop those that do.
//
// Deadlines. A frame is answered DEADLINE_EXCEEDED at its deadline, wherever it is. Work on it that
// has not begun is withdrawn, and work that has begun is told to stop. The answer keeps its place
// in the order: it waits for the answers of earlier frames whose deadline is later, or which have
// none.
//
// Outcomes. What the client is told about a frame is decided once, where its result is handed to
// gRPC (HandOver()): a result whose deadline has passed by then becomes DEADLINE_EXCEEDED. The
// frame is counted and logged there, too. A frame whose call is over before counts as CANCELLED, or
// as DEADLINE_EXCEEDED.
//
// A stream takes one of `max_streams` places. It therefore ends with DEADLINE_EXCEEDED when it has
// no opening message after `open_timeout`, when it owes nothing and has sent nothing for
// `idle_timeout`, and when a result was not read within the send timeout. It ends
// with QUOTA_EXCEEDED when another client needs its place more (stream_places.h). The status of a
// stream waits behind the results that its client has not read, so the call is cancelled a second
// later.
//
// Threads: gRPC runs the reactions, one read and one write at a time. Frames begin on these threads
// only. Results come from the threads that completed them, and from the clock's at deadlines.
// `mutex_` is held while an operation of gRPC is started, so that none starts after Finish(). gRPC
// never runs a reaction inside such a call: reactions go to its executor.

#ifndef ORBSERVE_SERVER_RPC_STREAM_CALL_H_
#define ORBSERVE_SERVER_RPC_STREAM_CALL_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/clients/client_id.h"
#include "server/clients/ledger.h"
#include "server/rpc/call.h"
#include "server/rpc/frame_splitter.h"
#include "server/rpc/result_encoder.h"
#include "server/rpc/stream_account.h"
#include "server/rpc/stream_options.h"
#include "server/rpc/stream_registry.h"
#include "server/rpc/waiting_room.h"
#include "server/serving/stream/stream_session.h"
#include "server/serving/stream/stream_use.h"

namespace orbserve {

class StreamCall final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                         public std::enable_shared_from_this<StreamCall> {
 public:
  // Makes the reactor to return to gRPC. It holds itself until gRPC is done with it.
  static StreamCall* Start(const CallServices& services, CallGate& gate, StreamRegistry& registry,
                           grpc::CallbackServerContext* context);

  StreamCall(const CallServices& services, CallGate& gate, StreamRegistry& registry,
             grpc::CallbackServerContext* context);

  void OnReadDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnCancel() override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDone() override;

  // Ends the stream for the stream of another client. Its place is taken already.
  void MakeRoom() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the stream if its client is not known any more (Identity::IsKnown).
  void AbortIfUnknown() ABSL_LOCKS_EXCLUDED(mutex_);
  // Sends the gate's refusal to the client. Called after the gate was closed.
  void AnnounceGoingAway() ABSL_LOCKS_EXCLUDED(mutex_);
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  // Without the stream's number, which the registry knows.
  StreamUse use() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Request = v1::StreamFramesRequest;
  using Response = v1::StreamFramesResponse;

  // Bytes of a message that was read, and its parts.
  struct Received {
    grpc::ByteBuffer buffer;
    FrameSplitter splitter;
  };
  // A frame that waits, with the message that its pixels are in.
  struct Waiting {
    FrameIntake::Admitted admitted;
    std::unique_ptr<Received> received;
  };
  // A frame that was read and whose result is not handed to gRPC yet.
  struct Frame {
    uint64_t sequence = 0;
    int64_t timestamp_ns = 0;
    int64_t bytes = 0;
    std::shared_ptr<const StreamOptions> options;  // of the `open` before it
    MatchOptions match;
    int wanted_features = 0;
    int64_t most_answer_bytes = 0;
    int64_t answer_bytes = 0;  // reserved
    SteadyTime arrival;
    SteadyTime deadline = kNever;
    bool has_begun = false;
    bool is_extracted = false;  // or failed
    bool has_result = false;    // which is being encoded, or waits in outgoing_
    Batcher::Ticket ticket = 0;
    std::chrono::nanoseconds decode_time{};
    std::shared_ptr<StreamPicture> picture;  // null unless a viewer waits for it
  };
  // Result of a frame that waits for HandOver().
  struct Result {
    uint64_t index = 0;
    ResultHead head;
    absl::Status status;
    StreamAccount::Seen seen;
  };
  // A message that waits to be written.
  struct Outgoing {
    grpc::ByteBuffer message;
    bool is_answer = true;      // to a message that was read
    bool is_in_flight = false;  // result of a frame that had begun
    int64_t frame_bytes = 0;    // of that frame's message
    int64_t answer_bytes = 0;   // reserved
    std::optional<Result> result;
  };
  // An `opened` that goes behind the results of the first `frames` frames.
  struct PendingOpened {
    uint64_t frames = 0;
    grpc::ByteBuffer message;
  };

  void Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status TakeMessage() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Open(const v1::StreamOpen& open) ABSL_LOCKS_EXCLUDED(mutex_);
  void TakeFrame(std::shared_ptr<Request> message) ABSL_LOCKS_EXCLUDED(mutex_);
  // The frame waits from now on. Returns the tickets of the frames that are dropped for it.
  std::vector<Batcher::Ticket> Wait(uint64_t index, const FrameIntake::Admitted& admitted)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Begins the frames that wait, as far as there are places in flight.
  void BeginFrames() ABSL_LOCKS_EXCLUDED(mutex_);
  void OnExtracted(uint64_t index, ExtractOutcome outcome) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnResult(StreamResult result) ABSL_LOCKS_EXCLUDED(mutex_);
  // Decides what the client is told about the frame of this message, which is to be written next,
  // and counts it.
  void HandOver(Outgoing& outgoing) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts the end of a frame.
  void CountEnd(const Frame& frame, const absl::Status& told, const StreamAccount::Seen& seen);
  // Counts and drops the frames of a call that is over, whose results nobody reads.
  void ForgetFrames() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the stream if its client takes too long, and answers frames that are late.
  void OnAlarm() ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets the alarm for what comes next, unless it is set for an earlier moment.
  void SetAlarm() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SteadyTime NextAlarm() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends a stream whose client takes too long. Returns false where it does not.
  bool AbortIfStalled(SteadyTime now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the stream without the results that it owes.
  void Abort(AbortCause cause, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes the frames out whose work is to be cancelled, and the session that is to be closed.
  std::vector<Batcher::Ticket> TakeFrames(std::shared_ptr<StreamSession>* session)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Nothing that is computed from now on is of use.
  bool IsOver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return finished_ || is_aborted_; }
  // The client waits for nothing, and we wait for its next message.
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return options_ != nullptr && reading_ && unanswered_ == 0;
  }

  // Changes a reservation from `*counted` to `bytes`. Must not be called once the call is finished,
  // as OnDone() ends all reservations.
  void CountAnswer(int64_t bytes, int64_t* counted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AnswerFits(int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True if one more frame, with an answer of at most so many bytes, may be in flight.
  bool HasPlace(int64_t most_answer_bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Each starts the operations that the state allows.
  void Step() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayRead() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishIfOver() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishNow(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes the line of the log that closes the stream.
  std::string CloseLine() ABSL_LOCKS_EXCLUDED(mutex_);

  const CallServices& services_;
  CallGate& gate_;
  StreamRegistry& registry_;
  grpc::CallbackServerContext* const context_;
  const SteadyTime begin_;
  std::shared_ptr<StreamCall> self_;  // held for gRPC until OnDone()
  uint64_t id_ = 0;                   // 0 = refused

  ClientId client_;  // set by Begin()

  // Written by the first opening message, read by the reactions after it.
  std::shared_ptr<StreamSession> session_;
  SteadyTime call_deadline_ = kNever;
  std::unique_ptr<Received> received_;  // message that is being read or taken
  ResultEncoder encoder_;  // used by OnResult(), whose next call comes after HandOver()

  absl::Mutex mutex_;
  // Options of the last `open`; null before the first. Changed by reactions to reads only.
  std::shared_ptr<const StreamOptions> options_ ABSL_GUARDED_BY(mutex_);
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_ended_ ABSL_GUARDED_BY(mutex_) = false;  // half-closed by the client, or we stopped
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_aborted_ ABSL_GUARDED_BY(mutex_) = false;
  bool going_away_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_status_ ABSL_GUARDED_BY(mutex_);
  absl::StatusCode code_ ABSL_GUARDED_BY(mutex_) = absl::StatusCode::kUnknown;
  absl::Status final_status_ ABSL_GUARDED_BY(mutex_);              // if finished_
  std::optional<AbortCause> abort_cause_ ABSL_GUARDED_BY(mutex_);  // if is_aborted_
  std::unique_ptr<Alarm> alarm_ ABSL_GUARDED_BY(mutex_);           // null after OnDone()
  SteadyTime alarm_at_ ABSL_GUARDED_BY(mutex_) = kNever;           // never later than NextAlarm()
  SteadyTime active_at_ ABSL_GUARDED_BY(mutex_);           // of the last message, either way
  SteadyTime write_begin_ ABSL_GUARDED_BY(mutex_);         // if writing_
  SteadyTime cancel_at_ ABSL_GUARDED_BY(mutex_) = kNever;  // if IsOver()

  uint64_t frames_read_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t frames_answered_ ABSL_GUARDED_BY(mutex_) = 0;  // their results are in outgoing_ or gone
  absl::flat_hash_map<uint64_t, Frame> frames_ ABSL_GUARDED_BY(mutex_);  // by session index
  WaitingRoom<Waiting> room_ ABSL_GUARDED_BY(mutex_);  // its frames are in frames_, too
  // Frames of frames_ without a result, by their deadlines.
  std::set<std::pair<SteadyTime, uint64_t>> deadlines_ ABSL_GUARDED_BY(mutex_);
  std::deque<PendingOpened> pending_opened_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Received> spare_ ABSL_GUARDED_BY(mutex_);  // for the next read
  int unanswered_ ABSL_GUARDED_BY(mutex_) = 0;  // messages whose answers are not written
  int in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  Holding answers_ ABSL_GUARDED_BY(mutex_);  // what frames_ and outgoing_ have reserved
  int64_t next_answer_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // for a frame like the last one
  std::deque<Outgoing> outgoing_ ABSL_GUARDED_BY(mutex_);  // front = being written if writing_
  StreamAccount account_;
  const CallGate::Ticket ticket_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_STREAM_CALL_H_
