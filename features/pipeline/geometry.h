// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Geometry of the levels of a pyramid: sides, scales, taps of the resampling, and where keypoints
// may lie. Pure functions of size and options, computed on the host, equal for all backends.

#ifndef ORBSERVE_FEATURES_PIPELINE_GEOMETRY_H_
#define ORBSERVE_FEATURES_PIPELINE_GEOMETRY_H_

#include <vector>

#include "features/algo/pyramid.h"
#include "features/backend.h"
#include "features/host_device.h"

namespace orbserve {

// Rectangle of pixels: x in [x_begin, x_end), y in [y_begin, y_end).
struct Region {
  int x_begin = 0;
  int y_begin = 0;
  int x_end = 0;
  int y_end = 0;

  constexpr int width() const { return x_end - x_begin; }
  constexpr int height() const { return y_end - y_begin; }
  constexpr bool empty() const { return x_end <= x_begin || y_end <= y_begin; }
  constexpr bool Holds(int x, int y) const {
    return x >= x_begin && x < x_end && y >= y_begin && y < y_end;
  }
};

struct LevelGeometry {
  int width_px = 0;            // >= 1
  int height_px = 0;           // >= 1
  float scale = 1.0f;          // pixels of this level to pixels of level 0
  float inverse_scale = 1.0f;  // 1 / scale
  float patch_size_px = 0.0f;  // Features::size of its keypoints, level-0 pixels
  int source_level = 0;        // level that this one is resampled from; of level 0 itself: 0
  // One tap per column and per row of this level; empty for level 0.
  std::vector<algo::ResizeTap> x_taps;
  std::vector<algo::ResizeTap> y_taps;
  // Pixels that may be keypoints; empty where the level is too small for any.
  Region region;

  // Coordinate of this level's pixel grid that lies nearest to a level-0 coordinate.
  int FromLevelZero(float coordinate) const { return RoundToInt(coordinate * inverse_scale); }
};

// Scale of a level: pixels of the level to pixels of level 0.
float ScaleOfLevel(const PipelineOptions& options, int level);
// Features::size of the keypoints of a level, level-0 pixels.
float KeypointSizeOf(const PipelineOptions& options, int level);

struct PyramidGeometry {
  // Levels that exist: neither side rounds to 0. Never empty. Level 0 alone with the detector SIFT.
  std::vector<LevelGeometry> levels;
  // Number of leading levels up to the last whose region is not empty. A level among them may be
  // too small when only one side of a later one is.
  int detecting_levels = 0;
  // Levels of the pyramid that is kept for tracks, level 0 included, as many as exist of
  // PlanSpec::track_levels. Those that `levels` has, too, are equal there.
  std::vector<LevelGeometry> track_levels;

  // Levels of both lists together, and level `l` of the list that has it.
  int levels_to_make() const {
    return static_cast<int>(levels.size() > track_levels.size() ? levels.size()
                                                                : track_levels.size());
  }
  const LevelGeometry& LevelToMake(int l) const {
    const auto i = static_cast<size_t>(l);
    return i < levels.size() ? levels[i] : track_levels[i];
  }

  // `spec` must be valid: both sides >= 1, options that pass Validate().
  static PyramidGeometry For(const PlanSpec& spec);
};

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_PIPELINE_GEOMETRY_H_
