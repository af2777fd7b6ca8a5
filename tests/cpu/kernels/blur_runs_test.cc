// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/kernels/blur_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace orbserve::cpu {
namespace {

struct Grid {
  int columns;
  int rows;
  std::vector<uint8_t> marks;  // [columns][rows]

  Grid(int c, int r) : columns(c), rows(r), marks(static_cast<size_t>(c) * r) {}
  uint8_t& At(int column, int row) {
    return marks[static_cast<size_t>(column) * static_cast<size_t>(rows) +
                 static_cast<size_t>(row)];
  }
};

std::vector<BlurRun> RunsOf(const Grid& grid) {
  std::vector<BlurRun> runs(grid.marks.size());
  runs.resize(
      static_cast<size_t>(MakeBlurRuns(grid.marks.data(), grid.columns, grid.rows, runs.data())));
  return runs;
}

TEST(BlurRunsTest, NothingMarkedMakesNone) { EXPECT_TRUE(RunsOf(Grid(5, 40)).empty()); }

TEST(BlurRunsTest, MarkedTilesAreCoveredOnceAndRunsKeepTheirLimits) {
  std::mt19937 random(20266);
  for (int round = 0; round < 500; ++round) {
    Grid grid(1 + static_cast<int>(random() % 12), 1 + static_cast<int>(random() % 60));
    const int blobs = static_cast<int>(random() % 30);
    for (int i = 0; i < blobs; ++i) {
      const int column = static_cast<int>(random() % static_cast<uint32_t>(grid.columns));
      const int row = static_cast<int>(random() % static_cast<uint32_t>(grid.rows));
      for (int c = column; c < std::min(column + 2, grid.columns); ++c) {
        for (int r = row; r < std::min(row + 6, grid.rows); ++r) grid.At(c, r) = 1;
      }
    }
    Grid covered(grid.columns, grid.rows);
    int tiles = 0;
    int marked = 0;
    for (const BlurRun& run : RunsOf(grid)) {
      ASSERT_LT(run.column_begin, run.column_end);
      ASSERT_LE(run.column_end - run.column_begin, kMaxBlurRunColumns);
      ASSERT_LT(run.row_begin, run.row_end);
      ASSERT_LE(run.row_end - run.row_begin, kMaxBlurRunTiles);
      ASSERT_LE(run.column_end, grid.columns);
      ASSERT_LE(run.row_end, grid.rows);
      tiles += run.Tiles();
      for (int c = run.column_begin; c < run.column_end; ++c) {
        for (int r = run.row_begin; r < run.row_end; ++r) {
          ASSERT_EQ(covered.At(c, r)++, 0) << "tile " << c << "," << r << " round " << round;
        }
      }
    }
    for (int c = 0; c < grid.columns; ++c) {
      for (int r = 0; r < grid.rows; ++r) {
        marked += grid.At(c, r);
        ASSERT_GE(covered.At(c, r), grid.At(c, r)) << "round " << round;
      }
    }
    EXPECT_LE(tiles, 2 * marked);  // joining pays, it does not flood
  }
}

TEST(BlurRunsTest, FullRectanglesAreJoinedAcrossColumns) {
  Grid grid(4, 16);
  for (uint8_t& mark : grid.marks) mark = 1;
  const std::vector<BlurRun> runs = RunsOf(grid);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].Tiles(), 64);
}

}  // namespace
}  // namespace orbserve::cpu
