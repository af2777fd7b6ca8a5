// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_DEVICE_REQUEST_H_
#define ORBSERVE_GPU_DEVICE_REQUEST_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "gpu/lane.h"
#include "gpu/runtime/guarded.h"

namespace orbserve::gpu {

// Cost of a job: when work began and ended that it had a part in, and its share of that.
struct JobCost {
  absl::string_view device;  // lives as long as the backend
  SteadyTime begin;
  SteadyTime end;
  int64_t compute_ns = 0;
};

// True for a job whose flag was set.
inline bool IsCancelled(const std::shared_ptr<const std::atomic<bool>>& flag) {
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

// The jobs of one call of SubmitMatches or SubmitTracks. Any threads compute them in any order,
// each job on one thread; the thread that ends the last one gives the answer. `kAnswers`: member of
// the batch's answer that has an answer for each job.
template <typename Job, typename BatchAnswer, auto kAnswers>
class DeviceRequest {
 public:
  using Done = absl::AnyInvocable<void(BatchAnswer) &&>;

  DeviceRequest(std::vector<Job> jobs, Done done)
      : jobs_(std::move(jobs)),
        done_(std::move(done)),
        remaining_(std::max<size_t>(jobs_.size(), 1)) {
    (answer_.*kAnswers).resize(jobs_.size());
  }

  size_t size() const { return jobs_.size(); }
  const Job& job(size_t index) const { return jobs_[index]; }
  // Until Finish(index).
  auto& answer(size_t index) { return (answer_.*kAnswers)[index]; }

  // Job number `index` has its answer. The last of max(size(), 1) calls drops the states and then
  // calls `done`.
  void Finish(size_t index, const JobCost& cost) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      BatchCost& total = answer_.cost;
      if (total.backend.empty()) {
        total.backend = kBackendName;
        total.busy_begin = cost.begin;
        total.busy_end = cost.end;
      }
      // A request on several devices is the first job's device's.
      if (index == 0) total.device = cost.device;
      total.busy_begin = std::min(total.busy_begin, cost.begin);
      total.busy_end = std::max(total.busy_end, cost.end);
      total.timings.compute_ns += cost.compute_ns;
      if (--remaining_ > 0) return;
    }
    jobs_.clear();
    std::move(done_)(std::move(answer_));
  }

 private:
  std::vector<Job> jobs_;
  Done done_;
  absl::Mutex mutex_;
  size_t remaining_ ABSL_GUARDED_BY(mutex_);
  // Its answers are not guarded: each has one writer.
  BatchAnswer answer_;
};

using MatchRequest = DeviceRequest<MatchJob, MatchBatchAnswer, &MatchBatchAnswer::pairs>;
using TrackRequest = DeviceRequest<TrackJob, TrackBatchAnswer, &TrackBatchAnswer::jobs>;

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_DEVICE_REQUEST_H_
