// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `corner_map`: responses of the detectors HARRIS and SHI_TOMASI, and the best of the frame.

#ifndef ORBSERVE_GPU_STEPS_DETECT_CORNER_MAP_H_
#define ORBSERVE_GPU_STEPS_DETECT_CORNER_MAP_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "features/pipeline/compiled.h"
#include "features/pipeline/geometry.h"
#include "gpu/steps/detect/response_map.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

// Parts of the levels of a frame, one warp each.
struct CornerMapTiles {
  int32_t rows;                 // of a tile
  int32_t begin[kMaxLevels];    // first tile of a level in the frame's tiles
  int32_t columns[kMaxLevels];  // tiles side by side
  Region written[kMaxLevels];   // pixels that get a response
  int32_t levels;
  int32_t count;  // of all levels

  static CornerMapTiles With(int rows, const CompiledPipeline& pipeline);
  // Tiles for a batch of `frames`. A tile of R rows reads R + 8 rows; low tiles fill a device with
  // little work.
  static CornerMapTiles For(int frames, int multiprocessors, const CompiledPipeline& pipeline);
};

struct CornerMapParams {
  Frames frames;
  LevelImages images;
  ResponseMaps maps;
  CornerMapTiles tiles;
  Region region[kMaxLevels];  // pixels that may be keypoints
  bool is_harris;             // else Shi-Tomasi
  int32_t first_level;        // levels [first_level, last_level]
  int32_t last_level;
};

// Writes the responses of all pixels of the levels of each frame that later steps look at, and
// takes the best one inside border and mask (FrameCounters::top_order). Masked pixels have 0,
// pixels below the quality level keep their responses.
absl::Status LaunchCornerMap(const CornerMapParams& params, cudaStream_t stream);

class CornerMapStep final : public Step {
 public:
  // Works on levels [first_level, last_level].
  CornerMapStep(const CompiledPipeline& pipeline, const LevelImageBuffers& images,
                const ResponseMapBuffers& maps, int first_level, int last_level)
      : pipeline_(pipeline),
        images_(images),
        maps_(maps),
        first_level_(first_level),
        last_level_(last_level) {}

  absl::string_view name() const override { return "corner_map"; }
  StageSet stages() const override { return Stage::kDetect; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

  CornerMapParams ParamsFor(const StepContext& context) const;

 private:
  const CompiledPipeline& pipeline_;  // the plan's
  const LevelImageBuffers images_;
  const ResponseMapBuffers maps_;
  const int first_level_;
  const int last_level_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DETECT_CORNER_MAP_H_
