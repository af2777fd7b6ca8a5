// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/suppress/cell.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "cpu/kernels/cell_tables.h"
#include "features/algo/cell.h"
#include "features/algo/order.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::DotLattice;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

TEST(CellTablesTest, HoldTheCellAndTheKeyOfEveryPixel) {
  for (const float scale_factor : {1.2f, 2.0f, 3.7f}) {
    PlanSpec spec = {331, 257, {}};
    spec.pipeline.pyramid = {.levels = 5, .scale_factor = scale_factor};
    spec.pipeline.suppress.cell_width_px = 64;
    spec.pipeline.suppress.cell_height_px = 24;
    const CompiledPipeline pipeline = *CompilePipeline(spec);
    const CellTables tables(pipeline);
    const algo::CellGrid grid = algo::CellGridOf(331, 257, 64, 24);
    ASSERT_EQ(tables.grid().count(), 6 * 11);
    for (int l = 0; l < pipeline.pyramid.detecting_levels; ++l) {
      const LevelGeometry& level = pipeline.level(l);
      for (int y = 0; y < level.height_px; ++y) {
        for (int x = 0; x < level.width_px; ++x) {
          const uint64_t key = algo::RankKey(7.5f, x, y);
          ASSERT_EQ(tables.level(l).CellOf(key), algo::CellOf(grid, x, y, level.scale));
          ASSERT_EQ(tables.level(l).CellKeyOf(key),
                    algo::CellKey(grid, 7.5f, l, x, y, level.scale));
        }
      }
    }
  }
}

TEST(CellStepTest, LeavesTheFirstOfEveryCellOverAllLevels) {
  for (const TestImage& image : {SceneImage(500, 400, 31), DotLattice(300, 340, 10)}) {
    for (const RunnerVariant& variant : AllRunnerVariants()) {
      for (const auto& [scale_factor, cell_width, cell_height] :
           {std::tuple{2.0f, 32, 16}, {1.2f, 64, 40}, {1.3f, 512, 512}}) {
        SCOPED_TRACE(Describe(variant));
        RunnerInput input;
        input.pipeline.pyramid = {.levels = 4, .scale_factor = scale_factor};
        input.pipeline.detect.score = Score::kFast;
        input.pipeline.suppress.suppression = Suppression::kCell;
        input.pipeline.suppress.cell_width_px = cell_width;
        input.pipeline.suppress.cell_height_px = cell_height;
        input.pipeline.select.selection = Selection::kBest;
        StepRunner before(image, variant.target, variant.threads, input);
        before.RunUntil("survivors");
        // Winners by cell: response down, then level, row and column up.
        std::map<std::pair<int, int>, std::tuple<float, int, int, int>> winners;
        size_t all = 0;
        for (int level = 0; level < before.levels(); ++level) {
          const float scale = before.pipeline().level(level).scale;
          for (const uint64_t key : before.SortedKeys(level)) {
            const int x = algo::RankKeyX(key);
            const int y = algo::RankKeyY(key);
            const auto cell = std::pair{
                std::min(static_cast<int>(static_cast<float>(x) * scale), image.width_px() - 1) /
                    cell_width,
                std::min(static_cast<int>(static_cast<float>(y) * scale), image.height_px() - 1) /
                    cell_height};
            const auto order = std::tuple{-algo::RankKeyResponse(key), level, y, x};
            const auto [it, is_new] = winners.try_emplace(cell, order);
            if (!is_new) it->second = std::min(it->second, order);
            ++all;
          }
        }
        ASSERT_LT(winners.size(), all);
        StepRunner runner(image, variant.target, variant.threads, input);
        runner.RunUntil("cell");
        size_t left = 0;
        for (int level = 0; level < runner.levels(); ++level) {
          std::vector<uint64_t> expected;
          for (const auto& [cell, winner] : winners) {
            const auto& [order, of_level, y, x] = winner;
            if (of_level == level) expected.push_back(algo::RankKey(-order, x, y));
          }
          std::sort(expected.begin(), expected.end());
          ASSERT_EQ(runner.SortedKeys(level), expected) << level;
          left += expected.size();
        }
        ASSERT_EQ(left, winners.size());
      }
    }
  }
}

TEST(CellStepTest, AFrameWithoutCornersHasNone) {
  const TestImage image(200, 150);
  RunnerInput input;
  input.pipeline.suppress.suppression = Suppression::kCell;
  input.pipeline.select.selection = Selection::kBest;
  StepRunner runner(image, FastestTarget(), 2, input);
  runner.RunUntil("rank");
  for (int level = 0; level < runner.levels(); ++level) {
    EXPECT_TRUE(runner.Points(level).empty());
  }
}

}  // namespace
}  // namespace orbserve::cpu
