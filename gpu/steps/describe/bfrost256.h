// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `bfrost256`: angle and BFROST-256 of every keypoint, in one kernel, from the integral images
// of the levels. It writes the records, descriptors and reports of the batch.

#ifndef ORBSERVE_GPU_STEPS_DESCRIBE_BFROST256_H_
#define ORBSERVE_GPU_STEPS_DESCRIBE_BFROST256_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "features/options.h"
#include "features/pipeline/compiled.h"
#include "gpu/steps/describe/integral.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

struct BFrostParams {
  Frames frames;
  LevelImages images;
  IntegralImages integrals;
  int32_t levels;  // that can hold a keypoint of a detection
  int32_t multiprocessors;
  Orientation orientation;  // of detected features
  int32_t arc_length;       // of FAST, 9..12; kArcMiddle only
};

// Angle and descriptor of every ranked or given keypoint: records, descriptors and the report of
// each frame.
absl::Status LaunchBFrost256(const BFrostParams& params, cudaStream_t stream);

class BFrost256Step final : public Step {
 public:
  BFrost256Step(const CompiledPipeline& pipeline, const LevelImageBuffers& images,
                const IntegralBuffers& integrals)
      : images_(images),
        integrals_(integrals),
        levels_(pipeline.pyramid.detecting_levels),
        orientation_(pipeline.spec.pipeline.describe.orientation),
        arc_length_(pipeline.spec.pipeline.detect.fast_arc_length) {}

  absl::string_view name() const override { return "bfrost256"; }
  StageSet stages() const override;
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

 private:
  const LevelImageBuffers images_;
  const IntegralBuffers integrals_;
  const int levels_;
  const Orientation orientation_;
  const int arc_length_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DESCRIBE_BFROST256_H_
