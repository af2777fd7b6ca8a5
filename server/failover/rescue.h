// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Keeps every batch that was submitted to a backend that may be lost, the primary, until the batch
// is answered. Once the primary is lost, the fallback computes these batches from the same input
// slots and with the same bits. States that a match needs are exported from the primary and
// imported into the fallback, which makes the pyramids that tracks need again from the input slots.
//
// A kind of work is one struct (FrameRescue, MatchRescue, TrackRescue) that says what a batch
// consists of and how the fallback computes it. Rescue and FailoverBackend know nothing else of it.
// A further kind is one more such struct, its place in Rescue::Kinds and its three lines at the end
// of rescue.cc.

#ifndef ORBSERVE_SERVER_FAILOVER_RESCUE_H_
#define ORBSERVE_SERVER_FAILOVER_RESCUE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"

namespace orbserve {

// Returns true for an answer that says that its device is lost.
bool IsDeviceLoss(const absl::Status& status);

// Holds `object` for the rest of the process' life, where leak checkers see that it is held.
// Freeing an object of a lost device could wait for the device without end.
void KeepUntilExit(std::shared_ptr<const void> object);

// Wraps the primary's plan and creates the fallback's on first use. A plan that is made after the
// loss has only the fallback's. Thread-safe.
class RescuablePlan final : public FeaturePlan {
 public:
  // At least one of the plans is not null. `lost` becomes true when the primary is lost; from then
  // on the primary's plan is neither called nor freed.
  RescuablePlan(std::shared_ptr<FeaturePlan> primary, std::shared_ptr<FeaturePlan> fallback,
                std::shared_ptr<const std::atomic<bool>> lost);
  ~RescuablePlan() override;

  const PlanSpec& spec() const override { return spec_; }
  int max_batch_frames() const override { return max_batch_frames_; }
  bool is_large() const override { return is_large_; }
  size_t frame_bytes() const override { return frame_bytes_; }
  // Bytes of the primary's plan until the loss, and of the fallback's plan when there is one. What
  // a lost device holds cannot be freed and is not counted.
  size_t size_bytes() const override ABSL_LOCKS_EXCLUDED(mutex_);

  // Null when there is none.
  const std::shared_ptr<FeaturePlan>& primary() const { return primary_; }
  // Returns the fallback's plan. The first call has `backend` make it, and waits for that.
  absl::StatusOr<std::shared_ptr<FeaturePlan>> Fallback(FeatureBackend& backend)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const PlanSpec spec_;
  const int max_batch_frames_;
  const bool is_large_;
  const size_t frame_bytes_;
  const std::shared_ptr<const std::atomic<bool>> lost_;
  std::shared_ptr<FeaturePlan> primary_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<FeaturePlan> fallback_ ABSL_GUARDED_BY(mutex_);
};

// A part of a batch that goes to the fallback as one batch.
template <typename Job>
struct RescuePart {
  std::vector<size_t> places;  // of the jobs in the whole batch
  std::vector<Job> jobs;
};

// Frames. Each frame goes to the fallback alone, because the fallback's plan may allow smaller
// batches than the primary's.
struct FrameRescue {
  using Job = FrameJob;
  using Answer = FrameBatchAnswer;
  using Done = FrameBatchDone;
  // Everything that the jobs of a batch share. Null: not a plan of this backend, and no rescue.
  using Common = std::shared_ptr<RescuablePlan>;

  static std::vector<FrameAnswer>& Items(Answer& answer) { return answer.frames; }
  // Makes the jobs at `missing` fit for the fallback. Jobs that the fallback cannot compute are in
  // no part. May make a plan, and wait for that.
  static std::vector<RescuePart<Job>> Divide(FeatureBackend& primary, FeatureBackend& fallback,
                                             const Common& plan, std::vector<Job> jobs,
                                             const std::vector<size_t>& missing);
  static void SubmitToPrimary(FeatureBackend& primary, const Common& plan, std::vector<Job> jobs,
                              Done done);
  static void SubmitToFallback(FeatureBackend& fallback, const Common& plan, std::vector<Job> jobs,
                               Done done);
};

// Matches. Their states move to the fallback, and all jobs of a batch stay together.
struct MatchRescue {
  using Job = MatchJob;
  using Answer = MatchBatchAnswer;
  using Done = MatchBatchDone;
  struct Common {};  // nothing

