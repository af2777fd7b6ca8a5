// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Descriptors of SIFT.

#ifndef ORBSERVE_GPU_STEPS_SIFT_DESCRIPTORS_H_
#define ORBSERVE_GPU_STEPS_SIFT_DESCRIPTORS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "features/algo/sift_descriptor.h"
#include "features/pipeline/sift_rows.h"
#include "gpu/frame/frame_params.h"
#include "gpu/steps/sift/sift_data.h"
#include "gpu/steps/sift/sift_geometry.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

struct SiftDescriptorsParams {
  Frames frames;
  int multiprocessors;
  SiftScaleSpace space;
  int32_t first_octave;
  bool describes;  // else features have no descriptors
  algo::SiftNorm norm;
  bool follows;  // may overlap with the kernel before it (gpu/runtime/overlap.cuh)
};

// Writes records (algo::SiftFeature, octaves count from 0) and descriptors of the answer, and the
// frame's report.
absl::Status LaunchSiftDescriptors(const SiftDescriptorsParams& params, cudaStream_t stream);

class SiftDescriptorsStep final : public Step {
 public:
  SiftDescriptorsStep(const CompiledPipeline& pipeline, const SiftBuffers& buffers)
      : buffers_(buffers),
        describes_(pipeline.descriptor_bytes > 0),
        norm_(SiftNormOf(pipeline.spec.pipeline.describe.descriptor)) {}

  absl::string_view name() const override { return "descriptors"; }
  StageSet stages() const override { return Stage::kDescribe; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

 private:
  const SiftBuffers buffers_;
  const bool describes_;
  const algo::SiftNorm norm_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SIFT_DESCRIPTORS_H_
