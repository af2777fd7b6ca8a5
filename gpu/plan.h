// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_PLAN_H_
#define ORBSERVE_GPU_PLAN_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "features/backend.h"
#include "features/pipeline/compiled.h"
#include "gpu/compile.h"
#include "gpu/frame/frame_room.h"
#include "gpu/graph_kind.h"
#include "gpu/memory/input_pool.h"
#include "gpu/runtime/memory.h"
#include "gpu/steps/track_pyramid.h"

namespace orbserve::gpu {

// Bytes that graphs hold, of one plan or on one device. Lanes own the graphs and count them here.
// Thread-safe; lives as long as its last graph.
class GraphMeter {
 public:
  // Memory that CUDA takes for an instantiated graph of so many nodes, on the device and on the
  // host. Not documented: measured on an H200 with driver 580, over 4,800 graphs of 13 nodes.
  static constexpr int64_t kDeviceBytesPerNode = 29'600;
  static constexpr int64_t kHostBytesPerNode = 12'300;

  void AddNodes(int64_t nodes) { nodes_.fetch_add(nodes, std::memory_order_relaxed); }
  int64_t device_bytes() const { return nodes() * kDeviceBytesPerNode; }
  int64_t host_bytes() const { return nodes() * kHostBytesPerNode; }

 private:
  int64_t nodes() const { return nodes_.load(std::memory_order_relaxed); }

  std::atomic<int64_t> nodes_{0};
};

// Everything that is decided once for all frames of one size and pipeline: the compiled pipeline,
// its steps with their tables on each device, and the layout of an arena. Thread-safe.
class GpuPlan final : public FeaturePlan {
 public:
  struct Limits {
    std::vector<int> devices;
    std::vector<std::shared_ptr<MemoryBudget>> budgets;  // of tables, one for each device
    int max_batch_frames = 1;
    size_t arena_bytes = 0;   // that one lane may have
    int multiprocessors = 1;  // of the smallest device
    bool reads_in_place = false;
  };

  // INVALID_ARGUMENT for bad options or sizes, and (TOO_LARGE) when the workspace of one frame with
  // its mask does not fit into an arena.
  static absl::StatusOr<std::shared_ptr<GpuPlan>> Create(const PlanSpec& spec,
                                                         const Limits& limits);

  // Device memory for one frame with its mask; of a plan that need not fit. INVALID_ARGUMENT and
  // UNIMPLEMENTED as above.
  static absl::StatusOr<size_t> FrameBytesOf(const PlanSpec& spec, const Limits& limits);

  const PlanSpec& spec() const override { return pipeline_.spec; }
  // An arena holds them all with their masks, whatever they want.
  int max_batch_frames() const override { return max_batch_frames_; }
  bool is_large() const override { return is_large_; }
  // Tables on all devices and on the host, and graphs. Arenas and pinned memory belong to the
  // lanes, which all plans share.
  size_t size_bytes() const override;

  // Distinguishes plans of this process.
  uint64_t id() const { return id_; }
  const CompiledPipeline& pipeline() const { return pipeline_; }
  const StepList& steps() const { return compiled_.list; }
  const SlotLayout& slot() const { return slot_; }
  // Kernels read the frames in their pinned slots; else in the arena's input.
  bool reads_in_place() const { return reads_in_place_; }
  // Layout of the pyramids that states keep. It has no levels if the plan keeps no pyramids.
  const TrackPyramid& track_pyramid() const { return track_pyramid_; }
  const std::shared_ptr<GraphMeter>& graph_meter() const { return graph_meter_; }

  // Bytes of an arena for a batch whose lists take `list_bytes`.
  size_t ArenaBytesFor(const GraphKind& kind, size_t list_bytes) const {
    return compiled_.layout.Bytes(kind) + list_bytes;
  }
  // Two sizes follow from it: the arena for the largest lists that frames can ask for, and the one
  // for frames that ask for `max_features` each.
  size_t LargestArenaBytes(const GraphKind& kind) const;
  size_t ArenaBytesWanting(const GraphKind& kind, int max_features) const;

  // Where the data of a batch lies in an arena: its frames' parameters, input, and lists.
  size_t ParamsOffset(const GraphKind& kind) const {
    return compiled_.layout.Offset(compiled_.params, kind);
  }
  size_t InputOffset(const GraphKind& kind) const {
    return compiled_.layout.Offset(compiled_.input, kind);
  }
  size_t ListsOffset(const GraphKind& kind) const { return compiled_.layout.Bytes(kind); }

  // Context of a whole batch whose data lies at `arena` on device number `device`.
  StepContext ContextFor(const GraphKind& kind, size_t device, const DeviceTables& tables,
                         uint8_t* arena) const;

 private:
  GpuPlan(CompiledPipeline pipeline, const Limits& limits);
  static absl::StatusOr<std::shared_ptr<GpuPlan>> OnNoDevice(const PlanSpec& spec,
                                                             const Limits& limits);

  const uint64_t id_;
  const CompiledPipeline pipeline_;
  const SlotLayout slot_;
  const TrackPyramid track_pyramid_;
  const bool reads_in_place_;
  CompiledSteps compiled_;  // immutable once the plan is made
  int max_batch_frames_ = 1;
  const bool is_large_;
  const std::shared_ptr<GraphMeter> graph_meter_ = std::make_shared<GraphMeter>();
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_PLAN_H_
