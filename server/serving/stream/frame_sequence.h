// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The frames of one robot's stream as a sequence: puts their results in order, and matches and
// tracks each against those before it. It keeps the open frames, the tracks, and the features of
// the last frame and of the keyframe. Stream (stream.h), which derives from it, adds what the
// client notices: reading, waiting, deadlines, writing. Both work on one list of records under one
// mutex.
//
// The frames of a stream are extracted in any order, in batches with frames of other streams. The
// sequence puts them back in order. Then a frame *starts*: its tracks are searched and its matches
// are made at the same time, against the frame before, the keyframe, and the references as they are
// at that moment. Its result is given out after both and after all earlier results.
//
// A frame that failed or was dropped keeps its place in the order, and is otherwise no frame: no
// target of matches, no keyframe, and tracks go on from the frame before it to the one after it.
// The next frame therefore starts when the one before is *settled*: when it has its tracks, and can
// no longer fail. A frame with a deadline can fail until its result is handed over.
//
// Handing over. A result is first given out, so that it can be encoded, and then handed over:
// at that moment it is decided what the client is told, and the state of the stream agrees with
// it. The next result is given out after that.
//
// Deadlines. The derived class ends a frame at its deadline by Fail(). In any case a frame that is
// handed over at its deadline or later is DEADLINE_EXCEEDED.
//
// Keyframes. A frame becomes the keyframe if it asks for it or as the rule of its options says. It
// is still matched against the keyframe before it.
//
// Options may change between frames. Tracks end if pipeline or track options change, or if tracks
// are turned off; ids go on. The frame before and the keyframe remain targets of matches, unless
// their descriptors are of another kind.
//
// Memory. Between frames a sequence keeps the state of the last frame, with its pyramid and input
// slot if there are tracks, the state of the keyframe for matches, and the tracks. The backend
// counts states and slots; the observer is told about the tracks. Close() frees all.

#ifndef ORBSERVE_SERVER_SERVING_STREAM_FRAME_SEQUENCE_H_
#define ORBSERVE_SERVER_SERVING_STREAM_FRAME_SEQUENCE_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "features/tracking/stream_tracks.h"
#include "server/serving/batcher.h"
#include "server/serving/match/reference_store.h"
#include "server/serving/observer.h"
#include "server/serving/request_queue.h"
#include "server/serving/stream/stream_frame.h"

