// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `node_list`: of each level, keypoints that ORB-SLAM3's list of nodes spreads over it, in the
// order of the list (features/algo/node_list.h).

#ifndef ORBSERVE_GPU_STEPS_SELECT_NODE_LIST_H_
#define ORBSERVE_GPU_STEPS_SELECT_NODE_LIST_H_

#include <cuda_runtime_api.h>

#include <cstddef>

#include "absl/status/status.h"
#include "features/algo/zone.h"
#include "features/pipeline/compiled.h"
#include "gpu/steps/detect/corner_lists.h"
#include "gpu/steps/select/quadtree.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

// Entries of FrameParams::spare that a node list needs for each survivor: candidates in order,
// their keys, nodes, children of a pass, open nodes.
inline constexpr size_t kNodeListSpare = 5;

struct NodeListParams {
  QuadtreeParams order;  // with roots
  algo::Zones zones[kMaxLevels];
};

// Keys that the list keeps, in its order, to FrameParams::ranked, and their number to
// FrameCounters::kept. FrameParams::second_cut is the wanted number of a level. Frames with a list
// that finds no room are left alone.
absl::Status LaunchNodeList(const NodeListParams& params, cudaStream_t stream);

class NodeListStep final : public Step {
 public:
  NodeListStep(const CompiledPipeline& pipeline, const KeyListBuffers& keys);

  absl::string_view name() const override { return "node_list"; }
  StageSet stages() const override { return Stage::kSelect; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;
  // Runs again with room for all candidates.
  absl::Status FinishLarge(const StepContext& context, LargeFrame* frame) const override;

 private:
  const KeyListBuffers keys_;
  NodeListParams params_{};  // without frames and pointers
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SELECT_NODE_LIST_H_
