// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/failover/rescue.h"

#include <chrono>

#include "features/errors.h"

namespace orbserve {

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
