// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/run/workspace_queue.h"

#include <algorithm>
#include <new>
#include <utility>

#include "features/errors.h"

namespace orbserve::cpu {

absl::Status WorkspaceQueue::NoMemory() {
  return MakeError(ErrorReason::kOutOfMemory, "no memory for the workspace of a frame");
}

void WorkspaceQueue::Add(const std::shared_ptr<CpuPlan>& plan) {
  absl::MutexLock lock(&mutex_);
  plans_.erase(std::remove_if(plans_.begin(), plans_.end(),
                              [](const auto& known) { return known.expired(); }),
               plans_.end());
  plans_.push_back(plan);
}

void WorkspaceQueue::End() {
  {
    absl::MutexLock lock(&mutex_);
    --running_;
  }
  while (true) {
    Frame next;
    WorkspaceOr workspace = nullptr;
    {
      absl::MutexLock lock(&mutex_);
      if (waiting_.empty()) return;
      workspace = Find(*waiting_.front().plan, waiting_.front().has_mask);
      if (*workspace != nullptr) {
        ++running_;
      } else if (running_ == 0) {
        workspace = NoMemory();
      } else {
        return;
      }
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    std::move(next.start)(std::move(workspace));
  }
}

void WorkspaceQueue::FreeIdle() {
  for (const std::shared_ptr<CpuPlan>& plan : Plans()) plan->FreeIdle();
}

void WorkspaceQueue::FreeSpare() {
  for (const std::shared_ptr<CpuPlan>& plan : Plans()) plan->FreeSpareWorkspaces();
}

std::vector<std::shared_ptr<CpuPlan>> WorkspaceQueue::Plans() {
  absl::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<CpuPlan>> plans;
  plans.reserve(plans_.size());
  for (const std::weak_ptr<CpuPlan>& known : plans_) {
    if (std::shared_ptr<CpuPlan> plan = known.lock()) plans.push_back(std::move(plan));
  }
  return plans;
}

std::shared_ptr<Workspace> WorkspaceQueue::Find(const CpuPlan& plan, bool has_mask) try {
  std::shared_ptr<Workspace> workspace = plan.LeaseWorkspace(has_mask);
  for (auto known = plans_.begin(); workspace == nullptr && known != plans_.end(); ++known) {
    const std::shared_ptr<CpuPlan> other = known->lock();
    if (other == nullptr) continue;
    other->FreeSpareWorkspaces();
    workspace = plan.LeaseWorkspace(has_mask);
  }
  return workspace;
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace orbserve::cpu
