// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_FAILOVER_RESCUABLE_PLAN_H_
#define ORBSERVE_SERVER_FAILOVER_RESCUABLE_PLAN_H_

#include <atomic>
#include <cstddef>
#include <memory>

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

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_FAILOVER_RESCUABLE_PLAN_H_
