// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/steps/detect/corner_lists.h"

#include "features/host_device.h"
#include "features/pipeline/capacity.h"

namespace orbserve::gpu {
namespace {

constexpr int64_t kEntryAlignment = 8;  // kernels read four scores at a time

}  // namespace

template <typename Score>
CornerListBuffers<Score>::CornerListBuffers(const CompiledPipeline& pipeline, ArenaLayout* layout) {
  lists_.levels = pipeline.pyramid.detecting_levels;
  for (int l = 0; l < lists_.levels; ++l) {
    lists_.offset[l] = lists_.stride;
    lists_.stride +=
        RoundUp(MaxCorners(pipeline.spec.pipeline, pipeline.level(l).region), kEntryAlignment);
  }
  const auto stride = static_cast<size_t>(lists_.stride);
  position_ = layout->Add("corner positions", stride * sizeof(uint32_t));
  score_ = layout->Add("corner scores", stride * sizeof(Score));
}

template class CornerListBuffers<uint8_t>;

KeyListBuffers::KeyListBuffers(const CompiledPipeline& pipeline, ArenaLayout* layout) {
  lists_.levels = pipeline.pyramid.detecting_levels;
  for (int l = 0; l < lists_.levels; ++l) {
    lists_.offset[l] = lists_.stride;
    lists_.stride += RoundUp(MaxCorners(pipeline.spec.pipeline, pipeline.level(l).region),
                             int64_t{kListAlignment});
  }
  keys_ = layout->Add("corner keys", static_cast<size_t>(lists_.stride) * sizeof(uint64_t));
}

}  // namespace orbserve::gpu
