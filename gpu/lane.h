// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// One lane of a device: a pair of streams and the memory in which one batch at a time is computed.
// Batches of several lanes overlap: while one computes, another goes up.
//
// Lanes for large frames run behind all others: their streams have a low priority, which the graphs
// take over when they are captured, and their images go up in pieces.

#ifndef ORBSERVE_GPU_LANE_H_
#define ORBSERVE_GPU_LANE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "features/recycling_pool.h"
#include "gpu/frame/pinned_side.h"
#include "gpu/frame_batch.h"
#include "gpu/frame_state.h"
#include "gpu/jpeg/jpeg_room.h"
#include "gpu/memory/buffer_pool.h"
#include "gpu/memory/input_pool.h"
#include "gpu/memory/scratch_memory.h"
#include "gpu/plan_graphs.h"
#include "gpu/runtime/memory.h"
#include "gpu/runtime/stream.h"
#include "gpu/step_list.h"

namespace orbserve::gpu {

inline constexpr absl::string_view kBackendName = "cuda";

// Everything that the lanes of a device share. Lives as long as they do.
struct LaneContext {
  int device = 0;           // CUDA ordinal
  size_t device_index = 0;  // of the backend's devices
  size_t device_count = 1;
  absl::string_view device_name;  // "cuda:0"
  int max_batch_frames = 1;
  bool overlaps_kernels = false;  // they are compiled for compute capability 9.0 or later
  int stage_sampling = 0;         // one batch in this many of a lane is timed; 0 = none
  size_t arena_bytes = 0;         // that one lane may have
  std::chrono::milliseconds deadline{0};
  DeviceTables tables;
  std::shared_ptr<MemoryBudget> budget;         // of the device
  std::shared_ptr<MemoryBudget> arena_budget;   // part of it: arenas and scratch
  std::shared_ptr<MemoryBudget> pinned_budget;  // counts pinned memory other than inputs
  std::shared_ptr<GraphMeter> graph_meter;      // of the device
  std::shared_ptr<InputPool> inputs;
  std::shared_ptr<RecyclingPool<FrameResult>> results;
  std::shared_ptr<DeviceBufferPool> state_buffers;
};

// Not thread-safe: one thread at a time works for a lane.
class Lane {
 public:
  static absl::StatusOr<std::unique_ptr<Lane>> Create(const LaneContext& context, int index,
                                                      bool for_large);

  // Makes the graphs of `plan` for frames without masks and without given keypoints, and memory for
  // its largest batch of frames that want the default number of features, masks included. A batch
  // that needs more memory takes it when it is launched. Milliseconds.
  absl::Status Prepare(const std::shared_ptr<GpuPlan>& plan);

  // Sends a batch to the device and returns; its failure is in batch->status. Two batches may be
  // between Launch() and Finish(), the second launched after Wait() for the first.
  void Launch(FrameBatch* batch);
  // Waits until the device is done with the batch. `alone`: the device has no other batch, so that
  // only latency counts.
  void Wait(FrameBatch* batch, bool alone);
  // Fills in the answers.
  void Finish(FrameBatch* batch);

 private:
  Lane(const LaneContext& context, int index, bool for_large);

  absl::Status EnsureArena(size_t bytes);
  absl::StatusOr<const Graph*> GraphFor(const std::shared_ptr<GpuPlan>& plan,
                                        const GraphKind& kind);
  BranchStreams Branches() const;
  void PrepareJobs(FrameBatch* batch, PinnedSide* side);
  // Makes sure that arena and pinned memory are large enough for the batch.
  absl::Status MakeRoom(FrameBatch* batch, PinnedSide* side);
  // Gives each frame its share of the lists and of the pinned memory.
  void PlaceFrames(FrameBatch* batch, PinnedSide* side);
  absl::Status LaunchPrepared(FrameBatch* batch, PinnedSide* side);
  // Makes room for the files of the batch, if there is any; else they are undecided.
  absl::Status MakeJpegRoom(FrameBatch* batch);
  // Begins the copies of the images and files, and fills in where they come to lie.
  absl::Status CopyImages(const FrameBatch& batch, PinnedSide* side);
  // Fills in where the images lie, in their pinned slots.
  absl::Status LocateImages(FrameBatch* batch, PinnedSide* side);
  absl::Status CopyUp(uint8_t* to, const uint8_t* from, size_t bytes);
  // Times of the stages of a timed batch that is done.
  StageTimes TimesOf(const FrameBatch& batch) const;
  absl::Status FinishFrame(FrameBatch* batch, size_t job_index);

  // The slow path of a frame that found no room on the fast one (slow_path.cc).
  bool NeedsSlowPath(const FrameBatch& batch, size_t job_index) const;
  absl::Status FinishLarge(FrameBatch* batch, size_t job_index);
  absl::Status WaitForStream();

  const LaneContext& context_;
  const int index_;
  const bool for_large_;
  const std::chrono::milliseconds deadline_;  // of a batch
  Stream stream_;
  Stream side_stream_;
  Event order_[kMaxBranchEvents];
  Event copied_[2];  // pieces of an image that goes up: one event for each stream
  Event stage_end_[StageTimes::kMaxEntries];
  Event begin_;  // before the upload
  Event uploaded_;
  Event decoded_;  // after the files of a timed batch, if it has any
  Event end_;
  DeviceBuffer arena_;
  PlanGraphs graphs_;  // made for arena_
  PinnedSide sides_[2];
  int next_side_ = 0;
  int batches_until_timed_;
  ScratchMemory scratch_;  // of the slow path
  JpegRoom jpeg_room_;
  std::vector<JpegDecoding> files_;  // of the batch that was launched last
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_LANE_H_
