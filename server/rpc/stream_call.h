// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// One robot's stream. The call reads and writes messages; the order of the results and their
// matches are the session's.
//
// Backpressure: a message is read only while fewer than `max_frames_in_flight` frames of the stream
// are in flight, from read to written, and their messages hold less than `max_bytes_in_flight`. A
// robot that sends faster than it is answered, or reads its answers slowly, is held back by HTTP/2
// flow control; what the stream holds in memory is bounded.
//
// So are the answers, which may be larger than their frames: what a frame's answer may come to is
// counted from the moment that the frame is read, what it has come to until it is sent. While this
// is more than `max_answer_bytes`, or that of all streams more than `max_answer_bytes_of_all`, a
// stream has one frame in flight at most. It is not stopped altogether, or those who read nothing
// would stop those who do.
//
// A stream that sends nothing keeps its place from others only for a while: one that has no opening
// message within `open_timeout` ends with DEADLINE_EXCEEDED.
//
// Threads: reactions come from gRPC, one read and one write at a time; results from whichever
// thread completed them. `mutex_` is held while an operation of gRPC is started, so that none is
// started after Finish(): gRPC never runs a reaction inside such a call (they go to its executor).

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
#include "server/rpc/conversion.h"
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

  // Bytes of answers that the streams owe or have not sent yet.
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
  // The reactor to return to gRPC; it keeps itself until gRPC is done with it.
  static StreamCall* Start(const CallServices& services, CallGate& gate, StreamRegistry& registry,
                           grpc::CallbackServerContext* context);

  StreamCall(const CallServices& services, CallGate& gate, StreamRegistry& registry,
             grpc::CallbackServerContext* context);

  void OnReadDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnCancel() override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDone() override;

  // Both after the gate was closed, whose refusal they pass on.
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
    int64_t answer_bytes = 0;  // at most
    SteadyTime arrival;
    Batcher::Ticket ticket = 0;
    ExtractOutcome outcome;  // its times; the features go through the session
  };
  struct Outgoing {
    grpc::ByteBuffer message;
    int64_t frame_bytes = -1;  // -1 = not the result of a frame
    int64_t answer_bytes = 0;  // 0 = alike
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
  // The time for the opening message has passed.
  void OnOpenTimeout() ABSL_LOCKS_EXCLUDED(mutex_);

  // The most bytes that the answer with this many features, or what it waits for, can have.
  int64_t MostAnswerBytes(int64_t features, const MatchOptions& match) const;
  // A frame or a message that counted for `*counted` bytes counts for `bytes` from now on. Not once
  // the call is finished: OnDone() takes back whatever is counted then.
  void CountAnswer(int64_t bytes, int64_t* counted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool NextAnswerFits() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Each starts what the state allows.
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
  std::shared_ptr<StreamCall> self_;  // gRPC's hold
  uint64_t id_ = 0;                   // 0 = refused

  // Written by the opening message, read by the reactions after it.
  std::string client_;
  std::shared_ptr<const ResolvedPipeline> pipeline_;
  std::shared_ptr<StreamSession> session_;
  uint32_t deadline_ms_ = 0;
  SteadyTime call_deadline_ = kNever;
  bool omit_features_ = false;
  int64_t match_targets_ = 0;  // of each frame, at most
  grpc::ByteBuffer request_;   // being read or taken
  FrameSplitter splitter_;     // of request_
  Response response_;          // by OnResult(), which has one call at a time

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
  int64_t answer_bytes_ ABSL_GUARDED_BY(mutex_) = 0;       // of frames_ and outgoing_
  int64_t next_answer_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // if the next frame is as the last one
  std::deque<Outgoing> outgoing_ ABSL_GUARDED_BY(mutex_);  // front = being written if writing_
  std::unique_ptr<Alarm> open_alarm_;                      // null when the stream was refused
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_STREAM_CALL_H_
