// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/gaussian.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "features/algo/gaussian.h"
#include "features/algo/pyramid.h"
#include "features/pipeline/reach.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

// One pixel of the smoothed level, from the definition.
uint8_t SmoothedPixel(const ImageView& image, int x, int y) {
  constexpr int kTaps = 2 * algo::kGaussianRadiusPx + 1;
  float column[kTaps];
  for (int v = 0; v < kTaps; ++v) {
    const int row = algo::Reflect101(y + v - algo::kGaussianRadiusPx, image.height_px);
    uint8_t pixels[kTaps];
    for (int u = 0; u < kTaps; ++u) {
      pixels[u] = image.Row(row)[algo::Reflect101(x + u - algo::kGaussianRadiusPx, image.width_px)];
    }
    column[v] = algo::GaussianRow(pixels);
  }
  return algo::GaussianColumn(column);
}

TEST(GaussianStepTest, AllThatDescriptorsReadIsSmoothedHoweverDivided) {
  const TestImage image = SceneImage(400, 300, 14);
  for (const RunnerVariant& variant : AllRunnerVariants()) {
    SCOPED_TRACE(Describe(variant));
    RunnerInput input;
    input.parameters.max_features = 60;
    StepRunner runner(image, variant.target, variant.threads, input);
    runner.RunUntil("gaussian");
    int checked = 0;
    for (int level = 0; level < runner.levels(); ++level) {
      const ImageView pixels = runner.frame().Image(level);
      const MutableImageView smoothed = runner.frame().At(runner.frame().lists.smoothed, level);
      for (const LevelPoint& point : runner.Points(level)) {
        // Corners and middles of what the descriptor may read.
        for (const int v : {-kRBriefSampleReachPx, 0, kRBriefSampleReachPx}) {
          for (const int u : {-kRBriefSampleReachPx, 0, kRBriefSampleReachPx}) {
            ASSERT_EQ(static_cast<int>(smoothed.Row(point.y + v)[point.x + u]),
                      static_cast<int>(SmoothedPixel(pixels, point.x + u, point.y + v)))
                << "level " << level << " x " << point.x + u << " y " << point.y + v;
            ++checked;
          }
        }
      }
    }
    EXPECT_GT(checked, 9 * 50);
  }
}

TEST(GaussianStepTest, ALevelWithoutPointsHasNoTasks) {
  const TestImage image(200, 200);  // black
  StepRunner runner(image, FastestTarget(), 5);
  runner.RunUntil("rank");
  bool found = false;
  for (const std::unique_ptr<Step>& step : runner.steps().steps) {
    if (step->name() != "gaussian") continue;
    found = true;
    EXPECT_EQ(step->Begin(runner.frame(), 0), 0);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace orbserve::cpu
