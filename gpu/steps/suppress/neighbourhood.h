// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `neighbourhood`: a response map to those candidates that are strictly greater than all
// others in a window round them (the suppression NEIGHBOURHOOD, and the first half of CELL). A
// minimum distance of 1 is a window of one pixel: it keeps all candidates.

#ifndef ORBSERVE_GPU_STEPS_SUPPRESS_NEIGHBOURHOOD_H_
#define ORBSERVE_GPU_STEPS_SUPPRESS_NEIGHBOURHOOD_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "features/pipeline/compiled.h"
#include "features/pipeline/geometry.h"
#include "gpu/steps/detect/corner_sink.h"
#include "gpu/steps/detect/response_map.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

struct NeighbourhoodParams {
  Frames frames;
  LevelImages images;
  ResponseMaps maps;
  CornerSink sink;
  int32_t radius_px;            // 0..4
  int32_t margin_px;            // pixels nearer to the sides of a level have no response
  bool is_corner_map;           // else the maps are FAST's
  bool counts_passes;           // of the minimum distance: one where there is a candidate
  Region region[kMaxLevels];    // pixels that may be keypoints
  int32_t begin[kMaxLevels];    // first block of a level in the frame's blocks
  int32_t columns[kMaxLevels];  // blocks side by side
  int32_t levels;
  int32_t blocks;  // of all levels
};

// Writes the corners of every frame to the sink, in any order, and counts them.
absl::Status LaunchNeighbourhood(const NeighbourhoodParams& params, cudaStream_t stream);

class NeighbourhoodStep final : public Step {
 public:
  NeighbourhoodStep(const CompiledPipeline& pipeline, const LevelImageBuffers& images,
                    const ResponseMapBuffers& maps, const CornerSinkBuffers& sink);

  absl::string_view name() const override { return "neighbourhood"; }
  StageSet stages() const override { return Stage::kSuppress; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

  NeighbourhoodParams ParamsFor(const StepContext& context) const;

 private:
  const LevelImageBuffers images_;
  const ResponseMapBuffers maps_;
  const CornerSinkBuffers sink_;
  NeighbourhoodParams params_{};  // without what a context brings
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SUPPRESS_NEIGHBOURHOOD_H_
