// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_SERVING_PIPELINE_WATCH_H_
#define ORBSERVE_SERVER_SERVING_PIPELINE_WATCH_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/serving/work_queue.h"

namespace orbserve {

// Proves that work goes through the pipeline. The pipeline stands still while a queue has batches
// with the backend, none of which has ended since somebody looked, and the backend reports no
// progress. How long that may last is up to who looks. Thread-safe.
class PipelineWatch {
 public:
  using Look = std::function<BatchMotion()>;

  // `queues` are asked for their batches, and `progress` is FeatureBackend::progress().
  PipelineWatch(std::vector<Look> queues, std::function<uint64_t()> progress)
      : queues_(std::move(queues)), progress_(std::move(progress)), ended_(queues_.size(), 0) {}

  // True if every queue was idle, or had a batch end since the last call that returned true.
  bool Moves() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const uint64_t progress = progress_();
    bool moves = true;
    std::vector<int64_t> ended = ended_;
    for (size_t i = 0; i < queues_.size(); ++i) {
      const BatchMotion motion = queues_[i]();
      moves = moves && (motion.in_flight == 0 || motion.ended != ended_[i]);
      ended[i] = motion.ended;
    }
    if (!moves && progress == seen_progress_) return false;
    ended_ = std::move(ended);
    seen_progress_ = progress;
    return true;
  }

 private:
  const std::vector<Look> queues_;
  const std::function<uint64_t()> progress_;
  absl::Mutex mutex_;
  std::vector<int64_t> ended_ ABSL_GUARDED_BY(mutex_);  // by queue, when it last moved
  uint64_t seen_progress_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_PIPELINE_WATCH_H_
