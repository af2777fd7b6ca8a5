// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `low_threshold`: weak corners stay where there are no strong ones
// (features/algo/low_threshold.h). It launches nothing for batches without a second threshold.

#ifndef ORBSERVE_GPU_STEPS_SUPPRESS_LOW_THRESHOLD_H_
#define ORBSERVE_GPU_STEPS_SUPPRESS_LOW_THRESHOLD_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "features/pipeline/compiled.h"
#include "gpu/memory/arena_layout.h"
#include "gpu/steps/detect/corner_lists.h"
#include "gpu/steps/detect/response_map.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

// Cells of kThresholdCellPx pixels a side of a level.
struct ThresholdGrid {
  int32_t columns;
  int32_t rows;
  int64_t offset;  // of its bits in a frame's words
};

struct LowThresholdParams {
  Frames frames;
  LevelImages images;
  // The one that the pipeline has; the others have null pointers.
  FastCornerLists scored;
  KeyLists keyed;
  ResponseMaps maps;
  uint32_t* strong_cells;  // [frame][word], one bit a cell; lists only
  int64_t stride;          // words of a frame
  ThresholdGrid grid[kMaxLevels];
  int32_t levels;
  int32_t border_px;
  int32_t arc_length;
  bool score_is_response;  // responses are FAST scores
};

// Drops the weak corners of cells with a strong one from the frames with a second threshold. Scored
// corners that are dropped get the score 0 and leave the histogram; keyed ones leave the list;
// pixels of a map become 0.
absl::Status LaunchLowThreshold(const LowThresholdParams& params, cudaStream_t stream);

class LowThresholdStep final : public Step {
 public:
  // Works on the map, where there is one, else on the list that there is.
  LowThresholdStep(const CompiledPipeline& pipeline, const LevelImageBuffers& images,
                   const std::optional<FastCornerListBuffers>& scored,
                   const std::optional<KeyListBuffers>& keyed,
                   const std::optional<ResponseMapBuffers>& maps, ArenaLayout* layout);

  absl::string_view name() const override { return "low_threshold"; }
  // The stage behind it: pipelines time the same stages with and without a second threshold.
  StageSet stages() const override { return stages_; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

 private:
  const LevelImageBuffers images_;
  const std::optional<FastCornerListBuffers> scored_;
  const std::optional<KeyListBuffers> keyed_;
  const std::optional<ResponseMapBuffers> maps_;
  LowThresholdParams params_{};  // without frames and pointers
  BufferId strong_cells_;
  StageSet stages_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SUPPRESS_LOW_THRESHOLD_H_
