// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `rbrief32`: angle and rBRIEF-32 of every keypoint, in one kernel, from the levels as they
// are. It writes the records, descriptors and reports of the batch.

#ifndef ORBSERVE_GPU_STEPS_DESCRIBE_RBRIEF32_H_
#define ORBSERVE_GPU_STEPS_DESCRIBE_RBRIEF32_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "features/algo/rbrief_pattern.h"
#include "features/options.h"
#include "features/pipeline/compiled.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

struct RBrief32Params {
  Frames frames;
  LevelImages images;
  const algo::RBriefPair* pattern;  // device copy of algo::kRBrief32Pattern
  int32_t levels;                   // that can hold a keypoint of a detection
  int32_t multiprocessors;
  Orientation orientation;  // of detected features
  int32_t arc_length;       // of FAST, 9..12; kArcMiddle only
};

// Angle and descriptor of every ranked or given keypoint: records, descriptors and the report of
// each frame.
absl::Status LaunchRBrief32(const RBrief32Params& params, cudaStream_t stream);

class RBrief32Step final : public Step {
 public:
  RBrief32Step(const CompiledPipeline& pipeline, const LevelImageBuffers& images)
      : images_(images),
        levels_(pipeline.pyramid.detecting_levels),
        orientation_(pipeline.spec.pipeline.describe.orientation),
        arc_length_(pipeline.spec.pipeline.detect.fast_arc_length) {}

  absl::string_view name() const override { return "rbrief32"; }
  StageSet stages() const override { return {Stage::kOrient, Stage::kDescribe}; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

 private:
  const LevelImageBuffers images_;
  const int levels_;
  const Orientation orientation_;
  const int arc_length_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DESCRIBE_RBRIEF32_H_
