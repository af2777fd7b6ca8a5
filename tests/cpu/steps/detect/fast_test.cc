// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/detect/fast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/cpu/steps/detect/fast_oracle.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::RandomMask;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;
using ::testing::ElementsAre;

TEST(FastStepTest, CornersAreThoseOfTheReferenceHoweverDivided) {
  const TestImage image = SceneImage(700, 480, 4);
  const TestImage mask = RandomMask(700, 480, 5);
  RunnerInput input;
  input.pipeline.detect.fast_arc_length = 10;
  input.parameters.fast_threshold_grey = 8;
  for (const TestImage* const m : {static_cast<const TestImage*>(nullptr), &mask}) {
    input.mask = m;
    StepRunner expected(image, ReferenceTarget(), 1, input);
    expected.RunUntil("fast");
    ASSERT_GT(expected.DetectedCorners(0).size(), 100u);
    for (const RunnerVariant& variant : AllRunnerVariants()) {
      SCOPED_TRACE(Describe(variant));
      StepRunner actual(image, variant.target, variant.threads, input);
      actual.RunUntil("fast");
      for (int level = 0; level < expected.levels(); ++level) {
        // Strips follow each other by rows: their order is that of the whole level.
        ASSERT_EQ(expected.DetectedCorners(level), actual.DetectedCorners(level)) << level;
      }
    }
  }
}

RunnerInput InputOf(Score score, Selection selection, int arc_length, int window_px) {
  RunnerInput input;
  PipelineOptions& pipeline = input.pipeline;
  pipeline.pyramid = {.levels = 2, .scale_factor = 2.0f};
  pipeline.detect.score = score;
  pipeline.detect.fast_arc_length = arc_length;
  pipeline.suppress.window_px = window_px;
  pipeline.select.selection = selection;
  pipeline.describe = {Orientation::kNone, Descriptor::kNone};
  pipeline.select.border_px = BorderRange(pipeline).low;
  input.parameters.fast_threshold_grey = 6;
  return input;
}

TEST(FastStepTest, CornersOfEveryWindowAreThoseOfTheOracle) {
  size_t corners = 0;
  for (const DetectionFrame& frame : DetectionFrames()) {
    int arc_length = 9;
    for (const int window_px : {3, 5, 7, 9}) {
      RunnerInput input = InputOf(Score::kFast, Selection::kBest, arc_length++, window_px);
      input.mask = frame.mask;
      std::vector<std::vector<Corner>> expected;
      for (const RunnerVariant& variant : AllRunnerVariants()) {
        SCOPED_TRACE(frame.name + ", window " + std::to_string(window_px) + ", " +
                     Describe(variant));
        StepRunner runner(frame.image, variant.target, variant.threads, input);
        runner.RunUntil("fast");
        for (int level = 0; level < runner.levels(); ++level) {
          if (static_cast<int>(expected.size()) == level) {
            expected.emplace_back();
            for (const ExpectedCorner& c : ExpectedCorners(runner, level)) {
              expected.back().push_back({static_cast<int16_t>(c.x), static_cast<int16_t>(c.y),
                                         static_cast<int16_t>(c.largest_threshold)});
            }
            corners += expected.back().size();
          }
          ASSERT_EQ(runner.DetectedCorners(level), expected[static_cast<size_t>(level)]) << level;
        }
      }
    }
  }
  EXPECT_GT(corners, 1'000u);
  printf("%zu corners compared\n", corners);
}

TEST(FastStepTest, KeysHoldTheResponsesOfTheCornersThatStay) {
  size_t keys = 0;
  for (const DetectionFrame& frame : DetectionFrames()) {
    for (const Score score : {Score::kFast, Score::kHarris}) {
      const RunnerInput input = InputOf(score, Selection::kQuadtree, 9, 5);
      if (!input.pipeline.Validate().ok()) GTEST_SKIP() << input.pipeline.Validate();
      keys += ExpectTheOraclesKeys(frame, input, "fast");
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(keys, 1'000u);
  printf("%zu keys compared\n", keys);
}

TEST(FastStepTest, ABrightDotIsACornerWithItsScoreUnlessMasked) {
  TestImage image(64, 64);
  image.At(32, 31) = 200;
  TestImage mask(64, 64);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 64; ++x) mask.At(x, y) = 255;
  }
  mask.At(32, 31) = 0;
  RunnerInput input;
  StepRunner runner(image, FastestTarget(), 1, input);
  runner.RunUntil("fast");
  // All 16 ring pixels are darker by 200: still a corner at a threshold of 199.
  EXPECT_THAT(runner.DetectedCorners(0), ElementsAre(Corner{32, 31, 199}));
  input.mask = &mask;
  StepRunner masked(image, FastestTarget(), 1, input);
  masked.RunUntil("fast");
  EXPECT_TRUE(masked.DetectedCorners(0).empty());
}

}  // namespace
}  // namespace orbserve::cpu
