// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `quadtree`: of each level, keypoints that are spread over it (features/algo/quadtree.h).
// Step `rank` brings them into order.

#ifndef ORBSERVE_GPU_STEPS_SELECT_QUADTREE_H_
#define ORBSERVE_GPU_STEPS_SELECT_QUADTREE_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "features/algo/node_list.h"
#include "features/pipeline/compiled.h"
#include "gpu/steps/detect/corner_lists.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

// What the tree of a level divides.
struct QuadtreeLevel {
  int32_t width_px;  // of the region inside the border
  int32_t height_px;
  // A candidate is its path, shifted up by so many bits, and its place in the list. A list has
  // fewer than 2^path_shift entries.
  int32_t path_shift;
  algo::NodeRoots roots;  // of a node list, which has paths of its own
};

struct QuadtreeParams {
  Frames frames;
  KeyLists keys;
  QuadtreeLevel level[kMaxLevels];
  int32_t border_px;
  int32_t multiprocessors;
  bool follows;   // the first kernel may begin while the one before it ends
  bool overlaps;  // likewise the others
};

// Sorts the candidates of each list by path, to the first half of FrameParams::spare, and takes
// their rank keys along to the second half. `of_node_list`: all lists, by algo::NodePath(); else
// those of which not all keys are kept, by algo::QuadtreePath(). Frames with a list that finds no
// room are left alone.
absl::Status LaunchPathOrder(const QuadtreeParams& params, bool of_node_list, cudaStream_t stream);

// Chooses of each list as many keys as FrameParams::second_cut wants, or up to two more where the
// last node that was split has several children: they come to FrameParams::survivors, in any order,
// and their number to FrameCounters::chosen. Needs FrameParams::spare. Frames with a list that
// finds no room are left alone.
absl::Status LaunchQuadtree(const QuadtreeParams& params, cudaStream_t stream);

class QuadtreeStep final : public Step {
 public:
  QuadtreeStep(const CompiledPipeline& pipeline, const KeyListBuffers& keys);

  absl::string_view name() const override { return "quadtree"; }
  StageSet stages() const override { return Stage::kSelect; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;
  // Runs again with room for all candidates.
  absl::Status FinishLarge(const StepContext& context, LargeFrame* frame) const override;

 private:
  const KeyListBuffers keys_;
  QuadtreeLevel level_[kMaxLevels] = {};
  int border_px_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SELECT_QUADTREE_H_
