// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/tracking/frame_pyramid.h"

#include <algorithm>
#include <cstdint>

#include "cpu/memory/workspace_layout.h"
#include "cpu/steps/pyramid.h"

namespace orbserve::cpu {

bool FramePyramid::Allocate(absl::Span<const LevelGeometry> levels) {
  WorkspaceLayout layout;
  LevelImages places;
  for (size_t l = 1; l < levels.size(); ++l) {
    layout.AddImage(static_cast<int>(l), levels[l].width_px, levels[l].height_px, &places);
  }
  levels_ = 0;
  if (!memory_.Allocate(std::max<size_t>(layout.bytes(), 1))) return false;
  for (size_t l = 1; l < levels.size(); ++l) {
    const LevelImages::Image& place = places.levels[l];
    images_[l] = {memory_.data() + place.offset, place.width_px, place.height_px,
                  place.pitch_bytes};
  }
  levels_ = static_cast<int>(levels.size());
  return true;
}

bool FramePyramid::Make(absl::Span<const LevelGeometry> levels, const KernelTarget& target) {
  const ResizeKernel resize = ResizeKernelFor(target);
  AlignedBuffer scratch;
  if (levels.size() > 1 && !scratch.Allocate(ResizeScratchBytes(levels[1].width_px))) return false;
  for (size_t l = 1; l < levels.size(); ++l) {
    const int level = static_cast<int>(l);
    resize(Image(level - 1), MutableImage(level), ResizeAxis::Of(levels[l].x_taps),
           levels[l].y_taps, 0, levels[l].height_px, reinterpret_cast<uint16_t*>(scratch.data()));
  }
  return true;
}

std::vector<LevelGeometry> TrackLevelsFor(int width_px, int height_px, int levels) {
  PlanSpec spec;
  spec.width_px = width_px;
  spec.height_px = height_px;
  spec.pipeline.pyramid = {1, 2.0f, PyramidSource::kPreviousLevel};
  spec.track_levels = levels;
  return PyramidGeometry::For(spec).track_levels;
}

}  // namespace orbserve::cpu
