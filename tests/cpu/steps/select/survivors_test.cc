// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/select/survivors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "features/algo/order.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

// Oracle: the corners whose score is at least that of number `wanted` in order, in their places.
std::vector<Corner> BestByScore(const std::vector<Corner>& corners, size_t wanted) {
  if (corners.size() <= wanted) return corners;
  std::vector<int> scores;
  for (const Corner& corner : corners) scores.push_back(corner.score);
  std::sort(scores.begin(), scores.end(), std::greater<>());
  std::vector<Corner> kept;
  for (const Corner& corner : corners) {
    if (wanted > 0 && corner.score >= scores[wanted - 1]) kept.push_back(corner);
  }
  return kept;
}

TEST(SurvivorsStepTest, KeepsTheBestScoresOfEachLevelAndTheirOrder) {
  const TestImage image = SceneImage(500, 400, 6);
  for (const Score score : {Score::kHarris, Score::kFast}) {
    for (const RunnerVariant& variant : AllRunnerVariants()) {
      SCOPED_TRACE(Describe(variant));
      RunnerInput input;
      input.pipeline.detect.score = score;
      input.parameters.max_features = 200;
      StepRunner detected(image, variant.target, variant.threads, input);
      detected.RunUntil("fast");
      StepRunner runner(image, variant.target, variant.threads, input);
      runner.RunUntil("survivors");
      bool cut = false;
      for (int level = 0; level < runner.levels(); ++level) {
        const auto wanted =
            static_cast<size_t>(runner.frame().cuts.by_score[static_cast<size_t>(level)]);
        const std::vector<Corner> corners = detected.DetectedCorners(level);
        const std::vector<Corner> survivors = runner.Survivors(level);
        ASSERT_EQ(survivors, BestByScore(corners, wanted)) << level;
        cut = cut || survivors.size() < corners.size();
        if (score != Score::kFast) continue;
        std::vector<uint64_t> keys;
        for (const Corner& c : survivors) keys.push_back(algo::RankKey(c.score, c.x, c.y));
        std::sort(keys.begin(), keys.end());
        ASSERT_EQ(runner.SortedKeys(level), keys) << level;
      }
      EXPECT_TRUE(cut);
    }
  }
}

TEST(SurvivorsStepTest, AllSurviveWhereTheFrameIsCutAsAWhole) {
  const TestImage image = SceneImage(300, 200, 7);
  RunnerInput input;
  input.pipeline.select.selection = Selection::kBest;
  input.parameters.max_features = 1;
  StepRunner detected(image, FastestTarget(), 5, input);
  detected.RunUntil("fast");
  StepRunner runner(image, FastestTarget(), 5, input);
  runner.RunUntil("survivors");
  for (int level = 0; level < runner.levels(); ++level) {
    EXPECT_EQ(runner.Survivors(level), detected.DetectedCorners(level)) << level;
  }
  EXPECT_GT(runner.Survivors(0).size(), 10u);
}

}  // namespace
}  // namespace orbserve::cpu
