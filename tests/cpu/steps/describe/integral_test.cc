// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/integral.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

TEST(IntegralStepTest, EveryEntryIsTheSumOfThePixelsAboveAndLeftHoweverDivided) {
  for (const TestImage& image :
       {NoiseImage(613, 700, 52), SceneImage(1031, 401, 53), NoiseImage(89, 3000, 54)}) {
    RunnerInput input;
    input.pipeline = (*FindPreset("bfrost"))->pipeline;
    input.pipeline.pyramid.levels = 3;
    for (const RunnerVariant& variant : AllRunnerVariants()) {
      SCOPED_TRACE(Describe(variant));
      StepRunner runner(image, variant.target, variant.threads, input);
      runner.RunUntil("bfrost256");
      for (int level = 0; level < runner.levels(); ++level) {
        const ImageView pixels = runner.frame().Image(level);
        const IntegralView integral = runner.frame().Integral(level);
        std::vector<uint32_t> columns(static_cast<size_t>(pixels.width_px));
        for (int y = 0; y <= pixels.height_px; ++y) {
          uint32_t sum = 0;
          ASSERT_EQ(integral.Row(y)[0], 0u) << level << " row " << y;
          for (int x = 0; x < pixels.width_px; ++x) {
            sum += columns[static_cast<size_t>(x)];
            ASSERT_EQ(integral.Row(y)[x + 1], sum) << level << " x " << x << " y " << y;
            if (y < pixels.height_px) columns[static_cast<size_t>(x)] += pixels.Row(y)[x];
          }
        }
      }
    }
  }
}

TEST(IntegralStepTest, SeveralThreadsHaveSeveralStripsAndOneThreadHasOne) {
  RunnerInput input;
  input.pipeline = (*FindPreset("bfrost"))->pipeline;
  const TestImage image = NoiseImage(613, 700, 55);
  StepRunner one(image, FastestTarget(), 1, input);
  EXPECT_EQ(one.frame().lists.integral_strips[0].count, 1);
  StepRunner five(image, FastestTarget(), 5, input);
  EXPECT_GT(five.frame().lists.integral_strips[0].count, 2);
}

TEST(IntegralStepTest, OtherPipelinesHaveNoIntegralImages) {
  StepRunner runner(SceneImage(100, 100, 56), FastestTarget(), 1);
  EXPECT_EQ(runner.frame().lists.integral_strips[0].count, 0);
  for (const std::unique_ptr<Step>& step : runner.steps().steps) {
    EXPECT_NE(step->name(), "integral");
  }
}

}  // namespace
}  // namespace orbserve::cpu
