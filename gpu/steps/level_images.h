// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Level images: the levels of the frames of a batch, and of their masks. Level 0 is the leased slot
// as it was copied up, or the slot itself; the others lie in a pyramid per frame.

#ifndef ORBSERVE_GPU_STEPS_LEVEL_IMAGES_H_
#define ORBSERVE_GPU_STEPS_LEVEL_IMAGES_H_

#include <cstdint>

#include "features/options.h"
#include "features/pipeline/compiled.h"
#include "gpu/frame/frame_params.h"
#include "gpu/memory/arena_layout.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

struct LevelImage {
  int64_t offset;  // in a frame's pyramid; unused at level 0
  int32_t width_px;
  int32_t height_px;
  int32_t pitch_bytes;
};

// For kernels. Only levels that exist have an entry.
struct LevelImages {
  // The batch's input; null where frames are read in place: their offsets are addresses then.
  const uint8_t* input;
  uint8_t* pyramid;
  uint8_t* mask_pyramid;  // null when no frame has a mask
  int64_t stride;         // bytes of a frame's pyramid
  LevelImage level[kMaxLevels];

#if defined(__CUDACC__)
  __device__ const uint8_t* Image(const FrameParams& frame, int frame_index, int l) const {
    return l == 0 ? input + frame.image_offset : pyramid + frame_index * stride + level[l].offset;
  }
  // Null when the frame has no mask.
  __device__ const uint8_t* Mask(const FrameParams& frame, int frame_index, int l) const {
    if (mask_pyramid == nullptr || frame.mask_offset < 0) return nullptr;
    return l == 0 ? input + frame.mask_offset
                  : mask_pyramid + frame_index * stride + level[l].offset;
  }
#endif
};

// Their buffers in a plan's arena.
class LevelImageBuffers {
 public:
  // `reads_in_place`: see LevelImages::input. The arena then has no input.
  LevelImageBuffers(const CompiledPipeline& pipeline, bool reads_in_place, ArenaLayout* layout);

  LevelImages At(const StepContext& context) const;
  // Slots of the batch, each with its mask behind it if it has one.
  BufferId input() const { return input_; }

 private:
  LevelImages images_{};  // without pointers
  const bool reads_in_place_;
  BufferId input_;
  BufferId pyramid_;
  BufferId mask_pyramid_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_LEVEL_IMAGES_H_
