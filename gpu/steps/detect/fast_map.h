// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `fast_map`: response maps of FAST corners, for a suppression that looks farther than a tile.

#ifndef ORBSERVE_GPU_STEPS_DETECT_FAST_MAP_H_
#define ORBSERVE_GPU_STEPS_DETECT_FAST_MAP_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "features/options.h"
#include "features/pipeline/compiled.h"
#include "gpu/steps/detect/fast.h"
#include "gpu/steps/detect/response_map.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

struct FastMapParams : FastSearch {  // tiles with radius 0, of whole levels
  ResponseMaps maps;
  Score score;
  int32_t border_px;
  bool positive_only;  // a response of 0 or below is no corner, where it is a patch's
};

// Response maps of the levels of every frame: corners inside the border, as far as its mask allows,
// and 0 for all other pixels, up to the pitch. kArcExtremes tests FAST scores alone; in its place
// other scores take kBinaryEncoding.
absl::Status LaunchFastMap(const FastMapParams& params, cudaStream_t stream);

class FastMapStep final : public Step {
 public:
  // Searches levels [first_level, last_level].
  FastMapStep(const CompiledPipeline& pipeline, const LevelImageBuffers& images,
              const ResponseMapBuffers& maps, int first_level, int last_level)
      : pipeline_(pipeline),
        images_(images),
        maps_(maps),
        first_level_(first_level),
        last_level_(last_level) {}

  absl::string_view name() const override { return "fast_map"; }
  StageSet stages() const override { return Stage::kDetect; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

  FastMapParams ParamsFor(const StepContext& context) const;

 private:
  const CompiledPipeline& pipeline_;  // the plan's
  const LevelImageBuffers images_;
  const ResponseMapBuffers maps_;
  const int first_level_;
  const int last_level_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DETECT_FAST_MAP_H_
