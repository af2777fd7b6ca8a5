// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/run/worker_limit.h"

#include <algorithm>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "oneapi/tbb/global_control.h"

namespace orbserve::cpu {
namespace {

// Process-wide because what it describes is.
class Registry {
 public:
  static Registry& Get() {
    static Registry* const registry = new Registry;  // never destroyed: TBB outlives main()
    return *registry;
  }

  void Add(int threads) {
    absl::MutexLock lock(&mutex_);
    wanted_ += threads;
    Apply();
  }
  void Remove(int threads) {
    absl::MutexLock lock(&mutex_);
    wanted_ -= threads;
    Apply();
  }

 private:
  void Apply() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    control_.reset();
    if (wanted_ == 0) return;
    const int processors = static_cast<int>(std::thread::hardware_concurrency());
    const int parallelism = std::max(wanted_ + 1, processors);
    control_ = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                     static_cast<size_t>(parallelism));
  }

  absl::Mutex mutex_;
  int wanted_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<tbb::global_control> control_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

WorkerLimit::WorkerLimit(int threads) : threads_(threads) { Registry::Get().Add(threads); }
WorkerLimit::~WorkerLimit() { Registry::Get().Remove(threads_); }

}  // namespace orbserve::cpu
