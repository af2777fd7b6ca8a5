// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/failover/rescuable_plan.h"

#include <utility>
#include <vector>

#include "features/errors.h"

namespace orbserve {

void KeepUntilExit(std::shared_ptr<const void> object) {
  static absl::Mutex* const mutex = new absl::Mutex;
  static auto* const kept = new std::vector<std::shared_ptr<const void>>;
  absl::MutexLock lock(mutex);
  kept->push_back(std::move(object));
}

RescuablePlan::RescuablePlan(std::shared_ptr<FeaturePlan> primary,
                             std::shared_ptr<FeaturePlan> fallback,
                             std::shared_ptr<const std::atomic<bool>> lost)
    : spec_(primary != nullptr ? primary->spec() : fallback->spec()),
      max_batch_frames_((primary != nullptr ? primary : fallback)->max_batch_frames()),
      is_large_((primary != nullptr ? primary : fallback)->is_large()),
      frame_bytes_((primary != nullptr ? primary : fallback)->frame_bytes(false)),
      masked_frame_bytes_((primary != nullptr ? primary : fallback)->frame_bytes(true)),
      lost_(std::move(lost)),
      primary_(std::move(primary)),
      fallback_(std::move(fallback)) {}

RescuablePlan::~RescuablePlan() {
  if (primary_ != nullptr && lost_->load(std::memory_order_acquire)) {
    KeepUntilExit(std::move(primary_));
  }
}

absl::StatusOr<std::shared_ptr<FeaturePlan>> RescuablePlan::Fallback(FeatureBackend& backend) {
  {
    absl::MutexLock lock(&mutex_);
    if (fallback_ != nullptr) return fallback_;
  }
  // Outside the lock, which size_bytes() takes. If two threads make one, the first to end wins.
  ORBSERVE_ASSIGN_OR_RETURN(std::shared_ptr<FeaturePlan> made, backend.MakePlan(spec_));
  absl::MutexLock lock(&mutex_);
  if (fallback_ == nullptr) fallback_ = std::move(made);
  return fallback_;
}

size_t RescuablePlan::size_bytes() const {
  size_t bytes = 0;
  if (primary_ != nullptr && !lost_->load(std::memory_order_acquire)) {
    bytes += primary_->size_bytes();
  }
  absl::MutexLock lock(&mutex_);
  if (fallback_ != nullptr) bytes += fallback_->size_bytes();
  return bytes;
}

}  // namespace orbserve
