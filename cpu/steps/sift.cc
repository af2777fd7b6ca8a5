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
// Extrema of one task, most of which become no features: half a millisecond.
constexpr int kSiftExtremumChunk = 256;

// Tables and images that all steps share.
struct SiftPlan {
  explicit SiftPlan(const StepSetup& setup)
      : extractor(setup.pipeline.spec.width_px, setup.pipeline.spec.height_px,
                  setup.pipeline.spec.pipeline.sift, SiftKernelsFor(setup.target),
                  SiftNormOf(setup.pipeline.spec.pipeline.describe.descriptor),
                  /*overlaps=*/setup.threads > 1) {}  // as cpu/compile.cc has it

  const SiftExtractor extractor;
  FrameBuffer<float> images;
};

// A step of the search for features. The lists in the workspace grow with the frames that need
// more.
class SiftStep : public Step {
 public:
  explicit SiftStep(std::shared_ptr<SiftPlan> plan) : plan_(std::move(plan)) {}

  StageSet stages() const override {
    return {Stage::kPyramid, Stage::kDetect, Stage::kSelect, Stage::kOrient};
  }
  StepScope scope() const override { return StepScope::kFrame; }

 protected:
  const SiftExtractor& extractor() const { return plan_->extractor; }
  float* Images(const FrameContext& frame) const { return frame.At(plan_->images); }
  static SiftMemory& MemoryOf(const FrameContext& frame) { return frame.workspace().sift; }
  static int ThisThread() { return static_cast<int>(ArenaSlotOfThisThread()); }
  // Tasks that make the image of the bands.
  static int BandTasks(const FrameContext& frame) {
    return std::min(frame.threads(), MemoryOf(frame).bands.count());
  }

  const std::shared_ptr<SiftPlan> plan_;
};

class SiftFirstImage final : public SiftStep {
 public:
  using SiftStep::SiftStep;

  absl::string_view name() const override { return "sift_first_image"; }
  void Declare(WorkspaceLayout* layout) override {
    layout->Add(extractor().image_floats(), &plan_->images);
  }
  size_t table_bytes() const override { return sizeof(SiftPlan); }

  int Begin(FrameContext& frame, int /*level*/) const override {
    SiftMemory& memory = MemoryOf(frame);
    memory.scratch.resize(static_cast<size_t>(ArenaSlots(frame.threads())));
    extractor().Begin(frame.threads(), &memory);
    return extractor().octaves() > 0 ? BandTasks(frame) : 0;
  }
  void Run(FrameContext& frame, int /*level*/, int /*task*/) const override {
    extractor().MakeFirstImage(frame.Image(0), Images(frame), &MemoryOf(frame), ThisThread());
  }
};

class SiftOctave final : public SiftStep {
 public:
  SiftOctave(std::shared_ptr<SiftPlan> plan, int octave)
      : SiftStep(std::move(plan)), octave_(octave) {}

  absl::string_view name() const override { return "sift_octave"; }

  int Begin(FrameContext& frame, int /*level*/) const override {
    if (octave_ >= extractor().octaves()) return 0;
    extractor().BeginOctave(octave_, frame.threads(), Images(frame), &MemoryOf(frame));
    return BandTasks(frame);
  }
  void Run(FrameContext& frame, int /*level*/, int /*task*/) const override {
    extractor().MakeOctave(octave_, Images(frame), &MemoryOf(frame), ThisThread());
  }

 private:
  const int octave_;
};

// The features of an octave that is ready.
class SiftFeatures final : public SiftStep {
 public:
  SiftFeatures(std::shared_ptr<SiftPlan> plan, int octave)
      : SiftStep(std::move(plan)), octave_(octave) {}

  absl::string_view name() const override { return "sift_features"; }

  int Begin(FrameContext& frame, int /*level*/) const override {
    SiftMemory& memory = MemoryOf(frame);
    extractor().GatherCandidates(&memory);
    return frame.TasksFor(static_cast<int>(memory.candidates.size()), kSiftExtremumChunk);
  }
  void Run(FrameContext& frame, int /*level*/, int task) const override {
    SiftMemory& memory = MemoryOf(frame);
    const Part part =
        frame.PartOf(static_cast<int>(memory.candidates.size()), kSiftExtremumChunk, task);
    extractor().OrientCandidates(octave_, part.begin, part.end, Images(frame), &memory,
                                 ThisThread());
  }

 private:
  const int octave_;
};

class SiftSmallOctaves final : public SiftStep {
 public:
  using SiftStep::SiftStep;

  absl::string_view name() const override { return "sift_small_octaves"; }

  int Begin(FrameContext& /*frame*/, int /*level*/) const override {
    return extractor().octaves() > kSiftSharedOctaves ? 1 : 0;
  }
  void Run(FrameContext& frame, int /*level*/, int /*task*/) const override {
    extractor().MakeOctavesFrom(kSiftSharedOctaves, frame.job.cancelled.get(), Images(frame),
                                &MemoryOf(frame), ThisThread());
  }
};

class SiftOrder final : public SiftStep {
 public:
  using SiftStep::SiftStep;

  absl::string_view name() const override { return "sift_order"; }

  int Begin(FrameContext& /*frame*/, int /*level*/) const override { return 1; }
  void Run(FrameContext& frame, int /*level*/, int /*task*/) const override {
    extractor().OrderFeatures(nullptr, frame.cuts.answer_cut(), &MemoryOf(frame));
  }
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
  steps.first_image = std::make_unique<SiftFirstImage>(plan);
  for (int octave = 0; octave < kSiftSharedOctaves; ++octave) {
    const auto place = static_cast<size_t>(octave);
    steps.octaves[place] = std::make_unique<SiftOctave>(plan, octave);
    steps.features[place] = std::make_unique<SiftFeatures>(plan, octave);
  }
  steps.small_octaves = std::make_unique<SiftSmallOctaves>(plan);
  steps.order = std::make_unique<SiftOrder>(plan);
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
