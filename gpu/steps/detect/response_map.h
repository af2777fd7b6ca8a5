// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Response maps: for each pixel of the levels of a frame OrderedBits() (features/algo/order.h) of
// the response of a candidate, 0 where there is none. They lie between detection and suppression
// (features/pipeline/detection.h). Corner maps hold responses below the quality level, too, which
// suppression passes over: the best response of a frame is known when all of its maps are complete.

#ifndef ORBSERVE_GPU_STEPS_DETECT_RESPONSE_MAP_H_
#define ORBSERVE_GPU_STEPS_DETECT_RESPONSE_MAP_H_

#include <cstdint>

#include "features/host_device.h"
#include "features/options.h"
#include "features/pipeline/compiled.h"
#include "gpu/memory/arena_layout.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

// For kernels.
struct ResponseMaps {
  uint32_t* map;
  int64_t stride;              // entries of a frame
  int64_t offset[kMaxLevels];  // of a level's first row in a frame's entries
  int32_t pitch[kMaxLevels];   // entries between rows, a multiple of kResponsePitch
  int32_t levels;              // levels that can hold a keypoint, up to the last one

  ORBSERVE_HOST_DEVICE uint32_t* Of(int frame_index, int level) const {
    return map + frame_index * stride + offset[level];
  }
};

// Rows begin at multiples of so many entries: 128 bytes, which a warp reads at once.
inline constexpr int kResponsePitch = 32;

// Their buffer in a plan's arena.
class ResponseMapBuffers {
 public:
  ResponseMapBuffers(const CompiledPipeline& pipeline, ArenaLayout* layout);

  ResponseMaps At(const StepContext& context) const {
    ResponseMaps maps = maps_;
    maps.map = reinterpret_cast<uint32_t*>(context.At(responses_));
    return maps;
  }

 private:
  ResponseMaps maps_{};  // without a pointer
  BufferId responses_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DETECT_RESPONSE_MAP_H_
