// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_RUN_WORKSPACE_QUEUE_H_
#define ORBSERVE_CPU_RUN_WORKSPACE_QUEUE_H_

#include <deque>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "cpu/frame/workspace.h"
#include "cpu/plan.h"
#include "features/errors.h"
#include "features/recycling_pool.h"

namespace orbserve::cpu {

// Gives frames the workspaces of their plans, in the order in which they ask. A frame waits while
// the workspaces of others leave no room for its own, or while memory is being freed. Workspaces
// that no frame uses make room. Thread-safe.
class WorkspaceQueue {
 public:
  using WorkspaceOr = absl::StatusOr<std::shared_ptr<Workspace>>;

  // The workspaces of the plan make room for those of others from now on.
  void Add(const std::shared_ptr<CpuPlan>& plan) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns a workspace, with room for a mask if `has_mask`; End() follows. Null: the frame waits,
  // and `start` is called with the result, not under the lock, when it is the frame's turn. `plan`
  // must live until then. TOO_LARGE for a frame that never fits, OUT_OF_MEMORY where the system
  // gives no memory. May throw std::bad_alloc, and then has changed nothing.
  template <typename Start>
  WorkspaceOr Ask(const CpuPlan& plan, bool has_mask, const Start& start)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    ORBSERVE_RETURN_IF_ERROR(plan.CheckFrameBytes(has_mask));
    absl::MutexLock lock(&mutex_);
    if (waiting_.empty()) {
      if (std::shared_ptr<Workspace> found = Find(plan, has_mask)) {
        ++running_;
        return found;
      }
      if (running_ == 0) return NoMemory();
    }
    waiting_.push_back({&plan, has_mask, start});
    return nullptr;
  }

  // A frame has given its workspace back. Starts the frames that have waited for it.
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

  // Frees memory of plans that no frame has used since the last call, and that of plans that are
  // gone.
  void FreeIdle() ABSL_LOCKS_EXCLUDED(mutex_);
  // Frees all workspaces that no frame uses.
  void FreeSpare() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Frame {
    const CpuPlan* plan = nullptr;
    bool has_mask = false;
    absl::AnyInvocable<void(WorkspaceOr) &&> start;
  };

  // The idle workspaces outlive the plan: a frame that finds no room frees them itself, and does
  // not meet them while the plan's end frees them.
  struct Known {
    std::weak_ptr<CpuPlan> plan;
    std::shared_ptr<RecyclingPool<Workspace>> workspaces;
  };

  static absl::Status NoMemory();
  // Their workspaces are freed with the last holder.
  void ForgetGone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Frames wait for memory until End(), as if a frame ran: the caller frees some.
  std::vector<Known> BeginToFree() ABSL_LOCKS_EXCLUDED(mutex_);
  std::shared_ptr<Workspace> Find(const CpuPlan& plan, bool has_mask)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  std::vector<Known> plans_ ABSL_GUARDED_BY(mutex_);
  int running_ ABSL_GUARDED_BY(mutex_) = 0;  // frames that have a workspace, and BeginToFree()
  std::deque<Frame> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_RUN_WORKSPACE_QUEUE_H_
