// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `key_survivors`: which keyed corners go on to the selection. Step `survivors` does the same
// work for scored corners.

#ifndef ORBSERVE_GPU_STEPS_SELECT_KEY_SURVIVORS_H_
#define ORBSERVE_GPU_STEPS_SELECT_KEY_SURVIVORS_H_

#include <cuda_runtime_api.h>

#include <optional>

#include "absl/status/status.h"
#include "features/pipeline/compiled.h"
#include "gpu/steps/detect/corner_lists.h"
#include "gpu/steps/step.h"
#include "gpu/steps/suppress/cell.h"

namespace orbserve::gpu {

// Which keys of a frame are surely not wanted.
enum class KeyCut {
  kNone,       // CELL and QUADTREE look at all of them
  kEachLevel,  // LEVEL_QUOTA: keys beyond the quota of the level, FrameParams::second_cut
  kFrame,      // BEST: keys beyond the first of the frame, FrameParams::first_keys
};

// Keys of a frame that one block puts in order.
inline constexpr int kFewKeys = 1024;

// True where that block chooses and ranks the keys of a frame of `pipeline` that wants
// `first_keys` (FrameParams::first_keys) of them: keyed corners, BEST, and not too many.
bool ChoosesFewKeys(const CompiledPipeline& pipeline, int first_keys);

// True where that block also writes the records and the report of the frame: its keypoints have
// neither an angle nor a descriptor.
bool FewKeysAreRecords(const PipelineOptions& options);

struct KeySurvivorParams {
  Frames frames;
  KeyLists keys;
  CellWinners winners;  // key null: the corners are the lists' own
  KeyCut cut;
  int32_t width_px;     // of level 0
  bool writes_records;  // LaunchFewKeys() only
};

// Shortens the lists of each frame in place: to the winners of the cells, where there are any, then
// by the cut, which keeps all keys whose response equals that of the last one kept, and may keep
// more. Counts what is left as corners and as survivors.
absl::Status LaunchKeySurvivors(const KeySurvivorParams& params, cudaStream_t stream);

// Chooses and ranks the keys of frames that want few by BEST: the ranked lists, and the numbers of
// survivors and of keypoints that are kept; records and reports, too, if they are wanted. A frame
// without room for its lists is left to the slow path, as LaunchKeySurvivors() leaves it.
absl::Status LaunchFewKeys(const KeySurvivorParams& params, cudaStream_t stream);

class KeySurvivorsStep final : public Step {
 public:
  KeySurvivorsStep(const CompiledPipeline& pipeline, const KeyListBuffers& keys,
                   const std::optional<CellWinnerBuffers>& winners);

  absl::string_view name() const override { return "key_survivors"; }
  StageSet stages() const override { return Stage::kSelect; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

 private:
  const KeyListBuffers keys_;
  const std::optional<CellWinnerBuffers> winners_;
  KeyCut cut_;
  int32_t width_px_;
  bool writes_records_;
  bool has_work_;  // a quadtree looks at the lists as they are, and counts survivors itself
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SELECT_KEY_SURVIVORS_H_
