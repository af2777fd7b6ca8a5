// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/intensity_centroid.h"

#include <gtest/gtest.h>

#include <vector>

#include "features/algo/orientation.h"
#include "features/algo/rbrief32.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

TEST(IntensityCentroidStepTest, EveryPointGetsItsAngleHoweverDivided) {
  const TestImage image = SceneImage(500, 400, 12);
  for (const RunnerVariant& variant : AllRunnerVariants()) {
    SCOPED_TRACE(Describe(variant));
    RunnerInput input;
    input.parameters.max_features = 1500;
    StepRunner before(image, variant.target, variant.threads, input);
    before.RunUntil("rank");
    StepRunner runner(image, variant.target, variant.threads, input);
    runner.RunUntil("intensity_centroid");
    ASSERT_GT(runner.Points(0).size(), 200u);  // more than one task
    for (int level = 0; level < runner.levels(); ++level) {
      std::vector<LevelPoint> expected = before.Points(level);
      const ImageView pixels = runner.frame().Image(level);
      for (LevelPoint& point : expected) {
        ASSERT_EQ(point.angle_deg, -1.0f);
        point.angle_deg = algo::CentroidAngleDegrees(
            algo::CentroidMoments(pixels.Row(point.y) + point.x, pixels.pitch_bytes));
      }
      ASSERT_EQ(runner.Points(level), expected) << level;
    }
  }
}

TEST(IntensityCentroidStepTest, WithRBrief32TheAreaIsItsPatch) {
  const TestImage image = SceneImage(700, 600, 14);
  for (const RunnerVariant& variant : AllRunnerVariants()) {
    SCOPED_TRACE(Describe(variant));
    RunnerInput input;
    input.pipeline = (*FindPreset("orb-32"))->pipeline;
    input.pipeline.pyramid.levels = 2;
    input.parameters = {.max_features = 3000, .fast_threshold_grey = 10};
    StepRunner before(image, variant.target, variant.threads, input);
    before.RunUntil("rank");
    StepRunner runner(image, variant.target, variant.threads, input);
    runner.RunUntil("intensity_centroid");
    ASSERT_GT(runner.Points(0).size(), 192u);  // more than one task
    for (int level = 0; level < runner.levels(); ++level) {
      std::vector<LevelPoint> expected = before.Points(level);
      const ImageView pixels = runner.frame().Image(level);
      for (LevelPoint& point : expected) {
        point.angle_deg = algo::CentroidAngleDegrees(
            algo::PatchMoments(pixels.Row(point.y) + point.x, pixels.pitch_bytes));
      }
      ASSERT_EQ(runner.Points(level), expected) << level;
    }
  }
}

TEST(IntensityCentroidStepTest, APipelineWithoutOrientationHasNoSuchStep) {
  RunnerInput input;
  input.pipeline.describe = {Orientation::kNone, Descriptor::kNone};
  StepRunner runner(SceneImage(100, 100, 13), FastestTarget(), 1, input);
  for (const std::unique_ptr<Step>& step : runner.steps().steps) {
    EXPECT_NE(step->name(), "intensity_centroid");
  }
}

}  // namespace
}  // namespace orbserve::cpu
