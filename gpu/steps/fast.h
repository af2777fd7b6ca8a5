// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `fast`: FAST corners, their scores and 3x3 suppression, in one kernel.

#ifndef ORBSERVE_GPU_STEPS_FAST_H_
#define ORBSERVE_GPU_STEPS_FAST_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "features/pipeline/compiled.h"
#include "gpu/steps/corner_lists.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

// Tiles into which the levels of a frame are divided, one block each.
struct FastTiles {
  int32_t border_px;
  int32_t rows;                 // that a tile yields
  int32_t begin[kMaxLevels];    // first tile of a level in the frame's tiles
  int32_t columns[kMaxLevels];  // tiles side by side
  int32_t levels;
  int32_t count;  // of all levels

  // The largest number of rows that a tile may yield. A tile looks at two more, in steps of four:
  // 6, 10, 14, ... use it best.
  static constexpr int kMostRows = 30;
  static FastTiles With(int rows, const CompiledPipeline& pipeline);
  // Tiles for a batch of `frames`. Tall tiles look at fewer rows twice; low ones fill a device with
  // little work: the tallest with eight tiles for each multiprocessor, as measured on an H200.
  static FastTiles For(int frames, int multiprocessors, const CompiledPipeline& pipeline);
};

struct FastParams {
  Frames frames;
  LevelImages images;
  FastCornerLists corners;
  FastTiles tiles;
  int32_t arc_length;  // 9..12
  CornerTest test;
  const uint32_t* bit_table;  // of `arc_length`; kBitTable only
  int32_t first_level;        // levels [first_level, last_level]
  int32_t last_level;
};

// FAST corners with 3x3 suppression inside the border of the levels of every frame, as far as its
// mask allows: their positions and scores in any order, their number, and the histogram of their
// scores.
absl::Status LaunchFastCorners(const FastParams& params, cudaStream_t stream);

class FastStep final : public Step {
 public:
  // Searches levels [first_level, last_level].
  FastStep(const CompiledPipeline& pipeline, const LevelImageBuffers& images,
           const FastCornerListBuffers& corners, int first_level, int last_level)
      : pipeline_(pipeline),
        images_(images),
        corners_(corners),
        first_level_(first_level),
        last_level_(last_level) {}

  absl::string_view name() const override { return "fast"; }
  StageSet stages() const override { return {Stage::kDetect, Stage::kSuppress}; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

  FastParams ParamsFor(const StepContext& context) const;

 private:
  const CompiledPipeline& pipeline_;  // the plan's
  const LevelImageBuffers images_;
  const FastCornerListBuffers corners_;
  const int first_level_;
  const int last_level_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_FAST_H_