namespace orbserve {

class ClientActivity;
class FrameAccount;
class FrameIntake;
class Metrics;
class StreamPictures;

struct StreamLimits {
  int max_streams = 256;                            // open at a time, of all clients
  int max_streams_per_client = 256;                 // of one owner
  std::chrono::milliseconds open_timeout{10'000};   // for the opening message
  std::chrono::milliseconds idle_timeout{300'000};  // for the next message; 0 = none
  int max_frames_in_flight = 8;                     // of one stream: begun, result not yet sent
  int64_t max_bytes_in_flight = int64_t{64} << 20;  // of their messages; one always fits
  // Frames of one stream that wait behind those in flight under the drop policies, and their
  // messages; one always fits.
  int max_frames_waiting = 4;
  int64_t max_bytes_waiting = int64_t{64} << 20;
  // Bytes of the answers of one stream. An answer counts from the moment that its frame begins
  // until it is sent. The answer to one frame of each stream always fits.
  int64_t max_response_bytes = int64_t{64} << 20;
};

// The parts of the server that streams use. All outlive every stream.
struct StreamParts {
  FeatureBackend* backend = nullptr;
  Clock* clock = nullptr;
  ServingObserver* observer = nullptr;
  MatchQueue* matcher = nullptr;
  TrackQueue* tracker = nullptr;
  ReferenceStore* references = nullptr;
  Batcher* batcher = nullptr;
  FrameIntake* intake = nullptr;
  Ledger* ledger = nullptr;
  FrameAccount* frames = nullptr;
  Metrics* metrics = nullptr;
  ClientActivity* clients = nullptr;
  StreamPictures* pictures = nullptr;  // null where frames are not shown
  StreamLimits streams;
  // Time in which a client must have read a result.
  std::function<std::chrono::milliseconds()> send_timeout;
};

// Every caller holds it.
class FrameSequence : public std::enable_shared_from_this<FrameSequence> {
 public:
  explicit FrameSequence(const StreamParts& parts) : parts_(parts) {}
  virtual ~FrameSequence();

 protected:
  // Memory and work that is released without the lock.
  struct Released {
    std::vector<WorkTicket> frame_tickets;
    std::vector<WorkTicket> match_tickets;
    std::vector<WorkTicket> track_tickets;
    std::vector<std::shared_ptr<const void>> memory;
    int64_t track_bytes = 0;  // change of tracks_bytes_

    // Takes what these point to.
    template <typename... Pointers>
    void Take(Pointers&... pointers) {
      (memory.emplace_back(std::move(pointers)), ...);
    }
  };

  // Encodes the result of the frame. Called for each frame in order, from any thread; the next call
  // comes after HandOver().
  virtual void Encode(StreamFrame& frame) ABSL_LOCKS_EXCLUDED(mutex_) = 0;
  // The result of the frame is encoded and may be handed over.
  virtual void GiveOut(const StreamFramePtr& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;

  // The frame takes its place in the order.
  void Append(const StreamFramePtr& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The extraction of the frame has ended, or the frame was dropped before it. Called once per
  // frame. Has no effect on a frame that has failed. Advance() follows.
  void Extracted(StreamFrame& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The frame, whose result is not given out yet, fails with `status`, which is not OK. Its work is
  // cancelled by Release(), and Advance() follows. Has no effect on a frame that is settled.
  void Fail(StreamFrame& frame, const absl::Status& status, Released& released)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The result that was given out last goes to the client now, with `status`: its own, or an error
  // of its encoding. Settles the frame, which leaves the list. Returns what the client must be told
  // instead: the same, or DEADLINE_EXCEEDED. Advance() follows.
  absl::Status HandOver(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // No result is given out from now on, except by a call that is in progress. Release() cancels
  // open matches and searches, and frees everything that the sequence keeps.
  Released Close() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Release(Released released) ABSL_LOCKS_EXCLUDED(mutex_);
  // Starts frames and gives out results as far as the order allows.
  void Advance() ABSL_LOCKS_EXCLUDED(mutex_);

  const StreamParts parts_;
  absl::Mutex mutex_;
  // Frames that are not handed over, in order.
  std::deque<StreamFramePtr> frames_ ABSL_GUARDED_BY(mutex_);
  uint64_t first_index_ ABSL_GUARDED_BY(mutex_) = 0;  // of frames_.front()
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;

 private:
  // A frame of the past: a target of matches.
  struct Target {
    std::shared_ptr<const FrameState> state;  // null = there is none
    uint64_t sequence = 0;
  };

  // A frame that starts, and the parts of the stream's state that it needs.
  struct Start {
    StreamFramePtr frame;
    std::shared_ptr<const Features> features;
    std::shared_ptr<const FrameState> state;
    Target previous;
    Target keyframe;
    std::unique_ptr<StreamTracks> tracks;  // null when it has none and ends none
    std::shared_ptr<const FrameState> tracks_from;
    // Its work, once it is prepared.
    std::vector<TargetMatches> targets;
    std::vector<MatchJob> jobs;
    std::vector<size_t> job_targets;            // of each job: its place in `targets`
    std::shared_ptr<const TrackPoints> points;  // null where no tracks are to be searched
    FrameTracks known_tracks;
  };

  // Takes the next frame that can start, if any.
  std::optional<Start> TakeStart() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartFrame(Start start) ABSL_LOCKS_EXCLUDED(mutex_);
  // A state that has the features alone takes the place of a keyframe's state with a pyramid, which
  // would hold the pyramid and its input slot until the next keyframe. Keeps it where that fails.
  void FreeKeyframesPyramid(Start* start) ABSL_LOCKS_EXCLUDED(mutex_);
  // `match_state`: the frame's features for matches, or the error for which there are none.
  void PrepareMatching(const absl::StatusOr<std::shared_ptr<const FrameState>>& match_state,
                       Start* start) const;
  static absl::Status PrepareTracking(Start* start);
  // Returns false for a frame that is not open any more: its work is to be cancelled.
  bool KeepTicket(StreamFrame& frame, WorkTicket StreamFrame::*place, WorkTicket ticket)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void OnMatched(StreamFrame& frame, MatchOutcome outcome) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnTracked(StreamFrame& frame, TrackOutcome outcome) ABSL_LOCKS_EXCLUDED(mutex_);

  void EnterPhase(StreamFrame& frame, FramePhase phase) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The frame was in `phase` since it started, but for the time in which its work was `queued`.
  void SpendSinceStart(StreamFrame& frame, FramePhase phase, std::chrono::nanoseconds queued) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // True until the frame's result is complete.
  bool IsOpen(const StreamFrame& frame) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !closed_ && !frame.is_complete;
  }
  // Completes a frame whose parts are all there, and settles it if it cannot fail any more.
  void PartDone(StreamFrame& frame, Released& released) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The frame fails: nothing of it stays.
  static void FailFrame(StreamFrame& frame, const absl::Status& status, Released& released);
  // The frame becomes the last frame of the stream.
  void Commit(StreamFrame& frame, Released& released) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool BecomesKeyframe(const StreamFrame& frame) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // One thread at a time starts frames. It looks again after every step, so that others need not
  // wait.
  bool starting_ ABSL_GUARDED_BY(mutex_) = false;
  Released handed_over_ ABSL_GUARDED_BY(mutex_);     // what HandOver() leaves to Advance()
  uint64_t next_start_ ABSL_GUARDED_BY(mutex_) = 0;  // the first frame that has not started

  // State of the last settled frame that did not fail.
  Target previous_ ABSL_GUARDED_BY(mutex_);
  StreamTracks tracks_ ABSL_GUARDED_BY(mutex_);
  int64_t tracks_bytes_ ABSL_GUARDED_BY(mutex_) = 0;                       // as the observer knows
  std::shared_ptr<const FrameState> tracks_from_ ABSL_GUARDED_BY(mutex_);  // null without tracks
  Target keyframe_ ABSL_GUARDED_BY(mutex_);
  bool has_keyframe_ ABSL_GUARDED_BY(mutex_) = false;
  int frames_since_keyframe_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_STREAM_FRAME_SEQUENCE_H_
