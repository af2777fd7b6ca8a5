// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/suppress/low_threshold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "cpu/memory/memory_count.h"
#include "cpu/memory/thread_scratch.h"
#include "features/algo/corner.h"
#include "features/algo/fast.h"
#include "features/algo/order.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

// A scene whose left half has little contrast.
TestImage HalfFaintImage(int width, int height) {
  TestImage image = SceneImage(width, height, 51);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width / 2; ++x) {
      image.At(x, y) = static_cast<uint8_t>(100 + image.At(x, y) / 9);
    }
  }
  return image;
}

// The corners that stay.
std::vector<Corner> Strong(const std::vector<Corner>& corners, int threshold, int border) {
  const auto cell = [border](const Corner& c) {
    return std::pair{(c.x - border) / 32, (c.y - border) / 32};
  };
  std::set<std::pair<int, int>> strong;
  for (const Corner& c : corners) {
    if (c.score >= threshold) strong.insert(cell(c));
  }
  std::vector<Corner> kept;
  for (const Corner& c : corners) {
    if (c.score >= threshold || strong.count(cell(c)) == 0) kept.push_back(c);
  }
  return kept;
}

TEST(LowThresholdStepTest, DropsWeakCornersWhereACellHasAStrongOne) {
  const TestImage image = HalfFaintImage(420, 330);
  const TestImage mask = testing::RandomMask(420, 330, 52);
  for (const bool masked : {false, true}) {
    for (const RunnerVariant& variant : AllRunnerVariants()) {
      SCOPED_TRACE(Describe(variant));
      RunnerInput input;
      input.pipeline.pyramid.levels = 3;
      input.parameters.fast_threshold_grey = 24;
      input.parameters.fast_threshold_low_grey = 5;
      if (masked) input.mask = &mask;
      StepRunner before(image, variant.target, variant.threads, input);
      before.RunUntil("fast");
      StepRunner runner(image, variant.target, variant.threads, input);
      runner.RunUntil("low_threshold");
      bool dropped = false;
      bool weak_stay = false;
      for (int level = 0; level < runner.levels(); ++level) {
        const std::vector<Corner> all = before.DetectedCorners(level);
        const std::vector<Corner> expected = Strong(all, 24, 31);
        ASSERT_EQ(runner.DetectedCorners(level), expected) << level;
        dropped = dropped || expected.size() < all.size();
        for (const Corner& c : expected) weak_stay = weak_stay || c.score < 24;
      }
      EXPECT_TRUE(dropped);
      EXPECT_TRUE(weak_stay);
    }
  }
}

TEST(LowThresholdStepTest, KeyedCornersAreComparedByTheirFastScore) {
  const TestImage image = HalfFaintImage(420, 330);
  for (const Score score : {Score::kFast, Score::kHarris}) {
    for (const RunnerVariant& variant : AllRunnerVariants()) {
      SCOPED_TRACE(Describe(variant));
      RunnerInput input;
      input.pipeline.detect.score = score;
      input.pipeline.select.selection = Selection::kQuadtree;
      input.pipeline.select.border_px = 22;
      input.parameters.fast_threshold_grey = 24;
      input.parameters.fast_threshold_low_grey = 5;
      StepRunner before(image, variant.target, variant.threads, input);
      before.RunUntil("fast");
      StepRunner runner(image, variant.target, variant.threads, input);
      runner.RunUntil("survivors");
      for (int level = 0; level < runner.levels(); ++level) {
        std::vector<uint64_t> expected;
        const ImageView pixels = runner.frame().Image(level);
        for (const Corner& c : Strong(before.DetectedCorners(level), 24, 22)) {
          const float response = score == Score::kHarris
                                     ? algo::HarrisResponse(algo::SumGradients(
                                           pixels.Row(c.y) + c.x, pixels.pitch_bytes))
                                     : c.score;
          expected.push_back(algo::RankKey(response, c.x, c.y));
        }
        std::sort(expected.begin(), expected.end());
        ASSERT_EQ(runner.SortedKeys(level), expected) << level;
      }
    }
  }
}

