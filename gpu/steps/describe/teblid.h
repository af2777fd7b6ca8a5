// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `teblid`: angle and TEBLID or BEBLID of every keypoint, in one kernel, from the integral
// image of level 0. It writes the records, descriptors and reports of the batch.

#ifndef ORBSERVE_GPU_STEPS_DESCRIBE_TEBLID_H_
#define ORBSERVE_GPU_STEPS_DESCRIBE_TEBLID_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "features/options.h"
#include "features/pipeline/compiled.h"
#include "gpu/steps/describe/integral.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

struct TeblidParams {
  Frames frames;
  LevelImages images;
  IntegralImages integrals;  // of level 0
  int32_t levels;            // that can hold a keypoint of a detection
  int32_t multiprocessors;
  Orientation orientation;     // of detected features
  int32_t arc_length;          // of FAST, 9..12; kArcMiddle only
  float scale[kMaxLevels];     // pixels of a level to pixels of level 0
  float patch_px[kMaxLevels];  // side of the patch of a detected keypoint of a level
};

class TeblidStep final : public Step {
 public:
  TeblidStep(const CompiledPipeline& pipeline, const LevelImageBuffers& images,
             const IntegralBuffers& integrals);

  absl::string_view name() const override { return "teblid"; }
  StageSet stages() const override;
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

 private:
  const LevelImageBuffers images_;
  const IntegralBuffers integrals_;
  const Descriptor descriptor_;
  TeblidParams params_{};  // without what a batch brings
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DESCRIBE_TEBLID_H_
