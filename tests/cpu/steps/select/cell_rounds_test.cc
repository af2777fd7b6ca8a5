// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/select/cell_rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
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

// The order of the frame.
using FrameOrder = std::tuple<float, int, int, int>;  // -response, level, y, x

TEST(CellRoundsStepTest, TakesTheBestOfEveryCellThenTheSecondBestOfEveryCell) {
  for (const TestImage& image :
       {SceneImage(500, 400, 41), DotLattice(300, 340, 10), TestImage(90, 90)}) {
    for (const auto& [scale_factor, cell_width, cell_height] :
         {std::tuple{1.2f, 32, 32}, {2.0f, 128, 16}, {1.5f, 512, 512}}) {
      for (const int wanted : {1, 30, 170, 171, 640, 100'000}) {
        for (const RunnerVariant& variant : AllRunnerVariants()) {
          SCOPED_TRACE(Describe(variant));
          RunnerInput input;
          input.pipeline.pyramid = {.levels = 5, .scale_factor = scale_factor};
          input.pipeline.detect.score = Score::kFast;
          input.pipeline.suppress.cell_width_px = cell_width;
          input.pipeline.suppress.cell_height_px = cell_height;
          input.pipeline.select.selection = Selection::kCell;
          input.parameters.max_features = wanted;
          StepRunner before(image, variant.target, variant.threads, input);
          before.RunUntil("survivors");
          std::map<std::pair<int, int>, std::vector<FrameOrder>> cells;
          for (int level = 0; level < before.levels(); ++level) {
            const float scale = before.pipeline().level(level).scale;
            for (const uint64_t key : before.SortedKeys(level)) {
              const int x = algo::RankKeyX(key);
              const int y = algo::RankKeyY(key);
              const int column =
                  std::min(static_cast<int>(static_cast<float>(x) * scale), image.width_px() - 1) /
                  cell_width;
              const int row =
                  std::min(static_cast<int>(static_cast<float>(y) * scale), image.height_px() - 1) /
                  cell_height;
              cells[{column, row}].emplace_back(-algo::RankKeyResponse(key), level, y, x);
            }
          }
          std::vector<std::pair<size_t, FrameOrder>> all;  // round, then the order of the frame
          for (auto& [cell, members] : cells) {
            std::sort(members.begin(), members.end());
            for (size_t i = 0; i < members.size(); ++i) all.emplace_back(i, members[i]);
          }
          std::sort(all.begin(), all.end());
          if (all.size() > static_cast<size_t>(wanted)) all.resize(static_cast<size_t>(wanted));
          StepRunner runner(image, variant.target, variant.threads, input);
          runner.RunUntil("cell_rounds");
          for (int level = 0; level < runner.levels(); ++level) {
            std::vector<uint64_t> keys;
            for (const auto& [round, member] : all) {
              const auto& [order, of_level, y, x] = member;
              if (of_level == level) keys.push_back(algo::RankKey(-order, x, y));
            }
            std::sort(keys.begin(), keys.end());
            ASSERT_EQ(runner.Points(level), PointsOf(keys)) << level << ", " << wanted << " wanted";
            ASSERT_EQ(runner.frame().level(level).ranked, static_cast<int>(keys.size()));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace orbserve::cpu
