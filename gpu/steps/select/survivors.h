// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `survivors`: the first cut, by detection score, and the response of each corner that it
// leaves.

#ifndef ORBSERVE_GPU_STEPS_SELECT_SURVIVORS_H_
#define ORBSERVE_GPU_STEPS_SELECT_SURVIVORS_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "features/pipeline/compiled.h"
#include "gpu/steps/detect/corner_lists.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

struct SurvivorParams {
  Frames frames;
  LevelImages images;
  FastCornerLists corners;
  int32_t multiprocessors;
  bool harris;  // responses are Harris values; else detection scores
};

// Writes a rank key for each survivor to the frame's list of its level, in any order, and counts
// the survivors of each level.
absl::Status LaunchSurvivors(const SurvivorParams& params, cudaStream_t stream);

class SurvivorsStep final : public Step {
 public:
  SurvivorsStep(const CompiledPipeline& pipeline, const LevelImageBuffers& images,
                const FastCornerListBuffers& corners)
      : images_(images),
        corners_(corners),
        harris_(pipeline.spec.pipeline.detect.score == Score::kHarris) {}

  absl::string_view name() const override { return "survivors"; }
  StageSet stages() const override { return Stage::kSelect; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;
  // Runs again with room for all survivors if a list overflowed.
  absl::Status FinishLarge(const StepContext& context, LargeFrame* frame) const override;

  SurvivorParams ParamsFor(const StepContext& context) const;

 private:
  const LevelImageBuffers images_;
  const FastCornerListBuffers corners_;
  const bool harris_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SELECT_SURVIVORS_H_
