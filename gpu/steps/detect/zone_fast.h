// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `zone_fast`: from response maps of FAST scores, the corners of each zone
// (features/algo/zone.h), suppressed and chosen by both thresholds inside their zone.

#ifndef ORBSERVE_GPU_STEPS_DETECT_ZONE_FAST_H_
#define ORBSERVE_GPU_STEPS_DETECT_ZONE_FAST_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "features/algo/zone.h"
#include "features/pipeline/compiled.h"
#include "gpu/steps/detect/corner_lists.h"
#include "gpu/steps/detect/response_map.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

struct ZoneFastParams {
  Frames frames;
  ResponseMaps maps;
  KeyLists keys;
  algo::Zones zones[kMaxLevels];
  int32_t width_px[kMaxLevels];   // of a level
  int32_t height_px[kMaxLevels];  // of a level
  int32_t begin[kMaxLevels + 1];  // first zone of a level in the grid
  int32_t levels;
};

// Rank keys of the corners of every (frame, level), in any order, and their number.
absl::Status LaunchZoneFast(const ZoneFastParams& params, cudaStream_t stream);

class ZoneFastStep final : public Step {
 public:
  ZoneFastStep(const CompiledPipeline& pipeline, const ResponseMapBuffers& maps,
               const KeyListBuffers& keys);

  absl::string_view name() const override { return "zone_fast"; }
  StageSet stages() const override { return Stage::kSuppress; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

 private:
  const ResponseMapBuffers maps_;
  const KeyListBuffers keys_;
  ZoneFastParams params_{};  // without frames and pointers
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DETECT_ZONE_FAST_H_
