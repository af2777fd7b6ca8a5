// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/steps/level_images.h"

#include "features/host_device.h"
#include "features/image_view.h"
#include "gpu/memory/input_pool.h"

namespace orbserve::gpu {

LevelImageBuffers::LevelImageBuffers(const CompiledPipeline& pipeline, bool reads_in_place,
                                     ArenaLayout* layout)
    : reads_in_place_(reads_in_place) {
  const SlotLayout slot = SlotLayout::For(pipeline.spec.width_px, pipeline.spec.height_px);
  int64_t end = kImagePaddingBytes;
  for (int l = 0; l < pipeline.level_count(); ++l) {
    const LevelGeometry& geometry = pipeline.level(l);
    LevelImage& image = images_.level[l];
    image.width_px = geometry.width_px;
    image.height_px = geometry.height_px;
    image.pitch_bytes = l == 0 ? slot.pitch_bytes : RoundUp(geometry.width_px, kRowAlignmentBytes);
    if (l == 0) continue;
    image.offset = end;
    end += static_cast<int64_t>(image.pitch_bytes) * image.height_px + kImagePaddingBytes;
  }
  images_.stride = RoundUp(end, static_cast<int64_t>(kBufferAlignment));
  const auto stride = static_cast<size_t>(images_.stride);
  const size_t input_bytes = reads_in_place ? 0 : slot.image_bytes;
  input_ = layout->Add("input", input_bytes, 2 * input_bytes);
  pyramid_ = layout->Add("pyramid", stride);
  mask_pyramid_ = layout->Add("mask pyramid", 0, stride);
}

LevelImages LevelImageBuffers::At(const StepContext& context) const {
  LevelImages images = images_;
  images.input = reads_in_place_ ? nullptr : context.At(input_);
  images.pyramid = context.At(pyramid_);
  images.mask_pyramid = context.kind.masks ? context.At(mask_pyramid_) : nullptr;
  return images;
}

}  // namespace orbserve::gpu
