// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/sift.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "cpu/kernels/sift_extractor.h"
#include "cpu/kernels/sift_kernels.h"
#include "cpu/memory/thread_scratch.h"
#include "features/algo/sift_descriptor.h"
#include "features/pipeline/sift_rows.h"

namespace orbserve::cpu {
namespace {

// Descriptors of one task: about a millisecond.
constexpr int kSiftChunk = 256;

// Tables and images that both steps share.
struct SiftPlan {
  explicit SiftPlan(const StepSetup& setup)
      : extractor(setup.pipeline.spec.width_px, setup.pipeline.spec.height_px,
                  setup.pipeline.spec.pipeline.sift, SiftKernelsFor(setup.target),
                  SiftNormOf(setup.pipeline.spec.pipeline.describe.descriptor)) {}

  const SiftExtractor extractor;
  FrameBuffer<float> images;
};

// The scale space, its extrema with places and angles, the cut and the order. The lists in the
// workspace grow with the frames that need more.
class SiftDetect final : public Step {
 public:
  explicit SiftDetect(std::shared_ptr<SiftPlan> plan) : plan_(std::move(plan)) {}

  absl::string_view name() const override { return "sift"; }
  StageSet stages() const override {
    return {Stage::kPyramid, Stage::kDetect, Stage::kSelect, Stage::kOrient};
  }
  StepScope scope() const override { return StepScope::kFrame; }
  void Declare(WorkspaceLayout* layout) override {
    layout->Add(plan_->extractor.image_floats(), &plan_->images);
  }
  size_t table_bytes() const override { return sizeof(SiftPlan); }

  int Begin(FrameContext& frame, int /*level*/) const override {
    frame.workspace().sift.scratch.resize(static_cast<size_t>(ArenaSlots(frame.threads())));
    return 1;
  }

  void Run(FrameContext& frame, int /*level*/, int /*task*/) const override {
    plan_->extractor.Detect(frame.Image(0), nullptr, frame.cuts.answer_cut(),
                            frame.job.cancelled.get(), frame.At(plan_->images),
                            &frame.workspace().sift);
  }

 private:
  const std::shared_ptr<SiftPlan> plan_;
};

class SiftDescribe final : public Step {
 public:
  explicit SiftDescribe(std::shared_ptr<const SiftPlan> plan) : plan_(std::move(plan)) {}

  absl::string_view name() const override { return "sift_describe"; }
  StageSet stages() const override { return Stage::kDescribe; }
  StepScope scope() const override { return StepScope::kFrame; }

  int Begin(FrameContext& frame, int /*level*/) const override {
    SiftMemory& memory = frame.workspace().sift;
    plan_->extractor.PrepareDescriptors(frame.At(plan_->images), &memory);
    return frame.TasksFor(static_cast<int>(memory.tasks.size()), kSiftChunk);
  }

  void Run(FrameContext& frame, int /*level*/, int task) const override {
    SiftMemory& memory = frame.workspace().sift;
    const Part part = frame.PartOf(static_cast<int>(memory.tasks.size()), kSiftChunk, task);
    plan_->extractor.Describe(memory.tasks.data() + part.begin, part.end - part.begin,
                              &memory.scratch[ArenaSlotOfThisThread()]);
  }

 private:
  const std::shared_ptr<const SiftPlan> plan_;
};

}  // namespace

SiftSteps MakeSift(const StepSetup& setup) {
  const auto plan = std::make_shared<SiftPlan>(setup);
  SiftSteps steps;
  steps.detect = std::make_unique<SiftDetect>(plan);
  if (setup.pipeline.descriptor_bytes > 0) steps.describe = std::make_unique<SiftDescribe>(plan);
  return steps;
}

void GatherSift(const FrameContext& frame, Features* features) {
  const SiftMemory& memory = frame.workspace().sift;
  const auto kept = static_cast<int64_t>(memory.keypoints.size());
  const Cuts& cuts = frame.cuts;
  features->truncated = (cuts.wanted > cuts.capacity ? memory.found : kept) > cuts.capacity;
  features->Resize(static_cast<size_t>(std::min<int64_t>(kept, cuts.capacity)));
  SetSiftRows(memory.keypoints.data(), features->count(),
              frame.pipeline.spec.pipeline.sift.first_octave, 0, features);
  if (!features->descriptors.empty()) {
    std::memcpy(features->descriptors.data(), memory.descriptors.data(),
                features->descriptors.size());
  }
}

}  // namespace orbserve::cpu
