// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `cell_rounds`: the best of all cells, then the second best of all cells, and so on, over all
// levels of a frame (features/algo/cell.h).

#ifndef ORBSERVE_GPU_STEPS_SELECT_CELL_ROUNDS_H_
#define ORBSERVE_GPU_STEPS_SELECT_CELL_ROUNDS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "features/pipeline/compiled.h"
#include "gpu/steps/detect/corner_lists.h"
#include "gpu/steps/step.h"
#include "gpu/steps/suppress/cell.h"

namespace orbserve::gpu {

struct CellRoundParams {
  Frames frames;
  KeyLists keys;
  ScaledGrid cells;
  int32_t multiprocessors;
};

// Chooses the first FrameParams::answer_limit keys of each frame by rounds, and puts those of each
// level to FrameParams::ranked in rank order. Needs FrameParams::spare. Frames with a list that
// finds no room are left alone.
absl::Status LaunchCellRounds(const CellRoundParams& params, cudaStream_t stream);

class CellRoundsStep final : public Step {
 public:
  CellRoundsStep(const CompiledPipeline& pipeline, const KeyListBuffers& keys)
      : keys_(keys), cells_(ScaledGrid::Of(pipeline)) {}

  absl::string_view name() const override { return "cell_rounds"; }
  StageSet stages() const override { return Stage::kSelect; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;
  // Runs again with room for all candidates.
  absl::Status FinishLarge(const StepContext& context, LargeFrame* frame) const override;

 private:
  const KeyListBuffers keys_;
  const ScaledGrid cells_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SELECT_CELL_ROUNDS_H_
