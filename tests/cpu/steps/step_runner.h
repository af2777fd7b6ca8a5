// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Runs the steps of a plan one after another by hand, so that a test can look at the lists between
// them. A test fails if a step writes behind the scratch memory that was declared.

#ifndef ORBSERVE_TESTS_CPU_STEPS_STEP_RUNNER_H_
#define ORBSERVE_TESTS_CPU_STEPS_STEP_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cpu/frame/frame_context.h"
#include "cpu/frame/frame_lists.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/memory/thread_scratch.h"
#include "cpu/plan.h"
#include "features/backend.h"
#include "oneapi/tbb/task_arena.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {

struct RunnerInput {
  PipelineOptions pipeline;
  FrameParameters parameters;
  const testing::TestImage* mask = nullptr;
};

class StepRunner {
 public:
  // A plan for `image` whose work is divided as for `threads` threads. Ends the test program when
  // it cannot be made. The runner copies `image` and the mask.
  StepRunner(const testing::TestImage& image, const KernelTarget& target, int threads,
             const RunnerInput& input = {});

  // Runs every step of a detection up to and including the one called `last`, each level by level,
  // tasks in descending order: none may depend on another.
  void RunUntil(absl::string_view last);

  // Runs the steps that describe given keypoints on one level.
  void RunDescription(int level);

  FrameContext& frame() { return *frame_; }
  const CompiledPipeline& pipeline() const { return plan_->pipeline(); }
  const StepList& steps() const { return plan_->steps(); }
  int levels() const { return pipeline().pyramid.detecting_levels; }

  // The lists of a level, as values.
  std::vector<uint8_t> Pixels(int level);
  std::vector<uint8_t> MaskPixels(int level);
  std::vector<Corner> DetectedCorners(int level);  // of all strips, in order
  std::vector<uint64_t> DetectedKeys(int level);   // of all strips, in order
  std::vector<Corner> Survivors(int level);
  std::vector<uint64_t> SortedKeys(int level);
  std::vector<LevelPoint> Points(int level);
  std::vector<uint8_t> Descriptors(int level);

 private:
  void RunStep(const Step& step, int level);

  std::shared_ptr<FeatureBackend> backend_;  // of the input slot
  std::shared_ptr<CpuPlan> plan_;
  FrameJob job_;
  std::shared_ptr<Workspace> workspace_;
  FrameLists lists_;          // those of the plan
  size_t scratch_bytes_ = 0;  // that the steps of the plan declare
  ThreadScratch scratch_;     // so many and some more, which no step may write
  std::unique_ptr<FrameContext> frame_;
  tbb::task_arena arena_{2};  // steps need the scratch memory of a thread of an arena
};

inline bool operator==(const LevelPoint& a, const LevelPoint& b) {
  return a.x == b.x && a.y == b.y && a.response == b.response && a.angle_deg == b.angle_deg;
}

// The keypoints that a sorted list of rank keys stands for, without angles.
std::vector<LevelPoint> PointsOf(const std::vector<uint64_t>& keys);

// The reference and all SIMD targets, each divided for one thread and for five.
struct RunnerVariant {
  KernelTarget target;
  int threads;
};
std::vector<RunnerVariant> AllRunnerVariants();
std::string Describe(const RunnerVariant& variant);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_TESTS_CPU_STEPS_STEP_RUNNER_H_
