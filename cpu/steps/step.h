// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A step of a pipeline: it reads some of the lists of a frame (cpu/frame/frame_lists.h) and writes
// others. cpu/compile.cc says which steps a pipeline runs, cpu/run/frame_run.cc runs them.

#ifndef ORBSERVE_CPU_STEPS_STEP_H_
#define ORBSERVE_CPU_STEPS_STEP_H_

#include <cstddef>

#include "absl/strings/string_view.h"
#include "cpu/frame/frame_context.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/memory/workspace_layout.h"
#include "features/pipeline/compiled.h"
#include "features/pipeline/stage.h"

namespace orbserve::cpu {

// Factories make steps from this setup. `pipeline` outlives them.
struct StepSetup {
  const CompiledPipeline& pipeline;
  KernelTarget target;
  int threads;  // that run the tasks of a frame
};

// A step works on each level by itself, as soon as that level is ready, or once on all levels of
// the frame, when all are ready.
enum class StepScope { kLevel, kFrame };

// Stands for the level in calls of a step whose scope is the frame.
inline constexpr int kAllLevels = -1;

// Made once per plan, immutable after Declare(), shared by all frames of the plan.
//
// For each level (or for the frame) Begin() is called first, alone, on any thread; then Run() for
// each of the tasks that Begin() returned, in any order, several at the same time; the step has
// ended when all have returned. Neither allocates nor waits.
class Step {
 public:
  virtual ~Step() = default;

  // Name of the step's files.
  virtual absl::string_view name() const = 0;
  // The stages of the pipeline that it carries out, under which its time is reported.
  virtual StageSet stages() const = 0;
  virtual StepScope scope() const { return StepScope::kLevel; }

  // Declares the buffers that this step alone uses, and its scratch memory.
  virtual void Declare(WorkspaceLayout* /*layout*/) {}
  // Memory of the step's own tables.
  virtual size_t table_bytes() const { return 0; }

  // Does what precedes all tasks and returns their number, >= 0.
  virtual int Begin(FrameContext& frame, int level) const = 0;
  virtual void Run(FrameContext& frame, int level, int task) const = 0;
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_STEP_H_
