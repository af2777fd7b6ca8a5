// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `track_pyramid`: level 0 of every frame whose state keeps a pyramid to the pyramid of that
// state.

#ifndef ORBSERVE_GPU_STEPS_TRACK_PYRAMID_H_
#define ORBSERVE_GPU_STEPS_TRACK_PYRAMID_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "features/algo/lucas_kanade.h"
#include "features/pipeline/compiled.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

struct TrackPyramidLevel {
  int32_t width_px;
  int32_t height_px;
  int32_t pitch_bytes;
  int32_t offset;  // of its first pixel in the pyramid
};

// Layout of a state's pyramid in its memory: level 0 comes first, with rows as in a leased
// slot, each level with kImagePaddingBytes around.
struct TrackPyramid {
  int32_t levels;
  TrackPyramidLevel level[algo::kMaxTrackLevels];

  // Lays out those of `levels` levels that exist, as PyramidGeometry::track_levels has them.
  static TrackPyramid For(int width_px, int height_px, int levels);
  size_t bytes() const;
};

// Makes the coarser levels of pyramids from level 0.
struct TrackPyramidParams {
  TrackPyramid pyramid;
  // Either the pyramids of a batch, whose level 0 is copied from its slot,
  Frames frames;
  const uint8_t* input;
  // or one pyramid in which level 0 is already.
  uint8_t* alone;
};
absl::Status LaunchTrackPyramid(const TrackPyramidParams& params, cudaStream_t stream);

// Launches for batches in which some frame keeps a pyramid (GraphKind::pyramids).
class TrackPyramidStep final : public Step {
 public:
  TrackPyramidStep(const CompiledPipeline& pipeline, const LevelImageBuffers& images)
      : images_(images),
        pyramid_(TrackPyramid::For(pipeline.spec.width_px, pipeline.spec.height_px,
                                   pipeline.spec.track_levels)) {}

  absl::string_view name() const override { return "track_pyramid"; }
  StageSet stages() const override { return Stage::kPyramid; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

 private:
  const LevelImageBuffers images_;
  const TrackPyramid pyramid_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_TRACK_PYRAMID_H_
