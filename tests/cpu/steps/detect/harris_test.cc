// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/detect/harris.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "features/algo/corner.h"
#include "features/algo/order.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

TEST(HarrisStepTest, EverySurvivorGetsTheKeyOfItsResponseHoweverDivided) {
  const TestImage image = SceneImage(500, 400, 8);
  for (const RunnerVariant& variant : AllRunnerVariants()) {
    SCOPED_TRACE(Describe(variant));
    RunnerInput input;
    input.parameters.max_features = 1500;
    StepRunner runner(image, variant.target, variant.threads, input);
    runner.RunUntil("harris");
    ASSERT_GT(runner.Survivors(0).size(), 200u);  // more than one task
    for (int level = 0; level < runner.levels(); ++level) {
      std::vector<uint64_t> expected;
      const ImageView pixels = runner.frame().Image(level);
      for (const Corner& c : runner.Survivors(level)) {
        const float response =
            algo::HarrisResponse(algo::SumGradients(pixels.Row(c.y) + c.x, pixels.pitch_bytes));
        expected.push_back(algo::RankKey(response, c.x, c.y));
      }
      std::sort(expected.begin(), expected.end());
      ASSERT_EQ(runner.SortedKeys(level), expected) << level;
    }
  }
}

TEST(HarrisStepTest, ALevelWithoutSurvivorsHasNoTasks) {
  const TestImage image(100, 100);  // black
  StepRunner runner(image, FastestTarget(), 5);
  runner.RunUntil("survivors");
  for (const std::unique_ptr<Step>& step : runner.steps().steps) {
    if (step->name() == "harris") {
      EXPECT_EQ(step->Begin(runner.frame(), 0), 0);
    }
  }
}

}  // namespace
}  // namespace orbserve::cpu
