// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `cell`: the best keypoint of each cell, over all levels of a frame.

#ifndef ORBSERVE_GPU_STEPS_SUPPRESS_CELL_H_
#define ORBSERVE_GPU_STEPS_SUPPRESS_CELL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "features/algo/cell.h"
#include "features/pipeline/compiled.h"
#include "gpu/memory/arena_layout.h"
#include "gpu/steps/detect/corner_lists.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

// The grid of a pipeline, for kernels: cells of level 0, and the scales of the levels.
struct ScaledGrid {
  algo::CellGrid grid;
  float scale[kMaxLevels];

  static ScaledGrid Of(const CompiledPipeline& pipeline);
};

// Winners of the cells of each frame: algo::CellKey(), algo::kNoCellKey where a cell has no
// keypoint. For kernels.
struct CellWinners {
  uint64_t* key;  // [frame][cell]; null: the pipeline has no cells
  ScaledGrid cells;
};

// Their buffer in a plan's arena.
class CellWinnerBuffers {
 public:
  CellWinnerBuffers(const CompiledPipeline& pipeline, ArenaLayout* layout);

  CellWinners At(const StepContext& context) const {
    return {reinterpret_cast<uint64_t*>(context.At(winners_)), cells_};
  }

 private:
  ScaledGrid cells_;
  BufferId winners_;
};

struct CellParams {
  Frames frames;
  KeyLists keys;
  CellWinners winners;
  int32_t multiprocessors;
};

// True where step `fast_keys` offers corners to the cells as it finds them. A second threshold
// drops some of them afterwards, so that there lists come first.
constexpr bool SearchOffersToCells(const GraphKind& kind) { return !kind.low_threshold; }

// Finds the winner of each cell. The lists stay as they are: step `key_survivors` replaces them by
// the winners.
absl::Status LaunchCells(const CellParams& params, cudaStream_t stream);

class CellStep final : public Step {
 public:
  // `offered`: the search offers its corners to the cells itself, where it can
  // (SearchOffersToCells()).
  CellStep(const KeyListBuffers& keys, const CellWinnerBuffers& winners, bool offered)
      : keys_(keys), winners_(winners), offered_(offered) {}

  absl::string_view name() const override { return "cell"; }
  StageSet stages() const override { return {Stage::kDetect, Stage::kSuppress}; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

 private:
  const KeyListBuffers keys_;
  const CellWinnerBuffers winners_;
  const bool offered_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SUPPRESS_CELL_H_
