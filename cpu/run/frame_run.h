// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// One frame's way through the steps of its plan.
//
// clang-format off
//   level 0 ─┬─▶ fast ─▶ survivors ─▶ harris ─▶ rank ─┬─▶ intensity_centroid ─┬─▶ rbrief256 ─▶ gather
//            │   strips               chunks          └─▶ gaussian, tiles ────┘   chunks
//         pyramid, on the frame's thread
//            │
//   level 1 ─┼─▶ ...   each level by itself, as soon as its pixels exist
//            │
//   level 2 ─┴─▶ ...
// clang-format on
//
// The steps of a plan are divided into phases (cpu/compile.h). The last task of a phase begins the
// next one, so levels never wait for each other, except before a phase whose scope is the frame.
// A cancelled frame begins no further phase.
// Tasks of one frame fill all threads; with several frames a thread takes whole frames first and
// helps others when there are no more.

#ifndef ORBSERVE_CPU_RUN_FRAME_RUN_H_
#define ORBSERVE_CPU_RUN_FRAME_RUN_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "cpu/frame/frame_context.h"
#include "cpu/frame/workspace.h"
#include "cpu/plan.h"
#include "cpu/run/task_group.h"
#include "features/backend.h"
#include "features/pipeline/stage.h"
#include "features/types.h"

namespace orbserve::cpu {

class FrameRun {
 public:
  // All must outlive the run. The calling thread is in the arena of the plan's threads. `kept`,
  // which may be null, has the input of `job`; its other levels are made, too.
  FrameRun(const CpuPlan& plan, Workspace& workspace, const FrameJob& job,
           const FramePyramid* kept);

  // Fills `features`, which keeps its capacity, and `times` with the processor time of each stage.
  // INVALID_ARGUMENT for parameters or keypoints out of range. CANCELLED, with `features`
  // unspecified, for a frame that was cancelled before its last phase ended.
  absl::Status Run(Features* features, StageTimes* times);

 private:
  // Time of one thread on its way through steps.
  class Clock;

  absl::Status Detect(Features* features);
  absl::Status Describe(const GivenKeypoints& given, Features* features);

  // Runs the pyramid and `phases` over the first `levels` levels, makes the other levels of the
  // pyramid that is kept, and waits for the end.
  void RunPhases(const std::vector<Phase>& phases, int levels);
  void MakeLevel(int level, Clock& clock);
  // Makes the levels of the pyramid that is kept, beyond the first `levels`.
  void MakeOtherLevels(int levels, Clock& clock);

  // Goes through the phases of a level (or of the frame, for kAllLevels) from `phase` on, as far as
  // this thread gets: it stops where other threads have tasks left, and before a phase of the other
  // scope. With `fork_all` the thread runs no task of `phase` itself.
  void Advance(int level, size_t phase, Clock& clock, bool fork_all = false);
  // Counts a level that has come to `phase`, one of the frame; the last begins it.
  void Join(size_t phase, Clock& clock);
  // Begins `phase` on all levels after a phase of the frame.
  void Spread(size_t phase, Clock& clock);
  // Hands a task to any thread, which then goes on with the next phase if it was the last.
  void Fork(int step, int level, int task, size_t phase);
  // True for the last task of the running phase of `level`.
  bool EndTask(int level);

  int Begin(int step, int level, Clock& clock);
  void RunTask(int step, int level, int task, Clock& clock);
  void ReportTimes(StageTimes* times) const;

  bool IsCancelled() const {
    const std::atomic<bool>* const cancelled = frame_.job.cancelled.get();
    return cancelled != nullptr && cancelled->load(std::memory_order_relaxed);
  }
  StepScope ScopeOf(size_t phase) const { return (*phases_)[phase].scope; }
  std::atomic<int>& Pending(int level) {
    return level == kAllLevels ? workspace_.pending_tasks : frame_.level(level).pending;
  }

  const CpuPlan& plan_;
  const std::vector<std::unique_ptr<Step>>& steps_;
  Workspace& workspace_;
  FrameContext frame_;
  const bool serial_;
  const std::vector<Phase>* phases_ = nullptr;
  int levels_ = 0;
  TaskGroup* tasks_ = nullptr;  // null when serial
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_RUN_FRAME_RUN_H_