  static std::vector<MatchAnswer>& Items(Answer& answer) { return answer.pairs; }
  static std::vector<RescuePart<Job>> Divide(FeatureBackend& primary, FeatureBackend& fallback,
                                             const Common&, std::vector<Job> jobs,
                                             const std::vector<size_t>& missing);
  static void SubmitToPrimary(FeatureBackend& primary, const Common&, std::vector<Job> jobs,
                              Done done) {
    primary.SubmitMatches(std::move(jobs), std::move(done));
  }
  static void SubmitToFallback(FeatureBackend& fallback, const Common&, std::vector<Job> jobs,
                               Done done) {
    fallback.SubmitMatches(std::move(jobs), std::move(done));
  }
};

// Searches for tracks. All jobs of a batch stay together.
struct TrackRescue {
  using Job = TrackJob;
  using Answer = TrackBatchAnswer;
  using Done = TrackBatchDone;
  struct Common {};  // nothing

  static std::vector<TrackAnswer>& Items(Answer& answer) { return answer.jobs; }
  static std::vector<RescuePart<Job>> Divide(FeatureBackend& primary, FeatureBackend& fallback,
                                             const Common&, std::vector<Job> jobs,
                                             const std::vector<size_t>& missing);
  static void SubmitToPrimary(FeatureBackend& primary, const Common&, std::vector<Job> jobs,
                              Done done) {
    primary.SubmitTracks(std::move(jobs), std::move(done));
  }
  static void SubmitToFallback(FeatureBackend& fallback, const Common&, std::vector<Job> jobs,
                               Done done) {
    fallback.SubmitTracks(std::move(jobs), std::move(done));
  }
};

// A batch is open from Add() to its answer. It has one of two owners: the primary, or, once it is
// rescued, the fallback. The thread that takes it out of its table answers it, exactly once and
// never under a lock. Thread-safe.
class Rescue {
 public:
  // Neither backend is owned. Both must live until the last batch is answered, and the rescue until
  // the fallback has called back for the last time. Of the primary only ExportState() is called.
  Rescue(FeatureBackend* primary, FeatureBackend* fallback);
  Rescue(const Rescue&) = delete;
  Rescue& operator=(const Rescue&) = delete;

  // Opens a batch that is about to be submitted, and returns its number.
  template <typename Kind>
  uint64_t Add(typename Kind::Common common, std::vector<typename Kind::Job> jobs,
               typename Kind::Done done) ABSL_LOCKS_EXCLUDED(mutex_);

  // Closes a batch without an answer, because the primary did not take it. Returns false where it
  // is answered or in rescue already: then it keeps its owner.
  template <typename Kind>
  bool Withdraw(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes the primary's answer to a batch. Passes it on and returns OK, unless it says that the
  // device is lost: then the answers that it does contain are kept for the rescue, and the loss is
  // returned. An answer to a batch that is answered or in rescue already is dropped, which is OK.
  template <typename Kind>
  absl::Status Done(uint64_t id, typename Kind::Answer answer) ABSL_LOCKS_EXCLUDED(mutex_);

  // Has the fallback compute the items of a batch that the primary has not answered. Does nothing
  // when that has begun, or when the batch is not open any more. May wait for a plan to be made.
  template <typename Kind>
  void RescueBatch(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Rescues all open batches, kind by kind as in Kinds, otherwise in the order of their opening.
  void RescueAll() ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers all open batches, with DEVICE_LOST for items that have no answer yet. Batches that are
  // rescued later are answered in this way at once.
  void GiveUp() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until no batch is open.
  void WaitUntilEmpty() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  template <typename Kind>
  struct Batch {
    typename Kind::Common common;
    std::vector<typename Kind::Job> jobs;
    typename Kind::Done done;
    typename Kind::Answer answer;  // as far as it is known
    bool is_rescued = false;       // the fallback owns it
    bool is_cost_known = false;    // the fallback has answered a part
    size_t parts_missing = 0;      // parts that it has not answered yet
  };
  template <typename Kind>
  using Table = absl::flat_hash_map<uint64_t, std::unique_ptr<Batch<Kind>>>;
  template <typename... Kinds>
  using TablesOf = std::tuple<Table<Kinds>...>;

  // Matches and tracks are rescued first: they are short, and frames may have to wait for a plan.
  using Kinds = TablesOf<MatchRescue, TrackRescue, FrameRescue>;

  template <typename Kind>
  Table<Kind>& TableOf() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::get<Table<Kind>>(tables_);
  }
  // Takes a batch out of its table; null when it is not open any more.
  template <typename Kind>
  std::unique_ptr<Batch<Kind>> Take(uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  template <typename Kind>
  static void AnswerBatch(std::unique_ptr<Batch<Kind>> batch);
  template <typename Kind>
  void PartRescued(uint64_t id, const std::vector<size_t>& places, typename Kind::Answer answer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  template <typename Kind>
  void RescueAllOf() ABSL_LOCKS_EXCLUDED(mutex_);
  template <typename Kind>
  static void GiveUpAll(Table<Kind>& batches);
  bool IsEmpty() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  FeatureBackend& primary_;
  FeatureBackend& fallback_;

  absl::Mutex mutex_;
  Kinds tables_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_given_up_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_FAILOVER_RESCUE_H_
