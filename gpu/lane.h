// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// One lane of a device: a stream and the memory that one batch at a time is computed in. Batches of
// several lanes overlap: while one computes, another goes up.

#ifndef ORBSERVE_GPU_LANE_H_
#define ORBSERVE_GPU_LANE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "features/recycling_pool.h"
#include "gpu/buffer_pool.h"
#include "gpu/frame_batch.h"
#include "gpu/frame_state.h"
#include "gpu/runtime/memory.h"
#include "gpu/runtime/stream.h"

namespace orbserve::gpu {

inline constexpr absl::string_view kBackendName = "cuda";

// What the lanes of a device share. Lives as long as they do.
struct LaneContext {
  int device = 0;           // CUDA ordinal
  size_t device_index = 0;  // of the backend's devices
  size_t device_count = 1;
  absl::string_view device_name;  // "cuda:0"
  int max_batch_frames = 1;
  size_t arena_bytes = 0;  // that one lane may have
  std::chrono::milliseconds deadline{0};
  DeviceTables tables;
  std::shared_ptr<MemoryBudget> budget;
  std::shared_ptr<RecyclingPool<FrameResult>> results;
  std::shared_ptr<DeviceBufferPool> state_buffers;
};

// Not thread-safe: one thread at a time works for a lane.
class Lane {
 public:
  static absl::StatusOr<std::unique_ptr<Lane>> Create(const LaneContext& context, int index,
                                                      size_t graph_index);

  // Makes the graphs of `plan` for frames without masks and without given keypoints, and memory for
  // its largest batch, masks included: no launch waits for memory, or fails for the want of it.
  // Milliseconds.
  absl::Status Prepare(GpuPlan* plan);

  // Sends a batch to the device and returns; its failure is in batch->status. Two batches may be
  // between Launch() and Finish(), the second launched after Wait() for the first.
  void Launch(FrameBatch* batch);
  // Waits until the device is done with it. `alone`: it has no other batch, so that only latency
  // counts.
  void Wait(FrameBatch* batch, bool alone);
  // Fills in the answers.
  void Finish(FrameBatch* batch);

 private:
  // Pinned memory of one batch.
  struct Side {
    PinnedBuffer memory;
    FrameParams* params = nullptr;     // [max_batch_frames rounded up to a class]
    FrameReport* reports = nullptr;    // alike
    FeatureRecord* records = nullptr;  // [frames][kNormalRecords]
    uint8_t* descriptors = nullptr;    // [frames][kNormalRecords][32]
    GivenEntry* given = nullptr;       // [frames][kNormalRecords]
  };

  Lane(const LaneContext& context, int index, size_t graph_index)
      : context_(context), index_(index), graph_index_(graph_index) {}

  absl::Status MakeSide(Side* side);
  absl::Status EnsureArena(size_t bytes);
  // Makes it larger, with memory that is idle elsewhere if need be; the content is lost.
  absl::Status Enlarge(DeviceBuffer* buffer, size_t bytes);
  absl::StatusOr<const Graph*> GraphFor(GpuPlan* plan, const GraphKind& kind);
  void PrepareJobs(FrameBatch* batch, Side* side);
  absl::Status LaunchPrepared(FrameBatch* batch, Side* side);
  absl::Status CopyInputs(const FrameBatch& batch, Side* side);
  absl::Status FinishFrame(FrameBatch* batch, size_t job_index);

  // The slow path: frames with more features than fit into a side's records, and levels with more
  // survivors than LaunchRank takes.
  absl::Status FinishLarge(FrameBatch* batch, size_t job_index);
  absl::Status RankLarge(bool all_levels, const BatchView& frame_view, const FrameParams& params,
                         const FrameReport& report);
  absl::Status WaitForStream();

  const LaneContext& context_;
  const int index_;
  const size_t graph_index_;  // among the lanes of all devices
  Stream stream_;
  Stream side_stream_;
  Event forked_;
  Event cleared_;
  Event joined_;
  Event begin_;  // before the upload
  Event uploaded_;
  Event end_;
  DeviceBuffer arena_;
  uint64_t arena_generation_ = 0;
  Side sides_[2];
  int next_side_ = 0;
  DeviceBuffer large_;  // memory of the slow path
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_LANE_H_
