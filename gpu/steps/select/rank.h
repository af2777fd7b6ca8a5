// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `rank`: the second cut, by response, and the order of the keypoints that it leaves.

#ifndef ORBSERVE_GPU_STEPS_SELECT_RANK_H_
#define ORBSERVE_GPU_STEPS_SELECT_RANK_H_

#include <cuda_runtime_api.h>

#include <optional>

#include "absl/status/status.h"
#include "features/pipeline/compiled.h"
#include "gpu/steps/detect/corner_lists.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

// The lists that are ranked, and how they are cut.
enum class RankSource {
  // FrameParams::survivors, cut by FrameParams::second_cut. All keys are compared with all.
  kSurvivors,
  // The lists of keyed corners, cut likewise. Long ones are sorted in runs to the lists of
  // survivors.
  kKeys,
  // FrameParams::survivors, as many as FrameCounters::chosen says: of each level the best by
  // FrameParams::second_cut, together at most FrameParams::answer_limit, in the order of the
  // answer. Long ones are sorted in runs to FrameParams::spare.
  kChosen,
};

struct RankParams {
  Frames frames;
  KeyLists keys;  // kKeys
  RankSource source;
  int32_t levels;
  int32_t multiprocessors;
  bool all_levels;        // the second cut is one for all levels (FrameParams::second_cut[0])
  bool overlaps = false;  // kSurvivors: it may begin while the kernel before it ends
};

// Brings the keys of every (frame, level) into rank order and counts those that are kept. Frames
// with a list of survivors that found no room are left alone.
absl::Status LaunchRank(const RankParams& params, cudaStream_t stream);

class RankStep final : public Step {
 public:
  // `keys`: of pipelines with keyed corners.
  explicit RankStep(const CompiledPipeline& pipeline,
                    const std::optional<KeyListBuffers>& keys = std::nullopt);

  absl::string_view name() const override { return "rank"; }
  StageSet stages() const override { return Stage::kSelect; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;
  // Sorts lists of any length.
  absl::Status FinishLarge(const StepContext& context, LargeFrame* frame) const override;

  RankParams ParamsFor(const StepContext& context) const;

 private:
  const std::optional<KeyListBuffers> keys_;
  const RankSource source_;
  const int levels_;
  const bool all_levels_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SELECT_RANK_H_
