// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/pipeline/geometry.h"

#include <utility>

#include "features/algo/linear_resize.h"
#include "features/algo/zone.h"
#include "features/pipeline/detection.h"
#include "features/pipeline/reach.h"

namespace orbserve {
namespace {

std::vector<algo::ResizeTap> TapsOf(const PipelineOptions& options, int source_side,
                                    int destination_side) {
  std::vector<algo::ResizeTap> taps;
  taps.reserve(static_cast<size_t>(destination_side));
  for (int i = 0; i < destination_side; ++i) {
    taps.push_back(ResizesLinearly(options) ? algo::LinearTapOf(source_side, destination_side, i)
                                            : algo::ResizeTapOf(source_side, destination_side, i));
  }
  return taps;
}

// Sides and taps of level `l`, which is resampled from one of the `finer` levels. Its sides are 0
// where it does not exist.
LevelGeometry LevelOf(const PlanSpec& spec, int l, const std::vector<LevelGeometry>& finer) {
  const PyramidOptions& options = spec.pipeline.pyramid;
  LevelGeometry level;
  level.scale = ScaleOfLevel(spec.pipeline, l);
  level.inverse_scale = 1.0f / level.scale;
  level.width_px = algo::LevelSide(spec.width_px, level.scale);
  level.height_px = algo::LevelSide(spec.height_px, level.scale);
  if (l > 0 && level.width_px > 0 && level.height_px > 0) {
    level.source_level = options.source == PyramidSource::kLevelZero ? 0 : l - 1;
    const LevelGeometry& source = finer[static_cast<size_t>(level.source_level)];
    level.x_taps = TapsOf(spec.pipeline, source.width_px, level.width_px);
    level.y_taps = TapsOf(spec.pipeline, source.height_px, level.height_px);
  }
  return level;
}

bool Exists(const LevelGeometry& level) { return level.width_px > 0 && level.height_px > 0; }

}  // namespace

float ScaleOfLevel(const PipelineOptions& options, int level) {
  if (!ResizesLinearly(options)) return algo::LevelScale(options.pyramid.scale_factor, level);
  float scale = 1.0f;
  for (int l = 0; l < level; ++l) {
    scale = algo::NextLevelScale(scale, options.pyramid.scale_factor);
  }
  return scale;
}

float KeypointSizeOf(const PipelineOptions& options, int level) {
  const float size_px = Reach::Of(options).patch_size_px * ScaleOfLevel(options, level);
  return ResizesLinearly(options) ? static_cast<float>(static_cast<int>(size_px)) : size_px;
}

PyramidGeometry PyramidGeometry::For(const PlanSpec& spec) {
  const PipelineOptions& pipeline = spec.pipeline;
  const int border = pipeline.select.border_px;
  PyramidGeometry pyramid;
  if (HasScaleSpace(pipeline)) {
    pyramid.levels.push_back(LevelOf(spec, 0, {}));
    pyramid.levels[0].region = {0, 0, spec.width_px, spec.height_px};
    pyramid.detecting_levels = 1;
    return pyramid;
  }
  for (int l = 0; l < pipeline.pyramid.levels; ++l) {
    LevelGeometry level = LevelOf(spec, l, pyramid.levels);
    if (!Exists(level)) break;
    level.patch_size_px = KeypointSizeOf(pipeline, l);
    if (HasZones(pipeline) ? algo::ZonesOf(level.width_px, level.height_px).columns > 0
                           : level.width_px > 2 * border && level.height_px > 2 * border) {
      level.region = {border, border, level.width_px - border, level.height_px - border};
      pyramid.detecting_levels = l + 1;
    }
    pyramid.levels.push_back(std::move(level));
  }
  for (int l = 0; l < spec.track_levels; ++l) {
    LevelGeometry level = LevelOf(spec, l, pyramid.track_levels);
    if (!Exists(level)) break;
    pyramid.track_levels.push_back(std::move(level));
  }
  return pyramid;
}

}  // namespace orbserve
