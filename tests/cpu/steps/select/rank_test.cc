// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/select/rank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "features/algo/order.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::DotLattice;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

float ResponseOf(uint64_t key) { return algo::RankKeyResponse(key); }

TEST(RankStepTest, KeepsTheQuotaOfEachLevelWithTiesInOrder) {
  for (const TestImage& image : {SceneImage(500, 400, 9), DotLattice(300, 300, 10)}) {
    for (const RunnerVariant& variant : AllRunnerVariants()) {
      SCOPED_TRACE(Describe(variant));
      RunnerInput input;
      input.parameters.max_features = 100;
      StepRunner before(image, variant.target, variant.threads, input);
      before.RunUntil("harris");
      StepRunner runner(image, variant.target, variant.threads, input);
      runner.RunUntil("rank");
      for (int level = 0; level < runner.levels(); ++level) {
        std::vector<uint64_t> keys = before.SortedKeys(level);
        auto kept =
            static_cast<size_t>(runner.frame().cuts.by_response[static_cast<size_t>(level)]);
        if (kept < keys.size()) {
          while (kept > 0 && kept < keys.size() &&
                 ResponseOf(keys[kept]) == ResponseOf(keys[kept - 1])) {
            ++kept;
          }
          keys.resize(kept);
        }
        ASSERT_EQ(runner.Points(level), PointsOf(keys)) << level;
        ASSERT_EQ(runner.frame().level(level).ranked, static_cast<int>(keys.size()));
      }
    }
  }
}

TEST(RankStepTest, KeepsExactlyTheBestOfAllLevelsTogether) {
  for (const TestImage& image : {SceneImage(500, 400, 10), DotLattice(300, 300, 10)}) {
    for (const int wanted : {1, 77, 400, 100'000}) {
      for (const RunnerVariant& variant : AllRunnerVariants()) {
        SCOPED_TRACE(Describe(variant));
        RunnerInput input;
        input.pipeline.select.selection = Selection::kBest;
        input.parameters.max_features = wanted;
        StepRunner before(image, variant.target, variant.threads, input);
        before.RunUntil("harris");
        // Every key with its level, by response, level, row, column.
        std::vector<std::pair<uint64_t, int>> all;
        for (int level = 0; level < before.levels(); ++level) {
          for (const uint64_t key : before.SortedKeys(level)) all.emplace_back(key, level);
        }
        ASSERT_GT(all.size(), 400u);
        std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
          return ResponseOf(a.first) > ResponseOf(b.first);
        });
        if (all.size() > static_cast<size_t>(wanted)) all.resize(static_cast<size_t>(wanted));
        StepRunner runner(image, variant.target, variant.threads, input);
        runner.RunUntil("rank");
        for (int level = 0; level < runner.levels(); ++level) {
          std::vector<uint64_t> keys;
          for (const auto& [key, of_level] : all) {
            if (of_level == level) keys.push_back(key);
          }
          ASSERT_EQ(runner.Points(level), PointsOf(keys)) << level;
        }
      }
    }
  }
}

TEST(RankStepTest, TheCapacityLimitsThePointsNotTheCount) {
  const TestImage image = SceneImage(500, 400, 11);
  RunnerInput input;
  input.pipeline.select.capacity = 5;
  StepRunner runner(image, FastestTarget(), 1, input);
  runner.RunUntil("rank");
  EXPECT_EQ(runner.Points(0).size(), 5u);
  EXPECT_GT(runner.frame().level(0).ranked, 5);
}

}  // namespace
}  // namespace orbserve::cpu
