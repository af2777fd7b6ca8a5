// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `fast`: FAST corners, their scores and suppression by score in a window, in one kernel.
// Where responses must be known of all corners, step `fast_keys` or `fast_map` runs in its place.
// All three search the same tiles.

#ifndef ORBSERVE_GPU_STEPS_DETECT_FAST_H_
#define ORBSERVE_GPU_STEPS_DETECT_FAST_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "features/host_device.h"
#include "features/pipeline/compiled.h"
#include "gpu/steps/detect/corner_lists.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

// A block's share of a level. It looks at FastTiles::kColumns columns and at `yields` rows plus
// those that suppression needs above and below, which are numbered from 0.
struct FastTile {
  int level;
  int x_begin;  // of column 0, a multiple of FastTiles::kColumnStep; may be negative
  int y_begin;  // of row 0; may be negative
  int yields;   // rows, from the row numbered as the radius of suppression on
};

// Tiles into which the levels of a frame are divided, one block each. A kernel that knows the
// radius of its suppression when it is compiled passes it; others pass `radius_px`.
struct FastTiles {
  int32_t radius_px;            // of the window of suppression, 1..4; 0 for response maps
  int32_t border_px;            // 0 for response maps, which cover their levels
  int32_t rows;                 // that a tile yields
  int32_t begin[kMaxLevels];    // first tile of a level in the frame's tiles
  int32_t columns[kMaxLevels];  // tiles side by side
  int32_t levels;
  int32_t count;  // of all levels

  static constexpr int kColumns = 128;   // that a tile looks at
  static constexpr int kColumnStep = 4;  // words of the image
  static constexpr int kRowStep = 4;     // rows that a tile looks at come in steps of so many
  // The largest number of rows that a tile may yield, those for suppression not among them.
  static constexpr int kMaxRows = 30;
  static constexpr int kMaxScoredRows = 32;

  // A tile yields the columns from `radius` on, so many that the next tile begins with a word.
  ORBSERVE_HOST_DEVICE static constexpr int YieldColumns(int radius) {
    return (kColumns - 2 * radius) / kColumnStep * kColumnStep;
  }
  // The last multiple of kColumnStep from which `radius` columns fit before the border's end.
  ORBSERVE_HOST_DEVICE static constexpr int FirstColumn(int border_px, int radius) {
    return (border_px - radius) & ~(kColumnStep - 1);
  }
  // Steps of rows that a tile looks at.
  ORBSERVE_HOST_DEVICE static constexpr int BandsOf(int tile_rows, int radius) {
    return DivUp(tile_rows + 2 * radius, kRowStep);
  }

  // Tile number `index` of a frame; its level is `last_level` or below.
  ORBSERVE_HOST_DEVICE FastTile Find(const LevelImages& images, int index, int last_level,
                                     int radius) const {
    int l = 0;
    while (l < last_level && index >= begin[l + 1]) ++l;
    const int local = index - begin[l];
    const int y = border_px + local / columns[l] * rows;
    FastTile tile;
    tile.level = l;
    tile.x_begin = FirstColumn(border_px, radius) + local % columns[l] * YieldColumns(radius);
    tile.y_begin = y - radius;
    tile.yields = Min(rows, images.level[l].height_px - border_px - y);
    return tile;
  }
  // Columns that `tile` yields, [begin, end), of a level with a width of `width_px`.
  ORBSERVE_HOST_DEVICE int ColumnBegin(const FastTile& tile, int radius) const {
    return Max(radius, border_px - tile.x_begin);
  }
  ORBSERVE_HOST_DEVICE int ColumnEnd(const FastTile& tile, int width_px, int radius) const {
    return Min(radius + YieldColumns(radius), width_px - border_px - tile.x_begin);
  }

  static FastTiles With(int rows, const CompiledPipeline& pipeline);
  // Tiles for a batch of `frames`. Tall tiles look at fewer rows twice; low ones fill a device with
  // little work: the tallest with eight tiles for each multiprocessor, as measured on an H200.
  static FastTiles For(int frames, int multiprocessors, const CompiledPipeline& pipeline);
};

// A search for FAST corners on levels [first_level, last_level].
struct FastSearch {
  Frames frames;
  LevelImages images;
  FastTiles tiles;
  int32_t arc_length;  // 9..12
  CornerTest test;
  const uint32_t* bit_table;  // of `arc_length`; kBitTable only
  int32_t first_level;
  int32_t last_level;

  // By the options of `pipeline`.
  static FastSearch For(const CompiledPipeline& pipeline, const LevelImageBuffers& images,
                        const StepContext& context, int first_level, int last_level);
  // Number of tiles, the grid's first dimension. 0: there is nothing to launch.
  int TileCount() const;
};

struct FastParams : FastSearch {
  FastCornerLists corners;
};

// FAST corners with suppression inside the border of the levels of every frame, as far as its mask
// allows: their positions and scores in any order, their number, and the histogram of their scores.
absl::Status LaunchFastCorners(const FastParams& params, cudaStream_t stream);

class FastStep final : public Step {
 public:
  // Searches levels [first_level, last_level].
  FastStep(const CompiledPipeline& pipeline, const LevelImageBuffers& images,
           const FastCornerListBuffers& corners, int first_level, int last_level)
      : pipeline_(pipeline),
        images_(images),
        corners_(corners),
        first_level_(first_level),
        last_level_(last_level) {}

  absl::string_view name() const override { return "fast"; }
  StageSet stages() const override { return {Stage::kDetect, Stage::kSuppress}; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

  FastParams ParamsFor(const StepContext& context) const;

 private:
  const CompiledPipeline& pipeline_;  // the plan's
  const LevelImageBuffers images_;
  const FastCornerListBuffers corners_;
  const int first_level_;
  const int last_level_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DETECT_FAST_H_
