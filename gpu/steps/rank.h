// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `rank`: the second cut, by response, and the order of the keypoints that it leaves.

#ifndef ORBSERVE_GPU_STEPS_RANK_H_
#define ORBSERVE_GPU_STEPS_RANK_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "features/pipeline/compiled.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

struct RankParams {
  Frames frames;
  int32_t levels;
  int32_t multiprocessors;
  bool all_levels;  // the second cut is one for all levels (FrameParams::second_cut[0])
};

// Brings the survivors of every (frame, level) into rank order and counts those that are kept.
// Frames with a list of survivors that found no room are left alone.
absl::Status LaunchRank(const RankParams& params, cudaStream_t stream);

class RankStep final : public Step {
 public:
  explicit RankStep(const CompiledPipeline& pipeline)
      : levels_(pipeline.pyramid.detecting_levels),
        all_levels_(CutsAllLevels(pipeline.spec.pipeline)) {}

  absl::string_view name() const override { return "rank"; }
  StageSet stages() const override { return Stage::kSelect; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;
  // Sorts lists of any length.
  absl::Status FinishLarge(const StepContext& context, LargeFrame* frame) const override;

  RankParams ParamsFor(const StepContext& context) const {
    return {context.frames, levels_, context.tables->multiprocessors, all_levels_};
  }

 private:
  const int levels_;
  const bool all_levels_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_RANK_H_
