// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Orientations of the extrema of SIFT, each of which makes a feature.

#ifndef ORBSERVE_GPU_STEPS_SIFT_DIRECTIONS_H_
#define ORBSERVE_GPU_STEPS_SIFT_DIRECTIONS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "gpu/frame/frame_params.h"
#include "gpu/steps/sift/sift_data.h"
#include "gpu/steps/sift/sift_geometry.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

struct SiftDirectionsParams {
  Frames frames;
  int multiprocessors;
  SiftScaleSpace space;
  int32_t layers;
  int32_t first_octave;
  float sigma;
  bool follows;  // may overlap with the kernel before it (gpu/runtime/overlap.cuh)
};

// Fills the list of features from that of points.
absl::Status LaunchSiftDirections(const SiftDirectionsParams& params, cudaStream_t stream);

class SiftDirectionsStep final : public Step {
 public:
  explicit SiftDirectionsStep(const SiftBuffers& buffers) : buffers_(buffers) {}

  absl::string_view name() const override { return "directions"; }
  StageSet stages() const override { return Stage::kOrient; }
  // Runs again with room for all.
  absl::Status FinishLarge(const StepContext& context, LargeFrame* frame) const override;
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

 private:
  const SiftBuffers buffers_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SIFT_DIRECTIONS_H_
