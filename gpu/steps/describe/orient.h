// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `orient`: the last step of pipelines that do not describe. It writes the angles of
// keypoints, if there are to be any, with the records and reports of the batch.

#ifndef ORBSERVE_GPU_STEPS_DESCRIBE_ORIENT_H_
#define ORBSERVE_GPU_STEPS_DESCRIBE_ORIENT_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "features/pipeline/compiled.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/select/key_survivors.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

struct OrientParams {
  Frames frames;
  LevelImages images;
  int32_t levels;  // that can hold a keypoint of a detection
  int32_t multiprocessors;
  Orientation orientation;
  int32_t arc_length;  // of FAST, 9..12; kArcMiddle only
};

// Records of every ranked keypoint and the report of each frame. Given keypoints are not for this
// step: without a descriptor they are their own answer.
absl::Status LaunchOrient(const OrientParams& params, cudaStream_t stream);

class OrientStep final : public Step {
 public:
  OrientStep(const CompiledPipeline& pipeline, const LevelImageBuffers& images)
      : images_(images),
        levels_(pipeline.pyramid.detecting_levels),
        orientation_(pipeline.spec.pipeline.describe.orientation),
        arc_length_(pipeline.spec.pipeline.detect.fast_arc_length),
        few_are_written_(levels_ > 0 && FewKeysAreRecords(pipeline.spec.pipeline)) {}

  absl::string_view name() const override { return "orient"; }
  StageSet stages() const override {
    return orientation_ == Orientation::kNone ? Stage::kSelect : Stage::kOrient;
  }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

 private:
  const LevelImageBuffers images_;
  const int levels_;
  const Orientation orientation_;
  const int arc_length_;
  const bool few_are_written_;  // step `key_survivors` writes the records of few keypoints
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DESCRIBE_ORIENT_H_
