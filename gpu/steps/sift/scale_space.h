// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The scale space of SIFT: octaves of Gaussian images.

#ifndef ORBSERVE_GPU_STEPS_SIFT_SCALE_SPACE_H_
#define ORBSERVE_GPU_STEPS_SIFT_SCALE_SPACE_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "gpu/frame/frame_params.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/sift/sift_geometry.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

struct SiftScaleSpaceParams {
  Frames frames;
  const uint8_t* input;  // of level 0: FrameParams::image_offset counts from there
  int pitch_bytes;
  const SiftGeometry* geometry;  // host memory
  float* images;                 // [frame][SiftGeometry::image_bytes()]
  float* rows;                   // [frame][SiftGeometry::row_bytes()]
  int multiprocessors;
  bool overlaps;  // kernels may (gpu/runtime/overlap.cuh), and the first with the
  bool follows;   // one before it
};

// Fills the images of all octaves.
absl::Status LaunchSiftScaleSpace(const SiftScaleSpaceParams& params, cudaStream_t stream);

class SiftScaleSpaceStep final : public Step {
 public:
  SiftScaleSpaceStep(const LevelImageBuffers& images, const SiftBuffers& buffers)
      : images_(images), buffers_(buffers) {}

  absl::string_view name() const override { return "scale_space"; }
  StageSet stages() const override { return Stage::kPyramid; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

 private:
  const LevelImageBuffers images_;
  const SiftBuffers buffers_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SIFT_SCALE_SPACE_H_
