// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_PLAN_H_
#define ORBSERVE_CPU_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "absl/status/statusor.h"
#include "cpu/compile.h"
#include "cpu/frame/frame_lists.h"
#include "cpu/frame/frame_state.h"
#include "cpu/frame/workspace.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/memory/memory_count.h"
#include "cpu/memory/thread_scratch.h"
#include "cpu/memory/workspace_layout.h"
#include "features/backend.h"
#include "features/pipeline/compiled.h"
#include "features/recycling_pool.h"

namespace orbserve::cpu {

// Plans count what they hold in these.
struct PlanMemory {
  std::shared_ptr<MemoryCount> tables = std::make_shared<MemoryCount>();  // and scratch memory
  std::shared_ptr<MemoryCount> workspaces = std::make_shared<MemoryCount>();
  std::shared_ptr<MemoryCount> states = std::make_shared<MemoryCount>();  // their pyramids
  // Largest workspace of a frame.
  int64_t max_frame_bytes = std::numeric_limits<int64_t>::max();
};

// The compiled pipeline, its steps, and the memory that frames work in. Thread-safe: constant but
// for its pool of workspaces.
class CpuPlan final : public FeaturePlan {
 public:
  // INVALID_ARGUMENT for bad options or sizes, and (TOO_LARGE) where a frame needs more than
  // `memory.max_frame_bytes`; RESOURCE_EXHAUSTED when there is no memory for the plan's tables now.
  // Workspaces are made when frames need them.
  static absl::StatusOr<std::shared_ptr<CpuPlan>> Create(const PlanSpec& spec,
                                                         const KernelTarget& target, int threads,
                                                         PlanMemory memory);
  // Workspace of a frame without a mask; of a plan that need not fit. INVALID_ARGUMENT as above.
  static absl::StatusOr<size_t> FrameBytesOf(const PlanSpec& spec, const KernelTarget& target,
                                             int threads);

  const PlanSpec& spec() const override { return pipeline_.spec; }
  int max_batch_frames() const override { return 64; }
  // Tables, scratch memory and all workspaces, with the pyramids of their masks.
  size_t size_bytes() const override {
    return scratch_.size() + table_bytes_ + static_cast<size_t>(workspace_memory_->bytes());
  }
  bool is_large() const override { return is_large_; }
  size_t frame_bytes(bool has_mask) const override {
    return layout_.bytes() + (has_mask ? layout_.mask_bytes() : 0);
  }
  // TOO_LARGE, with the bytes that are needed and allowed, where a frame never fits.
  absl::Status CheckFrameBytes(bool has_mask) const;

  const CompiledPipeline& pipeline() const { return pipeline_; }
  const StepList& steps() const { return steps_; }
  int threads() const { return threads_; }

  // Memory for one frame, which may have a mask; null when there is none to be had now.
  std::shared_ptr<Workspace> LeaseWorkspace(bool has_mask) const;
  // The pool keeps the workspaces that no frame uses.
  const std::shared_ptr<RecyclingPool<Workspace>>& workspaces() const { return workspaces_; }
  // Memory for the pyramid that the state of a frame keeps; null when there is none to be had.
  std::shared_ptr<KeptPyramid> LeasePyramid() const;
  // Frees the pyramids that no frame has used since the last call.
  void FreeIdlePyramids() { pyramids_->FreeIdle(); }
  FrameContext ContextOf(Workspace& workspace, const FrameJob& job,
                         const FramePyramid* kept) const {
    return FrameContext(pipeline_, lists_, scratch_, threads_, workspace, job, kept);
  }

 private:
  CpuPlan(CompiledPipeline pipeline, const KernelTarget& target, int threads, PlanMemory memory);

  size_t TableBytes() const;
  // Gives `workspace` the memory that a frame with a mask needs. False when there is none to be
  // had.
  bool AddMaskMemory(Workspace* workspace) const;

  const CompiledPipeline pipeline_;
  const int threads_;
  const bool is_large_;
  const std::shared_ptr<MemoryCount> workspace_memory_;  // of this plan
  const std::shared_ptr<MemoryCount> state_memory_;
  const int64_t max_frame_bytes_;
  WorkspaceLayout layout_;
  StepList steps_;
  FrameLists lists_;
  ThreadScratch scratch_;
  size_t table_bytes_ = 0;
  CountedBytes own_bytes_;  // of everything but the workspaces
  std::shared_ptr<RecyclingPool<Workspace>> workspaces_;
  std::shared_ptr<RecyclingPool<KeptPyramid>> pyramids_;
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_PLAN_H_
