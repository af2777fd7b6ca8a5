// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/failover/rescue.h"

#include <chrono>
#include <utility>

#include "features/errors.h"

namespace orbserve {
namespace {

using StatePtr = std::shared_ptr<const FrameState>;

// Replaces a state by what `move` makes of it, unless it is one of the fallback. Returns false
// where that cannot be done.
template <typename Move>
bool MoveState(FeatureBackend& fallback, StatePtr& state, const Move& move) {
  if (state == nullptr) return false;
  if (fallback.ExportState(*state).ok()) return true;
  absl::StatusOr<StatePtr> moved = move(*state);
  if (!moved.ok()) return false;
  state = *std::move(moved);
  return true;
}

}  // namespace

void KeepUntilExit(std::shared_ptr<const void> object) {
  static absl::Mutex* const mutex = new absl::Mutex;
  static auto* const kept = new std::vector<std::shared_ptr<const void>>;
  absl::MutexLock lock(mutex);
  kept->push_back(std::move(object));
}

RescuablePlan::RescuablePlan(std::shared_ptr<FeaturePlan> primary,
                             std::shared_ptr<FeaturePlan> fallback,
                             std::shared_ptr<const std::atomic<bool>> lost)
    : lost_(std::move(lost)),
      primary_(std::move(primary)),
      fallback_(std::move(fallback)),
      first_(primary_ != nullptr ? *primary_ : *fallback_) {}

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
  ORBSERVE_ASSIGN_OR_RETURN(std::shared_ptr<FeaturePlan> made, backend.MakePlan(spec()));
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

bool MatchRescue::Move(FeatureBackend& primary, FeatureBackend& fallback, const Common&, Job& job) {
  const auto move = [&](const FrameState& state) -> absl::StatusOr<StatePtr> {
    ORBSERVE_ASSIGN_OR_RETURN(auto features, primary.ExportState(state));
    return fallback.ImportState(std::move(features));
  };
  return MoveState(fallback, job.query, move) && MoveState(fallback, job.train, move);
}

bool TrackRescue::Move(FeatureBackend&, FeatureBackend& fallback, const Common&, Job& job) {
  const auto move = [&](const FrameState& state) { return fallback.RebuildPyramid(state); };
  return MoveState(fallback, job.from, move) && MoveState(fallback, job.to, move);
}

bool FrameRescue::Move(FeatureBackend&, FeatureBackend& fallback, const Common& plan, Job&) {
  return plan != nullptr && plan->Fallback(fallback).ok();
}

void FrameRescue::SubmitTo(FeatureBackend& backend, bool is_fallback, const Common& plan,
                           std::vector<Job> jobs, Done done) {
  std::shared_ptr<FeaturePlan> own;  // a plan of the fallback alone exists only after the loss
  if (is_fallback) {
    own = *plan->Fallback(backend);  // Move() made it
  } else if (plan != nullptr) {
    own = plan->primary();
  }
  backend.Submit(std::move(own), std::move(jobs), std::move(done));
}

bool IsDeviceLoss(const absl::Status& status) {
  return !status.ok() && ReasonOf(status) == ErrorReason::kDeviceLost;
}

absl::Status TooLateToRescue() {
  return MakeError(ErrorReason::kDeviceLost,
                   "a device of this server was lost and there was no time left to compute this on "
                   "the processor; the server starts anew");
}

void Rescue::AddCost(const BatchCost& cost, bool is_first, BatchCost& all) {
  if (is_first) {
    all = cost;
    return;
  }
  all.busy_begin = std::min(all.busy_begin, cost.busy_begin);
  all.busy_end = std::max(all.busy_end, cost.busy_end);
  all.timings.compute_ns = std::chrono::nanoseconds(all.busy_end - all.busy_begin).count();
}

void Rescue::Close(AnyBatch& batch) {
  batch.owner = Owner::kNobody;
  open_.erase(batch.place);
}

bool Rescue::Withdraw(AnyBatch& batch) {
  absl::MutexLock lock(&mutex_);
  if (batch.owner != Owner::kPrimary) return false;
  Close(batch);
  return true;
}

void Rescue::RescueAll() {
  std::vector<std::shared_ptr<AnyBatch>> batches;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [place, batch] : open_) batches.push_back(batch);
  }
  for (const auto& batch : batches) batch->BeRescued(*this);
}

void Rescue::GiveUp() {
  std::vector<std::shared_ptr<AnyBatch>> batches;
  {
    absl::MutexLock lock(&mutex_);
    has_given_up_ = true;
    for (const auto& [place, batch] : open_) {
      if (batch->owner == Owner::kPrimary) batch->MarkMissing();
      batches.push_back(batch);
    }
    for (const auto& batch : batches) Close(*batch);
  }
  for (const auto& batch : batches) batch->Answer();
}

void Rescue::WaitUntilEmpty() {
  const auto is_empty = [this] {
    mutex_.AssertReaderHeld();
    return open_.empty();
  };
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&is_empty));
}

}  // namespace orbserve
