// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Corner lists: per frame and level the corners that detection and suppression leave, in any order.
// FrameCounters holds their number, and of scored corners the histogram of their scores. A list has
// room for every corner that suppression can leave. features/pipeline/detection.h says which kind a
// pipeline has.

#ifndef ORBSERVE_GPU_STEPS_DETECT_CORNER_LISTS_H_
#define ORBSERVE_GPU_STEPS_DETECT_CORNER_LISTS_H_

#include <cstdint>

#include "features/options.h"
#include "features/pipeline/compiled.h"
#include "gpu/memory/arena_layout.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

// For kernels. `Score`: as wide as the detector declares.
template <typename Score>
struct CornerLists {
  uint32_t* position;  // y << 16 | x
  Score* score;
  int64_t stride;              // entries of a frame
  int64_t offset[kMaxLevels];  // of a level in a frame's entries
  int32_t levels;              // levels that can hold a keypoint, up to the last one
};

// Their buffers in a plan's arena.
template <typename Score>
class CornerListBuffers {
 public:
  CornerListBuffers(const CompiledPipeline& pipeline, ArenaLayout* layout);

  CornerLists<Score> At(const StepContext& context) const {
    CornerLists<Score> lists = lists_;
    lists.position = reinterpret_cast<uint32_t*>(context.At(position_));
    lists.score = reinterpret_cast<Score*>(context.At(score_));
    return lists;
  }

 private:
  CornerLists<Score> lists_{};  // without pointers
  BufferId position_;
  BufferId score_;
};

// Keyed corners: their rank keys (features/algo/order.h). For kernels.
struct KeyLists {
  uint64_t* key;
  int64_t stride;              // entries of a frame
  int64_t offset[kMaxLevels];  // of a level in a frame's entries; even
  int32_t levels;              // levels that can hold a keypoint, up to the last one
};

// Their buffer in a plan's arena.
class KeyListBuffers {
 public:
  KeyListBuffers(const CompiledPipeline& pipeline, ArenaLayout* layout);

  KeyLists At(const StepContext& context) const {
    KeyLists lists = lists_;
    lists.key = reinterpret_cast<uint64_t*>(context.At(keys_));
    return lists;
  }

 private:
  KeyLists lists_{};  // without a pointer
  BufferId keys_;
};

// FAST's largest threshold fits a byte.
using FastCornerLists = CornerLists<uint8_t>;
using FastCornerListBuffers = CornerListBuffers<uint8_t>;
extern template class CornerListBuffers<uint8_t>;

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DETECT_CORNER_LISTS_H_
