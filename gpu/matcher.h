// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Matching on one device: a thread, a stream and their memory.

#ifndef ORBSERVE_GPU_MATCHER_H_
#define ORBSERVE_GPU_MATCHER_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/backend.h"
#include "gpu/frame_state.h"
#include "gpu/kernels/match.h"
#include "gpu/lane.h"
#include "gpu/runtime/memory.h"
#include "gpu/runtime/stream.h"

namespace orbserve::gpu {

// Thread-safe. Destruction waits for what was submitted.
class Matcher {
 public:
  // `context` must outlive the matcher. `note` is told every status that may say that the device is
  // lost.
  static absl::StatusOr<std::unique_ptr<Matcher>> Create(
      const LaneContext& context, bool tensor_cores, std::function<void(const absl::Status&)> note);
  ~Matcher();

  void Submit(std::vector<MatchJob> jobs, MatchBatchDone done);

 private:
  struct Batch {
    std::vector<MatchJob> jobs;
    MatchBatchDone done;
  };
  // A pair on its way: its sets on this device and where its neighbours come to lie.
  struct Work {
    std::shared_ptr<const DeviceBuffer> query;
    std::shared_ptr<const DeviceBuffer> train;
    int k = 0;
    size_t nearest = 0;  // offsets into results_, in entries
    size_t reverse = 0;
    size_t scratch = 0;  // offset into scratch_
    size_t tickets = 0;  // into tickets_, in entries
  };

  Matcher(const LaneContext& context, bool tensor_cores,
          std::function<void(const absl::Status&)> note)
      : context_(context), tensor_cores_(tensor_cores), note_(std::move(note)) {}

  void Run();
  void Answer(Batch batch);
  absl::Status CheckJob(const MatchJob& job, Work* work, Matches* matches);
  absl::StatusOr<std::shared_ptr<const DeviceBuffer>> OnDevice(const GpuFrameState& state);
  absl::Status Compute(const std::vector<MatchJob>& jobs, std::vector<Work>* works);
  void Filter(const MatchJob& job, const Work& work, Matches* matches) const;

  const LaneContext& context_;
  const bool tensor_cores_;
  const std::function<void(const absl::Status&)> note_;
  Stream stream_;
  Event begin_;
  Event end_;
  PinnedBuffer results_;  // PackedNeighbour []
  DeviceBuffer scratch_;
  DeviceBuffer tickets_;  // uint32_t [], 0 between launches

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;    // guarded by mutex_
  std::deque<Batch> queue_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_MATCHER_H_
