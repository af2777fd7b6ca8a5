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
  ForgetGone();
  plans_.push_back({plan, plan->workspaces()});
}

void WorkspaceQueue::ForgetGone() {
  plans_.erase(std::remove_if(plans_.begin(), plans_.end(),
                              [](const Known& known) { return known.plan.expired(); }),
               plans_.end());
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
  for (const Known& known : BeginToFree()) {
    const std::shared_ptr<CpuPlan> plan = known.plan.lock();
    if (plan == nullptr) {
      known.workspaces->FreeAllIdle();
    } else {
      known.workspaces->FreeIdle();
      plan->FreeIdlePyramids();
    }
  }
  End();
}

void WorkspaceQueue::FreeSpare() {
  for (const Known& known : BeginToFree()) known.workspaces->FreeAllIdle();
  End();
}

std::vector<WorkspaceQueue::Known> WorkspaceQueue::BeginToFree() {
  absl::MutexLock lock(&mutex_);
  std::vector<Known> plans = plans_;
  ++running_;
  ForgetGone();
  return plans;
}

std::shared_ptr<Workspace> WorkspaceQueue::Find(const CpuPlan& plan, bool has_mask) try {
  std::shared_ptr<Workspace> workspace = plan.LeaseWorkspace(has_mask);
  for (auto known = plans_.begin(); workspace == nullptr && known != plans_.end(); ++known) {
    known->workspaces->FreeAllIdle();
    workspace = plan.LeaseWorkspace(has_mask);
  }
  return workspace;
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace orbserve::cpu
