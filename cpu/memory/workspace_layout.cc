// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/memory/workspace_layout.h"

#include <utility>

#include "cpu/memory/aligned_buffer.h"
#include "features/host_device.h"
#include "features/image_view.h"

namespace orbserve::cpu {
namespace {

constexpr size_t Aligned(size_t bytes) { return RoundUp<size_t>(bytes, AlignedBuffer::kAlignment); }

ptrdiff_t LevelPitch(int width_px) {
  ptrdiff_t pitch = RoundUp(width_px, kRowAlignmentBytes);
  // Rows a multiple of 1 KiB apart would share few sets of the first cache, and kernels read seven
  // or more rows at a time.
  if (pitch % 1024 == 0) pitch += kRowAlignmentBytes;
  return pitch;
}

}  // namespace

size_t WorkspaceLayout::Reserve(size_t bytes) {
  size_t end = bytes_ + Aligned(bytes);
#ifdef __SANITIZE_ADDRESS__
  end += AlignedBuffer::kAlignment;
  gaps_.emplace_back(bytes_ + bytes, end);
#endif
  return std::exchange(bytes_, end);
}

// One row more than the image has: resampling reads below a clamped end.
LevelImages::Image WorkspaceLayout::ReserveImage(int width_px, int height_px, size_t* end) {
  LevelImages::Image image = {*end + kImagePaddingBytes, width_px, height_px, LevelPitch(width_px)};
  *end = image.offset +
         static_cast<size_t>(image.pitch_bytes) * (static_cast<size_t>(height_px) + 1) +
         Aligned(kImagePaddingBytes);
  return image;
}

}  // namespace orbserve::cpu
