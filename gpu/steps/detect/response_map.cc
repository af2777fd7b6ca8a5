// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/steps/detect/response_map.h"

namespace orbserve::gpu {

ResponseMapBuffers::ResponseMapBuffers(const CompiledPipeline& pipeline, ArenaLayout* layout) {
  maps_.levels = pipeline.pyramid.detecting_levels;
  for (int l = 0; l < maps_.levels; ++l) {
    const LevelGeometry& level = pipeline.level(l);
    maps_.pitch[l] = RoundUp(level.width_px, kResponsePitch);
    maps_.offset[l] = maps_.stride;
    maps_.stride += static_cast<int64_t>(maps_.pitch[l]) * level.height_px;
  }
  responses_ = layout->Add("responses", static_cast<size_t>(maps_.stride) * sizeof(uint32_t));
}

}  // namespace orbserve::gpu
