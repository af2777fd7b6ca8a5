// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The kernels of the step `minimum_distance` are handed these parameters.

#ifndef ORBSERVE_GPU_STEPS_SUPPRESS_DISTANCE_PARAMS_H_
#define ORBSERVE_GPU_STEPS_SUPPRESS_DISTANCE_PARAMS_H_

#include <cstdint>

#include "features/algo/distance_squares.h"
#include "features/host_device.h"
#include "features/options.h"
#include "features/pipeline/geometry.h"
#include "gpu/frame/frame_params.h"
#include "gpu/steps/detect/corner_sink.h"
#include "gpu/steps/detect/response_map.h"
#include "gpu/steps/level_images.h"

namespace orbserve::gpu {

// Lists of undecided squares that a level has: one is read while the other one is filled.
inline constexpr int kSquareLists = 2;

// Squares of a level that may be decided without passes, and places in their windows.
inline constexpr int kMostRest = 64;
inline constexpr int kMostRestPlaces = 3000;

// Tiles of squares, and what their thread blocks know.
struct TileSizes {
  int32_t side;          // squares
  int32_t margin;        // squares round a tile
  int32_t retry_margin;  // squares round a single one
  int32_t retry_blocks;  // of a level, for single squares
  // These are bounds of what a block knows.
  int32_t places;
  int32_t squares;
};

struct DistanceParams {
  struct Level {
    algo::DistanceSquares squares;
    Region region;         // pixels that may be keypoints
    int32_t first_square;  // in a frame's squares
    int32_t first_block;   // of its thread blocks in a frame's: of tiles, or of a warp per square
    int32_t tile_columns;  // tiles side by side
  };

  Frames frames;
  LevelImages images;
  ResponseMaps maps;  // overwritten
  CornerSink sink;
  // Per frame and square: the best undefined candidate, the inside place, and the undecided squares
  // of each level, by their numbers in the level. FrameCounters::undecided_squares has their
  // number.
  uint64_t* best;
  uint32_t* inside;
  int32_t* list[kSquareLists];
  int64_t square_stride;
  Level level[kMaxLevels];
  int32_t levels;
  int32_t thread_blocks;  // of all levels
  int32_t max_passes;     // 0 = to the end
  bool is_corner_map;     // else the maps are FAST's
  bool is_compressed;
  bool in_tiles;  // else the first passes take all squares of a level together
  TileSizes tiles;

  // True where one block decides so many squares of a level that tiles have left, from the squares
  // round them. It looks at all places in the window of each. Up to so many that is faster than to
  // do all passes for them again, as measured on an H200.
  ORBSERVE_HOST_DEVICE bool DecidesAtOnce(int number) const {
    const int across = 2 * level[0].squares.rule.reach + 1;
    return max_passes == 0 && number <= kMostRest && number * across * across <= kMostRestPlaces;
  }
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SUPPRESS_DISTANCE_PARAMS_H_
