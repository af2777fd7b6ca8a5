// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// State of one robot's stream: its open frames in their order, its tracks, the features of the last
// frame and those of the keyframe.
//
// The frames of a stream are extracted in any order, in batches with frames of other streams. The
// session puts them back in order. Then a frame *starts*: its tracks are searched and its matches
// are made at the same time, against the frame before, the keyframe, and the references as they are
// at that moment. Its result is given out after both and after all earlier results.
//
// A frame that failed or was dropped keeps its place in the order, and is otherwise no frame: no
// target of matches, no keyframe, and tracks go on from the frame before it to the one after it.
// The next frame therefore starts when the one before is *settled*: when it has its tracks, and can
// no longer fail. A frame with a deadline can fail until its result is handed over.
//
// Handing over. A result is first given out, so that its owner can encode it, and then handed over:
// at that moment it is decided what the client is told, and the state of the stream agrees with
// it. The next result is given out after that.
//
// Deadlines. The owner of the session ends a frame at its deadline by Fail(). In any case a frame
// that is handed over at its deadline or later is DEADLINE_EXCEEDED.
//
// Keyframes. A frame becomes the keyframe if it asks for it or as the rule of its options says. It
// is still matched against the keyframe before it.
//
// Options may change between frames. Tracks end if pipeline or track options change, or if tracks
// are turned off; ids go on. The frame before and the keyframe remain targets of matches, unless
// their descriptors are of another kind.
//
// Memory. Between frames a session keeps the state of the last frame, with its pyramid and input
// slot if there are tracks, the state of the keyframe for matches, and the tracks. The backend
// counts states and slots; the observer is told about the tracks. Close() frees all.

#ifndef ORBSERVE_SERVER_SERVING_STREAM_STREAM_SESSION_H_
#define ORBSERVE_SERVER_SERVING_STREAM_STREAM_SESSION_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "features/tracking/stream_tracks.h"
#include "server/clients/client_id.h"
#include "server/serving/batcher.h"
#include "server/serving/match/match_queue.h"
#include "server/serving/match/reference_store.h"
#include "server/serving/observer.h"
#include "server/serving/track/track_queue.h"

namespace orbserve {

// Rule by which frames become keyframes. No rule chooses a frame without features: the next one
// that has some takes its place.
struct KeyframeRule {
  int every_frames = 0;  // one frame in so many that did not fail; 0 = no such rule
  // A frame becomes a keyframe when more than this share of the tracks that the last keyframe had
  // has ended, percent, or when the last keyframe had none and the frame has some; 0 = no such
  // rule. Needs `track`.
  int lost_percent = 0;

  bool empty() const { return every_frames == 0 && lost_percent == 0; }
};

// Options of a stream from one frame on.
struct StreamSessionOptions {
  ClientId client;  // whose references are meant, and whose turn matches and tracks take
  bool match_previous = false;
  bool match_keyframe = false;
  std::vector<std::string> references;
  // Search window of matches with keyframe and references. The window of a frame is for the
  // previous frame.
  MatchOptions reference_window;
  // The first frame with features becomes a keyframe if there is a rule or `match_keyframe`.
  KeyframeRule keyframe_rule;
  bool track = false;
  PipelineOptions pipeline;  // this and the next are read with `track`
  TrackOptions track_options;

  bool matches() const { return match_previous || match_keyframe || !references.empty(); }
  // Part of each frame that its job must keep (FrameJob). With kPyramid the plan has
  // `track_options.levels`, and the backend is asked for WinnersToAskFor() features (winners.h).
  KeepState keep_state() const {
    if (track) return KeepState::kPyramid;
    return matches() ? KeepState::kFeatures : KeepState::kNone;
  }
};

struct StreamFrame {
  uint64_t sequence = 0;  // the client's number, which matches against the frame report
  MatchOptions match;
  int max_features = 0;   // wanted number of features, and of tracks
  bool keyframe = false;  // it asks to become the keyframe
  SteadyTime deadline = kNever;
};

enum class MatchTarget { kPrevious, kKeyframe, kReference };

// Matches of one frame against one target.
struct TargetMatches {
  MatchTarget target = MatchTarget::kPrevious;
  uint64_t sequence = 0;           // of the frame matched against; not of a reference
  std::string reference;           // a reference's name
  uint64_t reference_version = 0;  // 0 when there is no such reference
  absl::Status status;
  Matches matches;
};

struct StreamResult {
  uint64_t index = 0;    // as AddFrame() returned it
  FrameOutcome outcome;  // features: as many as are wanted. A frame that failed has no other parts
  // Previous first, then keyframe, then references as they were asked for.
  std::vector<TargetMatches> matches;
  std::chrono::nanoseconds match_time{};
  // The frame's tracks. Without `track` it has no tracks, but may have those that ended by this.
  FrameTracks tracks;
  std::chrono::nanoseconds track_time{};
  bool is_keyframe = false;  // from now on it is the stream's keyframe
};

// The parts of the server that sessions use. All outlive every session.
struct StreamSessionParts {
  FeatureBackend* backend = nullptr;
  Clock* clock = nullptr;
  ServingObserver* observer = nullptr;
  MatchQueue* matcher = nullptr;
  TrackQueue* tracker = nullptr;
  ReferenceStore* references = nullptr;
};

// Thread-safe. Every caller holds it.
class StreamSession : public std::enable_shared_from_this<StreamSession> {
 public:
  // Called for each frame in order, from any thread and without a lock. The next call comes after
  // HandOver().
  using Emit = absl::AnyInvocable<void(StreamResult)>;

  StreamSession(const StreamSessionParts& parts, StreamSessionOptions options, Emit emit);
  ~StreamSession();

