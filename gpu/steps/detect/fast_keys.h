// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `fast_keys`: FAST corners with suppression in a window, and the responses of those that are
// left, as rank keys. One kernel.

#ifndef ORBSERVE_GPU_STEPS_DETECT_FAST_KEYS_H_
#define ORBSERVE_GPU_STEPS_DETECT_FAST_KEYS_H_

#include <cuda_runtime_api.h>

#include <optional>

#include "absl/status/status.h"
#include "features/options.h"
#include "features/pipeline/compiled.h"
#include "features/pipeline/detection.h"
#include "gpu/steps/detect/corner_lists.h"
#include "gpu/steps/detect/fast.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/step.h"
#include "gpu/steps/suppress/cell.h"

namespace orbserve::gpu {

struct FastKeyParams : FastSearch {
  KeyLists keys;
  Score score;                // the response of a key
  bool compares_fast_scores;  // in the window; else responses
  CellWinners winners;        // key not null: corners go there, and to no list
};

// FAST corners with suppression inside the border of the levels of every frame, as far as its mask
// allows: their rank keys in any order, and their number (FrameCounters::corners); or the
// winners of the cells, which are empty or hold winners of other levels before. A sum of
// absolute differences, or a Harris response above 0, counts for the window if responses are
// compared. kArcExtremes tests FAST scores alone; in its place other scores take kBinaryEncoding.
absl::Status LaunchFastKeys(const FastKeyParams& params, cudaStream_t stream);

class FastKeysStep final : public Step {
 public:
  // Searches levels [first_level, last_level]. `winners`: of the suppression CELL.
  FastKeysStep(const CompiledPipeline& pipeline, const LevelImageBuffers& images,
               const KeyListBuffers& keys, const std::optional<CellWinnerBuffers>& winners,
               int first_level, int last_level)
      : pipeline_(pipeline),
        images_(images),
        keys_(keys),
        winners_(winners),
        first_level_(first_level),
        last_level_(last_level) {}

  absl::string_view name() const override { return "fast_keys"; }
  StageSet stages() const override { return {Stage::kDetect, Stage::kSuppress}; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

  FastKeyParams ParamsFor(const StepContext& context) const;

 private:
  const CompiledPipeline& pipeline_;  // the plan's
  const LevelImageBuffers images_;
  const KeyListBuffers keys_;
  const std::optional<CellWinnerBuffers> winners_;
  const int first_level_;
  const int last_level_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DETECT_FAST_KEYS_H_
