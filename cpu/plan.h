// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_PLAN_H_
#define ORBSERVE_CPU_PLAN_H_

#include <cstddef>
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

// The compiled pipeline, its steps, and the memory that frames work in. Thread-safe: constant but
// for its pool of workspaces.
class CpuPlan final : public FeaturePlan {
 public:
  // The plan counts what it holds in `memory`, and the pyramids that states keep in
  // `state_memory`, too. INVALID_ARGUMENT for bad options or sizes,
  // RESOURCE_EXHAUSTED when the workspace of a frame does not fit into memory.
  static absl::StatusOr<std::shared_ptr<CpuPlan>> Create(const PlanSpec& spec,
                                                         const KernelTarget& target, int threads,
                                                         std::shared_ptr<MemoryCount> memory,
                                                         std::shared_ptr<MemoryCount> state_memory);

  const PlanSpec& spec() const override { return pipeline_.spec; }
  int max_batch_frames() const override { return 64; }
  // Tables, scratch memory and all workspaces, with the pyramids of their masks.
  size_t size_bytes() const override { return static_cast<size_t>(memory_->bytes()); }
  bool is_large() const override { return is_large_; }
  size_t frame_bytes() const override { return layout_.bytes(); }

  const CompiledPipeline& pipeline() const { return pipeline_; }
  const StepList& steps() const { return steps_; }
  int threads() const { return threads_; }

  // Memory for one frame; null when there is none to be had.
  std::shared_ptr<Workspace> LeaseWorkspace() const;
  // Memory for the pyramid that the state of a frame keeps; null when there is none to be had.
  std::shared_ptr<KeptPyramid> LeasePyramid() const;
  // Frees the memory that no frame has used since the last call.
  void FreeIdle();
  // Gives `workspace` the memory that a frame with a mask needs. False when there is none to be
  // had.
  bool AddMaskMemory(Workspace* workspace) const;
  FrameContext ContextOf(Workspace& workspace, const FrameJob& job,
                         const FramePyramid* kept) const {
    return FrameContext(pipeline_, lists_, scratch_, threads_, workspace, job, kept);
  }

 private:
  CpuPlan(CompiledPipeline pipeline, const KernelTarget& target, int threads,
          std::shared_ptr<MemoryCount> memory, std::shared_ptr<MemoryCount> state_memory);

  size_t TableBytes() const;

  const CompiledPipeline pipeline_;
  const int threads_;
  const bool is_large_;
  const std::shared_ptr<MemoryCount> memory_;
  const std::shared_ptr<MemoryCount> state_memory_;
  WorkspaceLayout layout_;
  StepList steps_;
  FrameLists lists_;
  ThreadScratch scratch_;
  CountedBytes own_bytes_;  // of everything but the workspaces
  std::shared_ptr<RecyclingPool<Workspace>> workspaces_;
  std::shared_ptr<RecyclingPool<KeptPyramid>> pyramids_;
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_PLAN_H_
