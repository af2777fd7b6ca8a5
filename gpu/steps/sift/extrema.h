// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Extrema of the scale space of SIFT, with their fit.

#ifndef ORBSERVE_GPU_STEPS_SIFT_EXTREMA_H_
#define ORBSERVE_GPU_STEPS_SIFT_EXTREMA_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "features/algo/sift_extremum.h"
#include "gpu/frame/frame_params.h"
#include "gpu/steps/sift/sift_data.h"
#include "gpu/steps/sift/sift_geometry.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

struct SiftExtremaParams {
  Frames frames;
  SiftScaleSpace space;
  algo::SiftThresholds thresholds;
  float least_difference;
  int multiprocessors;
  bool overlaps;  // kernels may (gpu/runtime/overlap.cuh), and the first with the one before it
  bool follows;
};

// Fills the list of points. The counters must be zero.
absl::Status LaunchSiftExtrema(const SiftExtremaParams& params, cudaStream_t stream);

class SiftExtremaStep final : public Step {
 public:
  explicit SiftExtremaStep(const SiftBuffers& buffers) : buffers_(buffers) {}

  absl::string_view name() const override { return "extrema"; }
  StageSet stages() const override { return Stage::kDetect; }
  // Runs again with room for all.
  absl::Status FinishLarge(const StepContext& context, LargeFrame* frame) const override;
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

 private:
  const SiftBuffers buffers_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SIFT_EXTREMA_H_
