// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Tiles in which a device searches for FAST corners. Needs no device.

#include <utility>
#include <vector>

#include "features/pipeline/compiled.h"
#include "features/pipeline/detection.h"
#include "features/pipeline/geometry.h"
#include "gpu/steps/detect/fast.h"
#include "gtest/gtest.h"

namespace orbserve::gpu {
namespace {

CompiledPipeline PipelineOf(int width_px, int height_px, int window_px, int border_px,
                            Suppression suppression) {
  CompiledPipeline pipeline;
  pipeline.spec.width_px = width_px;
  pipeline.spec.height_px = height_px;
  pipeline.spec.pipeline.pyramid.levels = 3;
  pipeline.spec.pipeline.pyramid.scale_factor = 1.7f;
  pipeline.spec.pipeline.suppress.suppression = suppression;
  pipeline.spec.pipeline.suppress.window_px = window_px;
  pipeline.spec.pipeline.select.border_px = border_px;
  pipeline.pyramid = PyramidGeometry::For(pipeline.spec);
  return pipeline;
}

// Every pixel that may be a corner, and no other one, is yielded by one tile, which looks at all
// pixels of its window.
void ExpectEachPixelOnce(const CompiledPipeline& pipeline, const FastTiles& tiles) {
  const bool is_map = HasResponseMap(pipeline.spec.pipeline) || HasZones(pipeline.spec.pipeline);
  LevelImages images = {};
  std::vector<std::vector<int>> yielded;
  for (int l = 0; l < tiles.levels; ++l) {
    const LevelGeometry& level = pipeline.level(l);
    images.level[l].width_px = level.width_px;
    images.level[l].height_px = level.height_px;
    yielded.emplace_back(static_cast<size_t>(level.width_px * level.height_px));
  }
  const int radius = tiles.radius_px;
  const int looked_rows = FastTiles::BandsOf(tiles.rows, radius) * FastTiles::kRowStep;
  for (int i = 0; i < tiles.count; ++i) {
    const FastTile tile = tiles.Find(images, i, tiles.levels - 1, radius);
    const LevelGeometry& level = pipeline.level(tile.level);
    ASSERT_EQ(tile.x_begin % FastTiles::kColumnStep, 0);
    ASSERT_GT(tile.yields, 0);
    ASSERT_LE(tile.yields + 2 * radius, looked_rows);
    const int column_begin = tiles.ColumnBegin(tile, radius);
    const int column_end = tiles.ColumnEnd(tile, level.width_px, radius);
    ASSERT_GE(column_begin, radius);
    ASSERT_LE(column_end, FastTiles::kColumns - radius);
    for (int row = radius; row < radius + tile.yields; ++row) {
      for (int column = column_begin; column < column_end; ++column) {
        const int x = tile.x_begin + column;
        const int y = tile.y_begin + row;
        ASSERT_TRUE(x >= 0 && x < level.width_px && y >= 0 && y < level.height_px);
        ++yielded[static_cast<size_t>(tile.level)][static_cast<size_t>(y * level.width_px + x)];
      }
    }
  }
  for (int l = 0; l < tiles.levels; ++l) {
    const LevelGeometry& level = pipeline.level(l);
    for (int y = 0; y < level.height_px; ++y) {
      for (int x = 0; x < level.width_px; ++x) {
        const bool is_inside = x >= level.region.x_begin && x < level.region.x_end &&
                               y >= level.region.y_begin && y < level.region.y_end;
        ASSERT_EQ(yielded[static_cast<size_t>(l)][static_cast<size_t>(y * level.width_px + x)],
                  is_map || is_inside ? 1 : 0)
            << "level " << l << " at " << x << ", " << y << ", window radius " << radius
            << ", rows " << tiles.rows;
      }
    }
  }
}

TEST(FastTilesTest, YieldEachPixelOnceForEveryWindowAndBorder) {
  for (const auto& [width, height] : std::vector<std::pair<int, int>>{
           {7, 7}, {9, 300}, {131, 45}, {124, 40}, {128, 64}, {129, 65}, {400, 97}}) {
    for (const int window : {3, 5, 7, 9}) {
      for (const int border : {3, 4, 5, 6, 16, 31}) {
        for (const Suppression suppression :
             {Suppression::kNeighbourhood, Suppression::kCell, Suppression::kMinimumDistance}) {
          const CompiledPipeline pipeline = PipelineOf(width, height, window, border, suppression);
          const int radius = suppression == Suppression::kMinimumDistance ? 0 : window / 2;
          for (const int looked_rows : {12, 16, 24, 32}) {
            const FastTiles tiles = FastTiles::With(looked_rows - 2 * radius, pipeline);
            EXPECT_EQ(tiles.radius_px, radius);
            ExpectEachPixelOnce(pipeline, tiles);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// Zones are searched in response maps.
TEST(FastTilesTest, YieldEachPixelOnceForZones) {
  CompiledPipeline pipeline;
  pipeline.spec = {387, 260, (*FindPreset("orb-slam3"))->pipeline};
  pipeline.pyramid = PyramidGeometry::For(pipeline.spec);
  for (const int looked_rows : {12, 16, 24, 32}) {
    const FastTiles tiles = FastTiles::With(looked_rows, pipeline);
    EXPECT_EQ(tiles.radius_px, 0);
    ExpectEachPixelOnce(pipeline, tiles);
  }
}

TEST(FastTilesTest, LowTilesFillADeviceWithOneFrame) {
  for (const int window : {3, 9}) {
    const CompiledPipeline pipeline =
        PipelineOf(1920, 1080, window, 16, Suppression::kNeighbourhood);
    const int radius = window / 2;
    const FastTiles one = FastTiles::For(1, 132, pipeline);
    const FastTiles many = FastTiles::For(32, 132, pipeline);
    EXPECT_LT(one.rows, many.rows);
    EXPECT_EQ(many.rows + 2 * radius, FastTiles::kMaxScoredRows);
    EXPECT_GT(one.rows, 0);
  }
  // The tiles of `orb` are those that were measured.
  EXPECT_EQ(FastTiles::For(1, 132, PipelineOf(640, 480, 3, 31, Suppression::kNeighbourhood)).rows,
            6);
}

}  // namespace
}  // namespace orbserve::gpu
