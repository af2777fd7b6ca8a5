// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Stream of one robot. The call reads and writes messages; the session orders the results and makes
// their matches.
//
// Backpressure: a message is read only while fewer than `max_frames_in_flight` frames of the stream
// are in flight, from read to written, and their messages hold less than `max_bytes_in_flight`.
// HTTP/2 flow control holds back a robot that sends faster than it is answered or reads its answers
// slowly.
//
// Answers may be larger than their frames, so their memory is bounded, too. A frame reserves its
// largest possible answer when it is read. The reservation shrinks to the real size when the answer
// exists and ends when it is sent. While the reservations of a stream exceed `max_answer_bytes`, or
// those of all streams `max_answer_bytes_of_all`, a stream has at most one frame in flight. It is
// not stopped altogether: robots that read nothing would otherwise stop those that do.
//
// A stream without an opening message ends with DEADLINE_EXCEEDED after `open_timeout`, because it
// takes one of `max_streams` places.
//
// Threads: gRPC runs the reactions, one read and one write at a time. Results come from the threads
// that completed them. `mutex_` is held while an operation of gRPC is started, so that none starts
// after Finish(). gRPC never runs a reaction inside such a call: reactions go to its executor.

#ifndef ORBSERVE_SERVER_RPC_STREAM_CALL_H_
#define ORBSERVE_SERVER_RPC_STREAM_CALL_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/call.h"
#include "server/rpc/conversion/pipeline.h"
#include "server/rpc/frame_splitter.h"
#include "server/serving/stream_session.h"

namespace orbserve {

class StreamCall;

// The open streams. Thread-safe.
class StreamRegistry {
 public:
  // Gives the stream its number, from 1. QUOTA_EXCEEDED when `max_streams` are open.
  absl::StatusOr<uint64_t> Add(const std::shared_ptr<StreamCall>& stream, int max_streams)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Tells every stream that the server is about to stop.
  void AnnounceGoingAway() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends every stream when its frames in flight are answered.
  void StopAll() ABSL_LOCKS_EXCLUDED(mutex_);

  // Bytes that all streams have reserved for answers.
  int64_t answer_bytes() const { return answer_bytes_.load(std::memory_order_relaxed); }
  void AddAnswerBytes(int64_t change) {
    answer_bytes_.fetch_add(change, std::memory_order_relaxed);
  }

 private:
  std::vector<std::shared_ptr<StreamCall>> All() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, std::weak_ptr<StreamCall>> streams_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int64_t> answer_bytes_{0};
};

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

  // Send the gate's refusal to the client. Called after the gate was closed.
  void AnnounceGoingAway() ABSL_LOCKS_EXCLUDED(mutex_);
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Request = v1::StreamFramesRequest;
  using Response = v1::StreamFramesResponse;

  // A frame that was read and whose result is not yet written.
  struct Frame {
    uint64_t sequence = 0;
    int64_t timestamp_ns = 0;
    int64_t bytes = 0;
    MatchOptions match;
    int64_t answer_bytes = 0;  // reserved
    SteadyTime arrival;
    Batcher::Ticket ticket = 0;
    ExtractOutcome outcome;  // times only; the features go through the session
  };
  struct Outgoing {
    grpc::ByteBuffer message;
    int64_t frame_bytes = -1;  // -1 = not the result of a frame
    int64_t answer_bytes = 0;  // reserved; 0 = not the result of a frame
  };

  void Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Open(const v1::StreamOpen& open) ABSL_LOCKS_EXCLUDED(mutex_);
  void TakeFrame(std::shared_ptr<Request> message) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnExtracted(uint64_t index, ExtractOutcome outcome) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnResult(StreamResult result) ABSL_LOCKS_EXCLUDED(mutex_);
  // Records the time from the frame's arrival until now.
  void ObserveFrame(const Frame& frame);
  // Records and drops the frames of a call that is over, whose results nobody reads.
  void ForgetFrames() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the stream if it has no opening message yet.
  void OnOpenTimeout() ABSL_LOCKS_EXCLUDED(mutex_);

  // Most bytes that an answer with this many features can hold, also while it waits for matches.
  int64_t MostAnswerBytes(int64_t features, const MatchOptions& match) const;
  // Changes a reservation from `*counted` to `bytes`. Must not be called once the call is finished,
  // as OnDone() ends all reservations.
  void CountAnswer(int64_t bytes, int64_t* counted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool NextAnswerFits() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Each starts the operations that the state allows.
  void Step() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MayRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MayWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MayFinish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishNow(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const CallServices& services_;
  CallGate& gate_;
  StreamRegistry& registry_;
  grpc::CallbackServerContext* const context_;
  const SteadyTime begin_;
  std::shared_ptr<StreamCall> self_;  // held for gRPC until OnDone()
  uint64_t id_ = 0;                   // 0 = refused

  // Written by the opening message, read by the reactions after it.
  std::string client_;
  std::shared_ptr<const ResolvedPipeline> pipeline_;
  std::shared_ptr<StreamSession> session_;
  KeepState session_keeps_ = KeepState::kNone;
  uint32_t deadline_ms_ = 0;
  SteadyTime call_deadline_ = kNever;
  bool omit_features_ = false;
  int64_t match_targets_ = 0;  // most targets that a frame is matched against
  grpc::ByteBuffer request_;   // message that is being read or taken
  FrameSplitter splitter_;     // parses request_
  Response response_;          // used by OnResult(), which has one call at a time

  absl::Mutex mutex_;
  bool opened_ ABSL_GUARDED_BY(mutex_) = false;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_ended_ ABSL_GUARDED_BY(mutex_) = false;  // half-closed by the client, or we stopped
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool going_away_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_status_ ABSL_GUARDED_BY(mutex_);
  absl::StatusCode code_ ABSL_GUARDED_BY(mutex_) = absl::StatusCode::kUnknown;
  absl::flat_hash_map<uint64_t, Frame> frames_ ABSL_GUARDED_BY(mutex_);  // by session index
  int in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t answer_bytes_ ABSL_GUARDED_BY(mutex_) = 0;       // reserved by frames_ and outgoing_
  int64_t next_answer_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // for a frame like the last one
  std::deque<Outgoing> outgoing_ ABSL_GUARDED_BY(mutex_);  // front = being written if writing_
  std::unique_ptr<Alarm> open_alarm_;                      // null when the stream was refused
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_STREAM_CALL_H_
