// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A kind of work is one struct (MatchRescue, TrackRescue, FrameRescue) that says what a batch
// consists of and how the fallback computes it. Rescue and the failover backend know nothing else
// of it.

#ifndef ORBSERVE_SERVER_FAILOVER_RESCUE_KINDS_H_
#define ORBSERVE_SERVER_FAILOVER_RESCUE_KINDS_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"

namespace orbserve {

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
  size_t frame_bytes(bool has_mask) const override {
    return has_mask ? masked_frame_bytes_ : frame_bytes_;
  }
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
  const size_t masked_frame_bytes_;
  const std::shared_ptr<const std::atomic<bool>> lost_;
  std::shared_ptr<FeaturePlan> primary_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<FeaturePlan> fallback_ ABSL_GUARDED_BY(mutex_);
};

// Matches. Their states move to the fallback.
struct MatchRescue {
  using Job = MatchJob;
  using Answer = MatchBatchAnswer;
  using Done = MatchBatchDone;
  struct Common {};                      // nothing that the jobs of a batch share
  static constexpr int kOrder = 0;       // among the kinds, in a rescue
  static constexpr bool kAlone = false;  // the jobs of a batch stay together

  static std::vector<MatchAnswer>& Items(Answer& answer) { return answer.pairs; }
  // Makes a job fit for the fallback. Returns false where that cannot be done.
  static bool Move(FeatureBackend& primary, FeatureBackend& fallback, const Common&, Job& job);
  static void SubmitTo(FeatureBackend& backend, bool /*is_fallback*/, const Common&,
                       std::vector<Job> jobs, Done done) {
    backend.SubmitMatches(std::move(jobs), std::move(done));
  }
};

// Searches for tracks. The fallback makes their pyramids again.
struct TrackRescue {
  using Job = TrackJob;
  using Answer = TrackBatchAnswer;
  using Done = TrackBatchDone;
  struct Common {};
  static constexpr int kOrder = 1;
  static constexpr bool kAlone = false;

  static std::vector<TrackAnswer>& Items(Answer& answer) { return answer.jobs; }
  static bool Move(FeatureBackend& primary, FeatureBackend& fallback, const Common&, Job& job);
  static void SubmitTo(FeatureBackend& backend, bool /*is_fallback*/, const Common&,
                       std::vector<Job> jobs, Done done) {
    backend.SubmitTracks(std::move(jobs), std::move(done));
  }
};

// Frames. They come last, because they may have to wait for a plan. Each goes to the fallback
// alone, because the fallback's plan may allow smaller batches than the primary's.
struct FrameRescue {
  using Job = FrameJob;
  using Answer = FrameBatchAnswer;
  using Done = FrameBatchDone;
  using Common = std::shared_ptr<RescuablePlan>;  // null: not a plan of this backend, and no rescue
  static constexpr int kOrder = 2;
  static constexpr bool kAlone = true;

  static std::vector<FrameAnswer>& Items(Answer& answer) { return answer.frames; }
  // May make a plan, and wait for that.
  static bool Move(FeatureBackend& primary, FeatureBackend& fallback, const Common& plan, Job& job);
  static void SubmitTo(FeatureBackend& backend, bool is_fallback, const Common& plan,
                       std::vector<Job> jobs, Done done);
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_FAILOVER_RESCUE_KINDS_H_
