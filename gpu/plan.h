// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What is decided once for all frames of a size and pipeline: the geometry of the levels, the
// resize tables on each device, where everything lies in a lane's arena, and the CUDA graphs.

#ifndef ORBSERVE_GPU_PLAN_H_
#define ORBSERVE_GPU_PLAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "features/algo/rbrief_pattern.h"
#include "features/backend.h"
#include "gpu/input_pool.h"
#include "gpu/kernels/fast.h"
#include "gpu/kernels/layout.h"
#include "gpu/runtime/memory.h"
#include "gpu/runtime/stream.h"

namespace orbserve::gpu {

// Features of a frame that fit into the pinned records of a lane. Frames with more, which a caller
// asks for or which ties bring, take the slow path.
inline constexpr int kNormalRecords = 8192;

// Batch sizes that have graphs: 1, 2, 4, ..., 64. A batch runs in the smallest that holds it.
inline constexpr int kBatchClasses = 7;
constexpr int FramesOfClass(int batch_class) { return 1 << batch_class; }
int ClassOfFrames(int frames);

// Which launches a batch needs.
struct GraphKind {
  int batch_class = 0;
  bool masks = false;  // some frame has a mask
  bool given = false;  // some frame has given keypoints: all levels are made

  size_t index() const {
    return static_cast<size_t>(batch_class) * 4 + (masks ? 2 : 0) + (given ? 1 : 0);
  }
};
inline constexpr size_t kGraphKinds = kBatchClasses * 4;

// Tables of one device that do not depend on plans.
struct DeviceTables {
  const algo::RBriefPair* pattern = nullptr;  // algo::kRBriefPattern
  const uint32_t* bit_tables = nullptr;       // [arc_length - 9][kBitTableWords]
  CornerTest default_test = CornerTest::kArcExtremes;
};

// Where a batch's data lies in an arena.
struct ArenaLayout {
  size_t params = 0;
  size_t counters = 0;
  size_t input = 0;
  size_t pyramid = 0;
  size_t mask_pyramid = 0;
  size_t corner_position = 0;
  size_t corner_score = 0;
  size_t survivors = 0;
  size_t ranked = 0;
  size_t total = 0;
};

// What a lane that may have `limit` bytes allocates where a layout takes `needed` of them: more, so
// that plans of about one size find room in one arena, but not more than it may have.
size_t ArenaBytes(size_t needed, size_t limit);

struct LevelGeometry {
  int width_px;
  int height_px;
  float scale;
  float inverse_scale;
  float patch_size_px;
};

// Thread-safe but for the graphs of a lane, which belong to whoever works for the lane.
class GpuPlan final : public FeaturePlan {
 public:
  struct Limits {
    std::vector<int> devices;
    std::vector<std::shared_ptr<MemoryBudget>> budgets;
    int lanes_per_device = 1;
    int max_batch_frames = 1;
    size_t arena_bytes = 0;  // that one lane may have
  };

  // INVALID_ARGUMENT for bad options or sizes, RESOURCE_EXHAUSTED when the workspace of one frame
  // with its mask does not fit into an arena.
  static absl::StatusOr<std::shared_ptr<GpuPlan>> Create(const PlanSpec& spec,
                                                         const Limits& limits);

  const PlanSpec& spec() const override { return spec_; }
  // An arena holds them all with their masks.
  int max_batch_frames() const override { return max_batch_frames_; }
  size_t size_bytes() const override;

  const SlotLayout& slot() const { return slot_; }
  // Levels that exist: neither side rounds to 0.
  const std::vector<LevelGeometry>& levels() const { return levels_; }
  int descriptor_bytes() const { return descriptor_bytes_; }
  bool harris() const { return spec_.pipeline.detect.score == Score::kHarris; }
  bool selects_by_level() const {
    return spec_.pipeline.select.selection == Selection::kLevelQuota;
  }
  bool orients() const {
    return spec_.pipeline.describe.orientation == Orientation::kIntensityCentroid;
  }
  // Most survivors that a level can have.
  int64_t corner_capacity(int level) const { return geometry_.level[level].corner_capacity; }

  ArenaLayout Layout(const GraphKind& kind) const;

  // What kernels are told about a batch whose data lies at `arena` on device number `device`.
  BatchView View(const GraphKind& kind, size_t device, uint8_t* arena) const;

  // Puts the launches of a batch on `stream`, some of them in parallel on `side`; the events order
  // the two and are used for nothing else.
  struct Streams {
    cudaStream_t main;
    cudaStream_t side;
    cudaEvent_t forked;
    cudaEvent_t cleared;
    cudaEvent_t joined;
  };
  absl::Status Enqueue(const GraphKind& kind, size_t device, const DeviceTables& tables,
                       uint8_t* arena, const Streams& streams) const;

  // The graphs of a lane and the arena that they were made for; 0 = none yet.
  struct LaneGraphs {
    uint64_t arena_generation = 0;
    std::array<Graph, kGraphKinds> graphs;
  };
  LaneGraphs& graphs(size_t lane) { return lane_graphs_[lane]; }

 private:
  explicit GpuPlan(const PlanSpec& spec);

  void LayOutLevels(std::vector<ResizeEntry>* table);
  int TileRows(int frames) const;
  int LastLevel(const GraphKind& kind) const {
    return kind.given ? static_cast<int>(levels_.size()) - 1 : detecting_levels_ - 1;
  }

  const PlanSpec spec_;
  const SlotLayout slot_;
  const int descriptor_bytes_;
  int max_batch_frames_ = 1;
  std::vector<LevelGeometry> levels_;
  int detecting_levels_ = 0;
  BatchView geometry_{};            // strides, offsets and levels; no pointers
  std::vector<DeviceBuffer> taps_;  // per device: ResizeEntry []
  std::vector<LaneGraphs> lane_graphs_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_PLAN_H_
