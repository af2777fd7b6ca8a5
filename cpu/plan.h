// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What is decided once for all frames of a size and pipeline: the geometry of the levels, how each
// is divided into tasks, and where everything lies in the memory that a frame works in.

#ifndef ORBSERVE_CPU_PLAN_H_
#define ORBSERVE_CPU_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "cpu/aligned_buffer.h"
#include "cpu/blur_runs.h"
#include "cpu/stages.h"
#include "cpu/workspace.h"
#include "features/backend.h"
#include "features/recycling_pool.h"

namespace orbserve::cpu {

// One level of the pyramid.
struct LevelPlan {
  int width_px = 0;
  int height_px = 0;
  ptrdiff_t pitch_bytes = 0;  // of the images in the workspace
  float scale = 1.0f;         // level pixels to level-0 pixels
  float inverse_scale = 1.0f;
  float patch_size_px = 0.0f;  // Features::size of its keypoints
  ResizeAxis x_axis;           // from the level it is made of; empty for level 0
  ResizeAxis y_axis;

  // Where keypoints may lie, and its division into strips of rows for corner detection. No strips
  // when the level is too small for any.
  Region region = {0, 0, 0, 0};
  int strip_rows = 0;
  int strips = 0;
  int64_t strip_candidates = 0;  // entries reserved for each strip
  int max_points = 0;            // keypoints that can be kept of this level

  int tile_columns = 0;
  int tile_rows = 0;

  // Offsets in bytes into Workspace::memory. `image` of level 0 is the input itself.
  size_t image = 0;
  size_t mask = 0;  // into Workspace::mask_memory
  size_t blurred = 0;
  size_t strip_counts = 0;  // int32_t [strips]
  size_t candidates = 0;    // Candidate [strips][strip_candidates]
  size_t keys = 0;          // uint64_t [strips * strip_candidates]
  size_t points = 0;        // LevelPoint [max_points]
  size_t descriptors = 0;   // uint8_t [max_points][descriptor bytes]
  size_t tile_marks = 0;    // uint8_t [tile_columns][tile_rows]
  size_t blur_runs = 0;     // BlurRun [tile_columns * tile_rows]
};

// Thread-safe: constant but for its pools.
class CpuPlan final : public FeaturePlan {
 public:
  // `stages` must outlive the plan. INVALID_ARGUMENT for bad options or sizes, RESOURCE_EXHAUSTED
  // when the workspace of a frame does not fit into memory.
  static absl::StatusOr<std::shared_ptr<CpuPlan>> Create(const PlanSpec& spec, const Stages& stages,
                                                         int threads);

  const PlanSpec& spec() const override { return spec_; }
  int max_batch_frames() const override { return 64; }
  size_t size_bytes() const override;

  const Stages& stages() const { return stages_; }
  int threads() const { return threads_; }
  // Levels that exist: neither side rounds to 0.
  const std::vector<LevelPlan>& levels() const { return levels_; }
  // The first levels, those up to the last that is large enough to have keypoints.
  int detecting_levels() const { return detecting_levels_; }
  int descriptor_bytes() const { return descriptor_bytes_; }
  bool orients() const {
    return spec_.pipeline.describe.orientation == Orientation::kIntensityCentroid;
  }
  bool scores_harris() const { return spec_.pipeline.detect.score == Score::kHarris; }
  bool selects_by_level() const {
    return spec_.pipeline.select.selection == Selection::kLevelQuota;
  }
  // The level that `level` >= 1 is made of.
  int source_of(int level) const {
    return spec_.pipeline.pyramid.source == PyramidSource::kLevelZero ? 0 : level - 1;
  }

  // Memory for one frame; null when there is none to be had.
  std::shared_ptr<Workspace> LeaseWorkspace() const;
  size_t mask_bytes() const { return mask_bytes_; }

  // Scratch of one thread of the arena, shared by all frames, as a stage never waits.
  uint8_t* Scratch(int thread) const { return scratch_.data() + scratch_stride_ * thread; }

 private:
  CpuPlan(const PlanSpec& spec, const Stages& stages, int threads);

  void LayOutLevels();
  void LayOutMemory();

  const PlanSpec spec_;
  const Stages& stages_;
  const int threads_;
  const int descriptor_bytes_;
  std::vector<LevelPlan> levels_;
  int detecting_levels_ = 0;
  size_t workspace_bytes_ = 0;
  size_t mask_bytes_ = 0;
  size_t scratch_stride_ = 0;
  AlignedBuffer scratch_;
  std::shared_ptr<RecyclingPool<Workspace>> workspaces_;
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_PLAN_H_
