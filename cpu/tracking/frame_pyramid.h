// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The pyramid of a frame that a state keeps for tracks: level 0 is the frame's input slot, the
// other levels lie in memory of the pyramid's own, into which they are resampled once.

#ifndef ORBSERVE_CPU_TRACKING_FRAME_PYRAMID_H_
#define ORBSERVE_CPU_TRACKING_FRAME_PYRAMID_H_

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/memory/aligned_buffer.h"
#include "features/backend.h"
#include "features/image_view.h"
#include "features/options.h"
#include "features/pipeline/geometry.h"

namespace orbserve::cpu {

class FramePyramid {
 public:
  // Takes the memory of `levels`, level 0 included. False when there is none to be had.
  [[nodiscard]] bool Allocate(absl::Span<const LevelGeometry> levels);

  // Levels that there is memory for, level 0 included; 0 before Allocate().
  int levels() const { return levels_; }
  // Level 0 needs an input.
  ImageView Image(int level) const {
    return level == 0 ? ImageView(input_->image) : ImageView(images_[static_cast<size_t>(level)]);
  }
  // Levels from 1 on.
  MutableImageView MutableImage(int level) const { return images_[static_cast<size_t>(level)]; }

  const std::shared_ptr<InputSlot>& input() const { return input_; }
  void set_input(std::shared_ptr<InputSlot> input) { input_ = std::move(input); }

  // Resamples all levels from 1 on with the kernel for `target`. `levels` as in Allocate(). False
  // when there is no memory for rows in between.
  [[nodiscard]] bool Make(absl::Span<const LevelGeometry> levels, const KernelTarget& target);

  // Without the input, which is counted where it was leased.
  size_t HeldBytes() const { return memory_.size(); }

 private:
  std::shared_ptr<InputSlot> input_;
  int levels_ = 0;
  std::array<MutableImageView, kTrackLevelRange.high> images_;
  AlignedBuffer memory_;
};

// Levels of the pyramids for tracks of frames of a size.
std::vector<LevelGeometry> TrackLevelsFor(int width_px, int height_px, int levels);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_TRACKING_FRAME_PYRAMID_H_
