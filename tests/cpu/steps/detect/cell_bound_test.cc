// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/detect/cell_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "features/algo/cell.h"
#include "features/algo/order.h"
#include "features/options.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::TestImage;

RunnerInput VioInput(int max_features) {
  RunnerInput input;
  input.pipeline = (*FindPreset("vio"))->pipeline;
  input.parameters = (*FindPreset("vio"))->frame;
  input.parameters.max_features = max_features;
  return input;
}

// Responses of the winners of the cells on levels `first` and above, in descending order.
std::vector<float> Winners(StepRunner& runner, int first) {
  const SuppressOptions& cells = runner.pipeline().spec.pipeline.suppress;
  const LevelGeometry& level_zero = runner.pipeline().level(0);
  const algo::CellGrid grid = algo::CellGridOf(level_zero.width_px, level_zero.height_px,
                                               cells.cell_width_px, cells.cell_height_px);
  std::map<int, float> best;
  for (int level = first; level < runner.levels(); ++level) {
    for (const uint64_t key : runner.DetectedKeys(level)) {
      float& winner = best[algo::CellOf(grid, algo::RankKeyX(key), algo::RankKeyY(key),
                                        runner.pipeline().level(level).scale)];
      winner = std::max(winner, algo::RankKeyResponse(key));
    }
  }
  std::vector<float> responses;
  for (const auto& [cell, response] : best) responses.push_back(response);
  std::sort(responses.begin(), responses.end(), std::greater<>());
  return responses;
}

TEST(CellBoundStepTest, IsTheLastOfTheWantedWinnersOfOtherLevels) {
  const TestImage image = testing::SceneImage(640, 480, 61);
  for (const RunnerVariant& variant : AllRunnerVariants()) {
    SCOPED_TRACE(Describe(variant));
    for (const int wanted : {1, 20, 100, 400}) {
      StepRunner runner(image, variant.target, variant.threads, VioInput(wanted));
      runner.RunUntil("cell_bound");
      const std::vector<float> winners = Winners(runner, 1);
      ASSERT_GT(winners.size(), 100u);
      const auto last = static_cast<size_t>(wanted) - 1;
      EXPECT_EQ(*runner.frame().At(runner.frame().lists.least_response),
                last < winners.size() ? winners[last] : 0.0f);
    }
    RunnerInput second_threshold = VioInput(20);
    second_threshold.parameters.fast_threshold_low_grey =
        second_threshold.parameters.fast_threshold_grey - 1;
    StepRunner runner(image, variant.target, variant.threads, second_threshold);
    runner.RunUntil("cell_bound");
    EXPECT_EQ(*runner.frame().At(runner.frame().lists.least_response), 0.0f);
  }
}

// With so many features wanted that there is no bound, all corners of level 0 are found: the best
// of them must be the answer under a bound, too.
TEST(CellBoundStepTest, CornersBelowTheBoundAloneAreLeftOut) {
  const TestImage mask = testing::RandomMask(640, 480, 62);
  for (const TestImage& image :
       {testing::SceneImage(640, 480, 63), testing::NoiseImage(640, 480, 64)}) {
    for (const TestImage* const of_frame : {static_cast<const TestImage*>(nullptr), &mask}) {
      for (const RunnerVariant& variant : AllRunnerVariants()) {
        SCOPED_TRACE(Describe(variant));
        RunnerInput input = VioInput(400);
        input.mask = of_frame;
        StepRunner whole(image, variant.target, variant.threads, input);
        whole.RunUntil("survivors");
        input.parameters.max_features = 10;
        StepRunner bounded(image, variant.target, variant.threads, input);
        bounded.RunUntil("survivors");
        const float bound = *bounded.frame().At(bounded.frame().lists.least_response);
        ASSERT_GT(bound, 0.0f);
        std::vector<uint64_t> expected = whole.SortedKeys(0);
        const size_t all = expected.size();
        expected.erase(
            std::remove_if(expected.begin(), expected.end(),
                           [bound](uint64_t key) { return algo::RankKeyResponse(key) < bound; }),
            expected.end());
        EXPECT_LT(expected.size(), all);
        EXPECT_EQ(bounded.SortedKeys(0), expected);
        EXPECT_EQ(bounded.SortedKeys(1), whole.SortedKeys(1));
        bounded.RunUntil("cell");
        EXPECT_GE(bounded.frame().level(0).survivors + bounded.frame().level(1).survivors, 10);
      }
    }
  }
}

}  // namespace
}  // namespace orbserve::cpu
