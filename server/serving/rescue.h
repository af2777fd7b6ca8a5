// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What was submitted to a backend that may be lost, kept until it is answered; and how it is
// answered once the backend, the primary, is lost: by the fallback, from the same input slots and
// with the same bits. States of the primary are exported and imported where a match needs them.

#ifndef ORBSERVE_SERVER_SERVING_RESCUE_H_
#define ORBSERVE_SERVER_SERVING_RESCUE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"

namespace orbserve {

// Whether an answer says that its device is lost.
bool IsDeviceLoss(const absl::Status& status);

// Holds `object` for the rest of the process' life, where checkers of leaks see that it is held:
// freeing what belongs to a lost device would wait for it for ever.
void KeepForEver(std::shared_ptr<const void> object);

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
  const std::shared_ptr<const std::atomic<bool>> lost_;
  std::shared_ptr<FeaturePlan> primary_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<FeaturePlan> fallback_ ABSL_GUARDED_BY(mutex_);
};

// A batch is open from Add() to its answer and has one of two owners: the primary, or, once it is
// rescued, the fallback. Whoever takes it out of its table answers it, exactly once. Thread-safe.
class Rescue {
 public:
  // Neither backend is owned; both must live until the last batch is answered, and the rescue until
  // the fallback has called back for the last time. Of the primary only ExportState() is called.
  Rescue(FeatureBackend* primary, FeatureBackend* fallback);
  Rescue(const Rescue&) = delete;
  Rescue& operator=(const Rescue&) = delete;

  // Opens a batch that is about to be submitted, and returns its number. `plan` may be null: a
  // batch without one cannot be rescued.
  uint64_t AddFrames(std::shared_ptr<RescuablePlan> plan, std::vector<FrameJob> jobs,
                     FrameBatchDone done) ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t AddMatches(std::vector<MatchJob> jobs, MatchBatchDone done) ABSL_LOCKS_EXCLUDED(mutex_);

  // The primary's answer to a batch. Passes it on and returns OK, unless it says that the device is
  // lost: then what it has is kept for the rescue, and the loss is returned. Dropped, and OK, when
  // the batch is answered or in rescue already.
  absl::Status FramesDone(uint64_t id, FrameBatchAnswer answer) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status MatchesDone(uint64_t id, MatchBatchAnswer answer) ABSL_LOCKS_EXCLUDED(mutex_);

  // Has the fallback compute what of a batch the primary has not answered. Nothing happens when
  // that has begun, or the batch is not open any more. May make a plan, and wait for that.
  void RescueFrames(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  void RescueMatches(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  // All that are open, matches first, else in the order of their opening.
  void RescueAll() ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers everything that is open, with DEVICE_LOST where there is no answer yet, and from now on
  // whatever is rescued.
  void GiveUp() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until no batch is open.
  void WaitUntilEmpty() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct FrameBatch {
    std::shared_ptr<RescuablePlan> plan;  // null: not one of this backend
    std::vector<FrameJob> jobs;
    FrameBatchDone done;
    FrameBatchAnswer answer;    // as far as it is known: empty, the primary's, the rescued one
    bool rescued = false;       // with the fallback
    bool rescue_begun = false;  // the fallback has answered a frame
    size_t missing = 0;         // frames that it has not answered yet
  };
  struct MatchBatch {
    std::vector<MatchJob> jobs;
    MatchBatchDone done;
    MatchBatchAnswer answer;
    bool rescued = false;
  };
  template <typename Batch>
  using Table = absl::flat_hash_map<uint64_t, std::unique_ptr<Batch>>;

  template <typename Batch>
  uint64_t Add(std::unique_ptr<Batch> batch, Table<Batch>* table) ABSL_LOCKS_EXCLUDED(mutex_);
  template <typename Batch, typename BatchAnswer>
  absl::Status Done(uint64_t id, const absl::Status& loss, BatchAnswer answer, Table<Batch>* table)
      ABSL_LOCKS_EXCLUDED(mutex_);
  template <typename Batch>
  void AnswerOpen(uint64_t id, Table<Batch>* table) ABSL_LOCKS_EXCLUDED(mutex_);
  void FrameRescued(uint64_t id, size_t index, FrameBatchAnswer answer) ABSL_LOCKS_EXCLUDED(mutex_);
  void MatchesRescued(uint64_t id, const std::vector<size_t>& places, MatchBatchAnswer answer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes a state matchable by the fallback; false when the primary cannot give it out.
  bool MoveToFallback(std::shared_ptr<const FrameState>* state);
  bool IsEmpty() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return frames_.empty() && matches_.empty();
  }

  FeatureBackend& primary_;
  FeatureBackend& fallback_;

  absl::Mutex mutex_;
  Table<FrameBatch> frames_ ABSL_GUARDED_BY(mutex_);
  Table<MatchBatch> matches_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  bool gave_up_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_RESCUE_H_
