// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// State of one robot's stream: its open frames in their order, and the features of the last
// answered frame.
//
// The frames of a stream are extracted in any order, in batches with frames of other streams. The
// session puts them back in order. A frame is matched as soon as it and all frames before it are
// extracted: against the last earlier frame that has features, and against the references as they
// are at that moment. Its result is given out after its matches and all earlier results. A frame
// that failed keeps its place in the order and is no target of matches.

#ifndef ORBSERVE_SERVER_SERVING_STREAM_SESSION_H_
#define ORBSERVE_SERVER_SERVING_STREAM_SESSION_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "server/serving/batcher.h"
#include "server/serving/match_queue.h"
#include "server/serving/reference_store.h"

namespace orbserve {

struct StreamSessionOptions {
  std::string client;
  bool match_previous = false;
  std::vector<std::string> references;
  // Search window of matches with references. The window of a frame is for the previous frame.
  MatchOptions reference_window;

  bool matches() const { return match_previous || !references.empty(); }
};

// Matches of one frame against one target.
struct TargetMatches {
  bool is_reference = false;
  std::string reference;           // a reference's name
  uint64_t reference_version = 0;  // 0 when there is no such reference
  uint64_t previous_sequence = 0;  // else: of the frame matched against
  absl::Status status;
  Matches matches;
};

struct StreamResult {
  uint64_t index = 0;  // as AddFrame() returned it
  FrameOutcome outcome;
  std::vector<TargetMatches> matches;  // previous first, then references as they were asked for
  std::chrono::nanoseconds match_time{};
};

// Thread-safe. Every caller holds it.
class StreamSession : public std::enable_shared_from_this<StreamSession> {
 public:
  // Called for each frame in order, one call at a time, from the thread that completed it and
  // without a lock.
  using Emit = absl::AnyInvocable<void(StreamResult)>;

  // All but `options` and `emit` must outlive the session.
  StreamSession(FeatureBackend* backend, Clock* clock, MatchQueue* matcher,
                ReferenceStore* references, StreamSessionOptions options, Emit emit);

  // Options of all frames that are added from now on.
  void SetOptions(StreamSessionOptions options) ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes a place in the order: 0, 1, 2, ... Calls must come from one thread at a time.
  // `sequence`: the client's number of the frame, which matches against it report.
  uint64_t AddFrame(uint64_t sequence, const MatchOptions& match, SteadyTime deadline)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The extraction of the frame has ended. Called once per frame.
  void FrameDone(uint64_t index, FrameOutcome outcome) ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers `status`, which is not OK, to a frame whose result was not given out yet, in its place
  // of the order, and cancels its matches. FrameDone() for it has no effect any more.
  void Fail(uint64_t index, absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_);
  // No result is given out after this returns, except by a call that is in progress. Open matches
  // are cancelled, and the features of the last frame are released.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    std::shared_ptr<const StreamSessionOptions> options;
    uint64_t sequence = 0;
    MatchOptions match;
    SteadyTime deadline = kNever;
    StreamResult result;
    bool extracted = false;
    bool matching_begun = false;
    bool complete = false;
    SteadyTime matching_begin;
    MatchQueue::Ticket ticket = 0;
    std::vector<size_t> targets;  // of each job: its place in result.matches
  };

  struct Start {
    std::shared_ptr<const StreamSessionOptions> options;
    uint64_t index = 0;
    SteadyTime deadline = kNever;
    MatchOptions match;
    std::shared_ptr<const FrameState> state;
    std::shared_ptr<const FrameState> previous;
    uint64_t previous_sequence = 0;
  };

  // Begins matching and gives out results as far as the order allows.
  void Advance() ABSL_LOCKS_EXCLUDED(mutex_);
  // The next frame whose matching can begin, if any.
  bool TakeStart(Start& start) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginMatching(Start start) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnMatched(uint64_t index, MatchOutcome outcome) ABSL_LOCKS_EXCLUDED(mutex_);
  Entry& At(uint64_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return entries_[index - first_index_];
  }

  FeatureBackend* const backend_;
  Clock* const clock_;
  MatchQueue* const matcher_;
  ReferenceStore* const references_;
  Emit emit_;  // called by the thread that set advancing_

  absl::Mutex mutex_;
  std::shared_ptr<const StreamSessionOptions> options_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  // One thread at a time walks the order, and looks again after each step; others need not wait.
  bool advancing_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // open frames in order
  uint64_t first_index_ ABSL_GUARDED_BY(mutex_) = 0;   // of entries_.front()
  uint64_t next_match_ ABSL_GUARDED_BY(mutex_) = 0;    // the first frame not yet considered
  std::shared_ptr<const FrameState> previous_ ABSL_GUARDED_BY(mutex_);
  uint64_t previous_sequence_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_STREAM_SESSION_H_
