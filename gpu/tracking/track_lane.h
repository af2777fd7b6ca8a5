// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Computes tracks on a device: a stream and memory of fixed size, so that tracking allocates
// nothing but pyramids that are not on the device and, once, memory for patches.

#ifndef ORBSERVE_GPU_TRACKING_TRACK_LANE_H_
#define ORBSERVE_GPU_TRACKING_TRACK_LANE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/algo/lucas_kanade.h"
#include "features/backend.h"
#include "gpu/frame_state.h"
#include "gpu/lane.h"
#include "gpu/runtime/memory.h"
#include "gpu/runtime/stream.h"
#include "gpu/tracking/track_kernel.h"

namespace orbserve::gpu {

// A job on its way through a lane. `job` and `tracked` are the caller's.
struct TrackWork {
  const TrackJob* job = nullptr;
  TrackedPoints* tracked = nullptr;
  absl::Status status;
  int64_t compute_ns = 0;  // of the device

  // The rest is the lane's.
  std::shared_ptr<const DeviceBuffer> from;
  std::shared_ptr<const DeviceBuffer> to;
  TrackPyramid pyramid = {};
  algo::TrackParameters parameters = {};
  size_t row_values = 0;  // of a row of patches; 0 with the template PREVIOUS
  size_t placed = 0;      // points that were sent
  size_t next_row = 0;    // of the patches to be answered

  bool done() const { return !status.ok() || placed == job->points->count(); }
};

// Not thread-safe: one thread at a time works for a lane. None of its calls throws.
class TrackLane {
 public:
  // `context` must outlive the lane.
  static absl::StatusOr<std::unique_ptr<TrackLane>> Create(const LaneContext& context);

  // Jobs that are computed together, and points of one launch.
  static constexpr size_t kMaxJobs = 256;
  static constexpr size_t kMaxPoints = 8192;

  // True for a job that can be launched without allocating memory: its pyramids are on the device,
  // and it has no patches.
  bool IsReady(const TrackJob& job) const;

  // Sends the points of up to kMaxJobs jobs to the device, as many as there is room for, with one
  // copy and one launch. Failures are in the works.
  void Launch(std::vector<TrackWork>* works);
  // Waits for them, sends what is left, and so on. Before each further launch `before_round` is
  // asked: an error ends all jobs that are not done with it. What fails for one job fails that job;
  // what fails for the device all of them. `answered` is called for each in turn.
  void Finish(std::vector<TrackWork>* works, absl::FunctionRef<absl::Status()> before_round,
              absl::FunctionRef<void(TrackWork&)> answered);

 private:
  // Neighbouring points of one job in a launch.
  struct Run {
    TrackWork* work;
    size_t first;  // of the job's points
    size_t count;
    size_t place;   // of the first in the launch
    size_t values;  // of the first one's row of patches, in the lane's memory
  };
  // A pyramid that is being made.
  struct Made {
    const GpuFrameState* state;  // null: making it failed
    std::shared_ptr<const DeviceBuffer> buffer;
  };

  explicit TrackLane(const LaneContext& context) : context_(context) {}

  // Checks a job and brings what it needs to the device.
  absl::Status Begin(TrackWork* work);
  absl::StatusOr<std::shared_ptr<const DeviceBuffer>> OnDevice(const FrameState& state);
  absl::Status MakePyramid(const InputSlot& input, const TrackPyramid& pyramid, uint8_t* memory);
  // Before anything is enqueued: the time on the device begins.
  absl::Status BeginTime();
  // Chooses the points of the next launch.
  void ChooseRuns(std::vector<TrackWork>* works);
  absl::Status LaunchRuns();
  void FillRun(const Run& run, int job, TrackPointParams* points);
  void TakeRun(const Run& run) const;
  // ChooseRuns() and LaunchRuns(). Afterwards the device has been told to do everything, or works
  // have an error.
  void LaunchRound(std::vector<TrackWork>* works);
  absl::Status Wait();

  const LaneContext& context_;
  Stream stream_;
  Event begin_;
  Event end_;
  PinnedBuffer memory_;  // jobs and points, which are copied to `device_`, and records
  DeviceBuffer device_;
  TrackRecord* records_ = nullptr;
  // Patches that points carry or answer, which the kernel reads and writes in place. Made when the
  // first job with patches comes.
  PinnedBuffer patches_;
  bool time_begun_ = false;
  size_t points_ = 0;  // of the launch
  std::vector<Run> runs_;
  std::vector<Made> made_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_TRACKING_TRACK_LANE_H_
