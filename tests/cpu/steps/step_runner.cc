// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cpu/steps/step_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cpu/compile.h"
#include "cpu/cpu_backend.h"
#include "cpu/memory/memory_count.h"
#include "cpu/memory/workspace_layout.h"
#include "features/algo/order.h"
#include "tests/support/backend_runner.h"

namespace orbserve::cpu {
namespace {

// Bytes behind the scratch memory of a thread that are watched.
constexpr size_t kWatchedBytes = 16384;
constexpr uint8_t kWatchedByte = 0xA5;

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "StepRunner: %s\n", value.status().ToString().c_str());
    std::abort();
  }
  return *std::move(value);
}

std::vector<uint8_t> PixelsOf(const ImageView& image) {
  std::vector<uint8_t> pixels;
  for (int y = 0; y < image.height_px; ++y) {
    pixels.insert(pixels.end(), image.Row(y), image.Row(y) + image.width_px);
  }
  return pixels;
}

}  // namespace

StepRunner::StepRunner(const testing::TestImage& image, const KernelTarget& target, int threads,
                       const RunnerInput& input)
    : backend_(Must(CreateCpuBackend({.threads = 1}))) {
  testing::FrameInput frame_input = {.image = image.view(), .parameters = input.parameters};
  if (input.mask != nullptr) frame_input.mask = input.mask->view();
  job_ = Must(testing::MakeJob(*backend_, frame_input));
  plan_ =
      Must(CpuPlan::Create({image.width_px(), image.height_px(), input.pipeline}, target, threads,
                           /*memory=*/{}));
  workspace_ = plan_->LeaseWorkspace(/*has_mask=*/true);
  if (workspace_ == nullptr) std::abort();
  // Buffers that are declared again in the same order have the same places.
  WorkspaceLayout layout;
  lists_ = FrameLists::Declare(pipeline(), threads, &layout);
  const StepList declared = CompileSteps({pipeline(), target, threads});
  for (const std::unique_ptr<Step>& step : declared.steps) step->Declare(&layout);
  scratch_bytes_ = layout.scratch_bytes();
  if (!scratch_.Allocate(scratch_bytes_ + kWatchedBytes, threads)) std::abort();
  frame_ = std::make_unique<FrameContext>(pipeline(), lists_, scratch_, threads, *workspace_, job_,
                                          /*kept=*/nullptr);
  frame_->cuts = pipeline().CutsFor(input.parameters);
  for (int l = 0; l < levels(); ++l) {
    Workspace::Level& level = frame_->level(l);
    level.survivors = 0;
    level.ranked = 0;
    level.suppression_passes = 0;
    level.points = {};
    level.descriptors = frame_->At(frame_->lists.descriptors, l);
  }
}

void StepRunner::RunStep(const Step& step, int level) {
  arena_.execute([&] {
    uint8_t* const watched = scratch_.OfThisThread() + scratch_bytes_;
    std::memset(watched, kWatchedByte, kWatchedBytes);
    for (int task = step.Begin(*frame_, level) - 1; task >= 0; --task) {
      step.Run(*frame_, level, task);
    }
    const auto is_kept = [](uint8_t byte) { return byte == kWatchedByte; };
    EXPECT_TRUE(std::all_of(watched, watched + kWatchedBytes, is_kept))
        << step.name() << " writes behind its scratch memory on level " << level;
  });
}

void StepRunner::RunUntil(absl::string_view last) {
  const auto step_at = [this](int i) -> const Step& {
    return *steps().steps[static_cast<size_t>(i)];
  };
  for (int level = 1; level < levels(); ++level) RunStep(step_at(steps().pyramid), level);
  if (last == "pyramid") return;
  for (const Phase& phase : steps().detection) {
    bool found = false;
    for (const int i : phase.steps) {
      if (phase.scope == StepScope::kFrame) {
        RunStep(step_at(i), kAllLevels);
      } else {
        for (int level = 0; level < levels(); ++level) RunStep(step_at(i), level);
      }
      found = found || step_at(i).name() == last;
    }
    if (found) return;
  }
  std::fprintf(stderr, "StepRunner: the pipeline has no step %s\n", std::string(last).c_str());
  std::abort();
}

void StepRunner::RunDescription(int level) {
  for (const Phase& phase : steps().description) {
    for (const int i : phase.steps) RunStep(*steps().steps[static_cast<size_t>(i)], level);
  }
}

std::vector<uint8_t> StepRunner::Pixels(int level) { return PixelsOf(frame_->Image(level)); }

std::vector<uint8_t> StepRunner::MaskPixels(int level) { return PixelsOf(frame_->Mask(level)); }

std::vector<Corner> StepRunner::DetectedCorners(int level) {
  std::vector<Corner> all;
  const Strips& strips = frame_->lists.strips[static_cast<size_t>(level)];
  for (int strip = 0; strip < strips.count; ++strip) {
    const Corner* const first = frame_->At(frame_->lists.corners, level) + strip * strips.capacity;
    all.insert(all.end(), first, first + frame_->At(frame_->lists.strip_corners, level)[strip]);
  }
  return all;
}

std::vector<uint64_t> StepRunner::DetectedKeys(int level) {
  std::vector<uint64_t> all;
  const Strips& strips = frame_->lists.strips[static_cast<size_t>(level)];
  for (int strip = 0; strip < strips.count; ++strip) {
    const uint64_t* const first = frame_->At(frame_->lists.keys, level) + strip * strips.capacity;
    all.insert(all.end(), first, first + frame_->At(frame_->lists.strip_corners, level)[strip]);
  }
  return all;
}

std::vector<Corner> StepRunner::Survivors(int level) {
  const Corner* const first = frame_->At(frame_->lists.corners, level);
  return {first, first + frame_->level(level).survivors};
}

std::vector<uint64_t> StepRunner::SortedKeys(int level) {
  const uint64_t* const first = frame_->At(frame_->lists.keys, level);
  std::vector<uint64_t> keys(first, first + frame_->level(level).survivors);
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<LevelPoint> StepRunner::Points(int level) {
  const absl::Span<const LevelPoint> points = frame_->level(level).points;
  return {points.begin(), points.end()};
}

std::vector<uint8_t> StepRunner::Descriptors(int level) {
  const uint8_t* const first = frame_->level(level).descriptors;
  return {first, first + frame_->level(level).points.size() *
                             static_cast<size_t>(pipeline().descriptor_bytes)};
}

std::vector<LevelPoint> PointsOf(const std::vector<uint64_t>& keys) {
  std::vector<LevelPoint> points;
  for (const uint64_t key : keys) {
    points.push_back({static_cast<int16_t>(algo::RankKeyX(key)),
                      static_cast<int16_t>(algo::RankKeyY(key)), algo::RankKeyResponse(key),
                      -1.0f});
  }
  return points;
}

std::vector<RunnerVariant> AllRunnerVariants() {
  std::vector<RunnerVariant> all;
  for (const int threads : {1, 5}) {
    all.push_back({ReferenceTarget(), threads});
    for (const KernelTarget& target : SimdTargets()) all.push_back({target, threads});
  }
  return all;
}

std::string Describe(const RunnerVariant& variant) {
  return absl::StrCat(variant.target.name, " divided for ", variant.threads);
}

}  // namespace orbserve::cpu
