// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A layout places buffers in the memory that a frame works in. Steps declare their buffers once,
// when a plan is made, and keep the handles; the memory itself belongs to a Workspace.

#ifndef ORBSERVE_CPU_MEMORY_WORKSPACE_LAYOUT_H_
#define ORBSERVE_CPU_MEMORY_WORKSPACE_LAYOUT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "features/options.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>

#include <utility>
#include <vector>
#endif

namespace orbserve::cpu {

// Handles of declared buffers: offsets in bytes into the memory of a workspace, aligned to
// AlignedBuffer::kAlignment. Contents are unspecified when a frame begins.
template <typename T>
struct LevelBuffer {
  std::array<size_t, kMaxLevels> offset{};  // [level], for the levels that were declared
};
template <typename T>
struct FrameBuffer {
  size_t offset = 0;
};

// One image per level, padded as features/image_view.h asks.
struct LevelImages {
  struct Image {
    size_t offset = 0;  // of the first pixel
    int width_px = 0;
    int height_px = 0;
    ptrdiff_t pitch_bytes = 0;
  };
  std::array<Image, kMaxLevels> levels;
};

class WorkspaceLayout {
 public:
  // `count` elements for one level.
  template <typename T>
  void Add(int level, size_t count, LevelBuffer<T>* buffer) {
    buffer->offset[static_cast<size_t>(level)] = Reserve(count * sizeof(T));
  }
  // `count` elements for the frame.
  template <typename T>
  void Add(size_t count, FrameBuffer<T>* buffer) {
    buffer->offset = Reserve(count * sizeof(T));
  }
  void AddImage(int level, int width_px, int height_px, LevelImages* images) {
    images->levels[static_cast<size_t>(level)] = ReserveImage(width_px, height_px, &bytes_);
  }
  // An image in the memory that only frames with a mask need.
  void AddMask(int level, int width_px, int height_px, LevelImages* masks) {
    masks->levels[static_cast<size_t>(level)] = ReserveImage(width_px, height_px, &mask_bytes_);
  }
  // Scratch memory of a thread for the time of one task. A thread has as much as the most that was
  // asked for.
  void AddScratch(size_t bytes) { scratch_bytes_ = std::max(scratch_bytes_, bytes); }

  // To be called for the memory of bytes() before its first use. With the address sanitizer it is
  // an error to touch what lies between buffers.
  void WatchGaps(uint8_t* memory) const {
#ifdef __SANITIZE_ADDRESS__
    for (const auto& [begin, end] : gaps_) ASAN_POISON_MEMORY_REGION(memory + begin, end - begin);
#else
    static_cast<void>(memory);
#endif
  }

  size_t bytes() const { return bytes_; }
  size_t mask_bytes() const { return mask_bytes_; }
  size_t scratch_bytes() const { return scratch_bytes_; }

 private:
  size_t Reserve(size_t bytes);
  static LevelImages::Image ReserveImage(int width_px, int height_px, size_t* end);

  size_t bytes_ = 0;
  size_t mask_bytes_ = 0;
  size_t scratch_bytes_ = 0;
#ifdef __SANITIZE_ADDRESS__
  std::vector<std::pair<size_t, size_t>> gaps_;
#endif
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_MEMORY_WORKSPACE_LAYOUT_H_