TEST(LowThresholdStepTest, AFrameWithoutASecondThresholdHasNoTasks) {
  const TestImage image = NoiseImage(200, 150, 53);
  for (const int low : {0, 20}) {
    RunnerInput input;
    input.parameters.fast_threshold_low_grey = low;
    StepRunner runner(image, FastestTarget(), 3, input);
    runner.RunUntil("fast");
    const auto step = MakeLowThreshold({runner.pipeline(), FastestTarget(), 3});
    for (int level = 0; level < runner.levels(); ++level) {
      EXPECT_EQ(step->Begin(runner.frame(), level), 0) << low;
    }
  }
}

// The map of a level, made by hand.
TEST(LowThresholdStepTest, DropsWeakCornersFromAResponseMap) {
  constexpr int kWidth = 300;
  constexpr int kHeight = 210;
  constexpr int kOddBorder = 7;
  const TestImage image = HalfFaintImage(kWidth, kHeight);
  RunnerInput input;
  input.parameters.fast_threshold_grey = 24;
  input.parameters.fast_threshold_low_grey = 5;
  for (const Score score : {Score::kFast, Score::kHarris}) {
    PlanSpec spec = {kWidth, kHeight, {}};
    spec.pipeline.pyramid.levels = 1;
    spec.pipeline.detect.score = score;
    spec.pipeline.describe = {Orientation::kNone, Descriptor::kNone};
    spec.pipeline.select.border_px = kOddBorder;
    CompiledPipeline pipeline = *CompilePipeline(spec);
    pipeline.spec.pipeline.suppress.suppression = Suppression::kMinimumDistance;
    WorkspaceLayout layout;
    const FrameLists lists = FrameLists::Declare(pipeline, 1, &layout);
    const auto step = MakeLowThreshold({pipeline, FastestTarget(), 1});
    step->Declare(&layout);
    Workspace workspace(2, std::make_shared<MemoryCount>());
    ASSERT_TRUE(workspace.memory.Allocate(layout.bytes()));
    const ThreadScratch scratch;
    StepRunner source(image, FastestTarget(), 1, input);  // of a job with the image
    const FrameContext frame_of_map(pipeline, lists, scratch, 1, workspace, source.frame().job,
                                    /*kept=*/nullptr);
    FrameContext frame = frame_of_map;

    const ImageView pixels = frame.Image(0);
    uint32_t* const map = frame.At(lists.responses, 0);
    const ptrdiff_t pitch = lists.response_pitch[0];
    std::fill_n(map, pitch * kHeight, 0u);
    std::vector<Corner> candidates;
    for (int y = kOddBorder; y < kHeight - kOddBorder; ++y) {
      for (int x = kOddBorder; x < kWidth - kOddBorder; ++x) {
        uint8_t ring[algo::kFastRingPixels];
        algo::LoadFastRing(pixels.Row(y) + x, pixels.pitch_bytes, ring);
        const int fast = algo::FastScore(ring, pixels.Row(y)[x], 9);
        if (fast < 5) continue;
        candidates.push_back(
            {static_cast<int16_t>(x), static_cast<int16_t>(y), static_cast<int16_t>(fast)});
        map[y * pitch + x] = algo::OrderedBits(
            score == Score::kHarris
                ? algo::HarrisResponse(algo::SumGradients(pixels.Row(y) + x, pixels.pitch_bytes))
                : static_cast<float>(fast));
      }
    }
    std::vector<uint32_t> expected(map, map + pitch * kHeight);
    const std::vector<Corner> strong = Strong(candidates, 24, kOddBorder);
    ASSERT_LT(strong.size(), candidates.size());
    for (const Corner& c : candidates) {
      if (std::find(strong.begin(), strong.end(), c) == strong.end()) {
        expected[static_cast<size_t>(c.y * pitch + c.x)] = 0;
      }
    }
    const int tasks = step->Begin(frame, 0);
    ASSERT_EQ(tasks, (kHeight - 2 * kOddBorder + 31) / 32);
    for (int task = tasks - 1; task >= 0; --task) step->Run(frame, 0, task);
    EXPECT_EQ(std::vector<uint32_t>(map, map + pitch * kHeight), expected);
  }
}

}  // namespace
}  // namespace orbserve::cpu