  // Options of the frames that are added from now on; called by the thread that adds frames.
  void SetOptions(StreamSessionOptions options) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes a place in the order: 0, 1, 2, ... Calls must come from one thread at a time.
  uint64_t AddFrame(const StreamFrame& frame) ABSL_LOCKS_EXCLUDED(mutex_);
  // The extraction of the frame has ended, or the frame was dropped before it. Called once per
  // frame. Has no effect on a frame that has failed.
  void FrameDone(uint64_t index, FrameOutcome outcome) ABSL_LOCKS_EXCLUDED(mutex_);
  // The frame, whose result is not given out yet, fails with `status`, which is not OK. Its work is
  // cancelled. Has no effect on a frame that is settled.
  void Fail(uint64_t index, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // The result that was given out last goes to the client now, with `status`: its own, or an error
  // of its encoding. Settles the frame. Returns what the client must be told instead: the same, or
  // DEADLINE_EXCEEDED. Calls nobody, so the caller may hold a lock.
  absl::Status HandOver(absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Goes on after HandOver(), unless that was called by `Emit`. Must not be called under a lock.
  void Resume() { Advance(); }
  // No result is given out after this returns, except by a call that is in progress. Open matches
  // and searches are cancelled, and everything that the session keeps is released.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A frame of the past: a target of matches.
  struct Target {
    std::shared_ptr<const FrameState> state;  // null = there is none
    uint64_t sequence = 0;
  };

  struct Entry {
    StreamFrame frame;
    std::shared_ptr<const StreamSessionOptions> options;
    StreamResult result;
    bool is_extracted = false;
    bool is_matched = false;   // it waits for no matches
    bool is_tracked = false;   // it waits for no tracks
    bool is_settled = false;   // later frames may start
    bool is_complete = false;  // its result may be given out
    bool is_emitted = false;   // its result was given out, and is not handed over yet
    bool is_keyframe = false;  // it becomes the keyframe if it does not fail
    SteadyTime start;
    WorkTicket match_ticket = 0;
    WorkTicket track_ticket = 0;
    std::vector<size_t> targets;  // of each match job: its place in result.matches
    // From the start of the frame until it is settled: its features as a target of matches, its
    // pyramid, all winners, and the tracks as they are if the frame does not fail.
    std::shared_ptr<const FrameState> match_state;
    std::shared_ptr<const FrameState> pyramid;
    std::shared_ptr<const Features> winners;
    std::unique_ptr<StreamTracks> tracks;
  };

  // A frame that starts, and the parts of the stream's state that it needs.
  struct Start {
    uint64_t index = 0;
    StreamFrame frame;
    std::shared_ptr<const StreamSessionOptions> options;
    std::shared_ptr<const Features> features;
    std::shared_ptr<const FrameState> state;
    Target previous;
    Target keyframe;
    std::unique_ptr<StreamTracks> tracks;  // null when it has none and ends none
    std::shared_ptr<const FrameState> tracks_from;
  };
  // Work of a frame that starts.
  struct Matching;
  struct Tracking;

  // Memory and work that is released without the lock.
  struct Released {
    std::vector<WorkTicket> match_tickets;
    std::vector<WorkTicket> track_tickets;
    std::vector<std::shared_ptr<const void>> memory;
    int64_t track_bytes = 0;  // change of tracks_bytes_
  };

  // Starts frames and gives out results as far as the order allows.
  void Advance() ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes the next frame that can start, if any.
  std::optional<Start> TakeStart() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartFrame(Start start) ABSL_LOCKS_EXCLUDED(mutex_);
  // A state that has the features alone takes the place of a keyframe's state with a pyramid, which
  // would hold the pyramid and its input slot until the next keyframe. Keeps it where that fails.
  void FreeKeyframesPyramid(Start* start) ABSL_LOCKS_EXCLUDED(mutex_);
  // `match_state`: the frame's features for matches, or the error for which there are none.
  Matching PrepareMatching(
      const Start& start,
      const absl::StatusOr<std::shared_ptr<const FrameState>>& match_state) const;
  static absl::Status PrepareTracking(const Start& start, Tracking* tracking);
  // Returns false for a frame that is not open any more: its work is to be cancelled.
  bool KeepTicket(uint64_t index, WorkTicket Entry::*place, WorkTicket ticket)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void OnMatched(uint64_t index, MatchOutcome outcome) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnTracked(uint64_t index, TrackOutcome outcome) ABSL_LOCKS_EXCLUDED(mutex_);

  // Null for a frame whose result was handed over.
  Entry* Find(uint64_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Null for a frame whose result is complete.
  Entry* FindOpen(uint64_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Completes a frame whose parts are all there, and settles it if it cannot fail any more.
  void PartDone(Entry& entry, Released& released) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The frame fails: nothing of it stays.
  void FailEntry(Entry& entry, const absl::Status& status, Released& released)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The frame becomes the last frame of the stream.
  void Commit(Entry& entry, Released& released) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool BecomesKeyframe(const Entry& entry) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Release(Released released) ABSL_LOCKS_EXCLUDED(mutex_);

  const StreamSessionParts parts_;
  Emit emit_;  // called by the thread that set emitting_

  absl::Mutex mutex_;
  std::shared_ptr<const StreamSessionOptions> options_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  // One thread at a time starts frames. It looks again after every step, so that others need not
  // wait.
  bool starting_ ABSL_GUARDED_BY(mutex_) = false;
  Released handed_over_ ABSL_GUARDED_BY(mutex_);       // what HandOver() leaves to Advance()
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // open frames in order
  uint64_t first_index_ ABSL_GUARDED_BY(mutex_) = 0;   // of entries_.front()
  uint64_t next_start_ ABSL_GUARDED_BY(mutex_) = 0;    // the first frame that has not started

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

#endif  // ORBSERVE_SERVER_SERVING_STREAM_STREAM_SESSION_H_
