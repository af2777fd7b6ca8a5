// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `minimum_distance`: a response map to those candidates that keep their distance from all
// better ones that are kept (features/algo/minimum_distance.h), for distances of 2 and more.

#ifndef ORBSERVE_GPU_STEPS_SUPPRESS_MINIMUM_DISTANCE_H_
#define ORBSERVE_GPU_STEPS_SUPPRESS_MINIMUM_DISTANCE_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "features/pipeline/compiled.h"
#include "gpu/memory/arena_layout.h"
#include "gpu/steps/detect/corner_sink.h"
#include "gpu/steps/detect/response_map.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/step.h"
#include "gpu/steps/suppress/distance_params.h"

namespace orbserve::gpu {

// The best candidate of each cell. Clears what the passes write.
absl::Status LaunchDistanceCells(const DistanceParams& params, cudaStream_t stream);
// Pass number `pass`, from 1 on, over all cells. The corners that become inside go to the sink.
// `lists`: makes the lists of undecided cells, with which LaunchLastPasses() begins.
absl::Status LaunchPass(const DistanceParams& params, int pass, bool lists, cudaStream_t stream);
// All passes from `first_pass` on over the listed cells; after tiles the first one is 1.
// `cluster_blocks`: thread blocks that share a level of a frame.
absl::Status LaunchLastPasses(const DistanceParams& params, int first_pass, int cluster_blocks,
                              cudaStream_t stream);

class MinimumDistanceStep final : public Step {
 public:
  MinimumDistanceStep(const CompiledPipeline& pipeline, const LevelImageBuffers& images,
                      const ResponseMapBuffers& maps, const CornerSinkBuffers& sink,
                      ArenaLayout* layout);

  absl::string_view name() const override { return "minimum_distance"; }
  StageSet stages() const override { return Stage::kSuppress; }
  absl::Status AddDevice(int device, const std::shared_ptr<MemoryBudget>& budget) override;
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

  DistanceParams ParamsFor(const StepContext& context) const;
  // Thread blocks that share a level of a frame in the last passes, and passes before these.
  int ClusterBlocks(const StepContext& context) const;
  int WidePasses(int cluster_blocks) const;

 private:
  const LevelImageBuffers images_;
  const ResponseMapBuffers maps_;
  const CornerSinkBuffers sink_;
  DistanceParams params_{};       // without what a context brings
  bool many_candidates_ = false;  // SHI_TOMASI
  int most_cells_ = 0;            // of a level
  BufferId best_{};
  BufferId inside_{};
  BufferId list_[kCellLists]{};
  // Of each of the plan's devices.
  std::vector<int> most_cluster_blocks_;
  std::vector<int> tile_bytes_;  // shared memory of a block that has a tile; 0 = too little
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SUPPRESS_MINIMUM_DISTANCE_H_
