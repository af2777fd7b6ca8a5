// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The kernels of the step `minimum_distance` are handed these parameters.

#ifndef ORBSERVE_GPU_STEPS_SUPPRESS_DISTANCE_PARAMS_H_
#define ORBSERVE_GPU_STEPS_SUPPRESS_DISTANCE_PARAMS_H_

#include <cstdint>

#include "features/algo/distance_grid.h"
#include "features/host_device.h"
#include "features/options.h"
#include "features/pipeline/geometry.h"
#include "gpu/frame/frame_params.h"
#include "gpu/steps/detect/corner_sink.h"
#include "gpu/steps/detect/response_map.h"
#include "gpu/steps/level_images.h"

namespace orbserve::gpu {

// Lists of undecided cells that a level has: one is read while the other one is filled.
inline constexpr int kCellLists = 2;

// Cells of a level that may be decided without passes, and places in their windows.
inline constexpr int kMaxRest = 64;
inline constexpr int kMaxRestPlaces = 3000;

// Tiles of cells, and what their thread blocks know.
struct TileSizes {
  int32_t side;          // cells
  int32_t margin;        // cells round a tile
  int32_t retry_margin;  // cells round a single one
  int32_t retry_blocks;  // of a level, for single cells
  // These are bounds of what a block knows.
  int32_t places;
  int32_t cells;
};

struct DistanceParams {
  struct Level {
    algo::DistanceGrid grid;
    Region region;         // pixels that may be keypoints
    int32_t first_cell;    // in a frame's cells
    int32_t first_block;   // of its thread blocks in a frame's: of tiles, or of a warp per cell
    int32_t tile_columns;  // tiles side by side
  };

  Frames frames;
  LevelImages images;
  ResponseMaps maps;  // overwritten
  CornerSink sink;
  // Per frame and cell: the best undefined candidate, the inside place, and the undecided cells
  // of each level, by their numbers in the level. FrameCounters::undecided_cells has their
  // number.
  uint64_t* best;
  uint32_t* inside;
  int32_t* list[kCellLists];
  int64_t cell_stride;
  Level level[kMaxLevels];
  int32_t levels;
  int32_t thread_blocks;  // of all levels
  int32_t max_passes;     // 0 = to the end
  bool is_corner_map;     // else the maps are FAST's
  bool is_compressed;
  bool in_tiles;  // else the first passes take all cells of a level together
  TileSizes tiles;

  // True where one block decides so many cells of a level that tiles have left, from the cells
  // round them. It looks at all places in the window of each. Up to so many that is faster than to
  // do all passes for them again, as measured on an H200.
  ORBSERVE_HOST_DEVICE bool DecidesAtOnce(int number) const {
    const int across = 2 * level[0].grid.rule.reach + 1;
    return max_passes == 0 && number <= kMaxRest && number * across * across <= kMaxRestPlaces;
  }
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SUPPRESS_DISTANCE_PARAMS_H_
