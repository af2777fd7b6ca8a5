// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Tracks on one device. A few lanes, each with a thread: the thread that submits launches on an
// idle lane, so that no thread has to wake up before the device works, and the lane's thread waits
// and answers. Jobs of all requests that come while every lane is busy are computed together by the
// lane that is free next. A lane never waits for further jobs.

#ifndef ORBSERVE_GPU_TRACKING_TRACKER_H_
#define ORBSERVE_GPU_TRACKING_TRACKER_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "features/backend.h"
#include "gpu/device_request.h"
#include "gpu/health.h"
#include "gpu/lane.h"
#include "gpu/tracking/track_lane.h"

namespace orbserve::gpu {

// Thread-safe. Destruction waits for what was submitted.
class Tracker {
 public:
  // Both must outlive the tracker.
  static absl::StatusOr<std::unique_ptr<Tracker>> Create(const LaneContext& context,
                                                         Health* health);
  ~Tracker();

  // Computes the jobs `indexes` of a request. For a request without jobs: {0}, which answers it.
  // None of them is taken if this throws std::bad_alloc.
  void Submit(const std::shared_ptr<TrackRequest>& request, const std::vector<size_t>& indexes);

  // Share of a job in the load of a device, in the units of Matcher::LoadOf().
  static int64_t LoadOf(const TrackJob& job);
  // Load of the jobs that were submitted and are not answered.
  int64_t load() const { return load_.load(std::memory_order_relaxed); }

 private:
  struct Job {
    std::shared_ptr<TrackRequest> request;
    size_t index = 0;
  };
  struct LaneThread {
    std::unique_ptr<TrackLane> lane;
    std::condition_variable wake;
    bool busy = false;      // a thread works for the lane
    bool handed = false;    // the thread is to go on with `jobs`,
    bool launched = false;  // which are on the device already
    std::vector<Job> jobs;
    std::vector<Job> empty;        // of requests without jobs
    std::vector<TrackWork> works;  // of `jobs`
    SteadyTime begin;
    std::thread thread;
  };

  Tracker(const LaneContext& context, Health* health) : context_(context), health_(*health) {}

  // Moves jobs that wait and may be computed together to a lane, oldest first. Under mutex_.
  void Take(LaneThread* self);
  void Launch(LaneThread* self);
  void Answer(LaneThread* self);
  void Run(LaneThread* self);

  const LaneContext& context_;
  Health& health_;
  std::atomic<int64_t> load_{0};

  std::mutex mutex_;
  bool stopping_ = false;  // this and the next guarded by mutex_
  std::deque<Job> queue_;
  std::vector<std::unique_ptr<LaneThread>> lanes_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_TRACKING_TRACKER_H_
