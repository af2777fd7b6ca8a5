// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Threads for work that must delay neither gRPC's threads nor the backend's: decoding images and
// building plans.

#ifndef ORBSERVE_SERVER_SERVING_WORKER_POOL_H_
#define ORBSERVE_SERVER_SERVING_WORKER_POOL_H_

#include <cstdint>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "server/serving/client_id.h"
#include "server/serving/fair_queue.h"

namespace orbserve {

// Runs tasks on other threads, soon. Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  // Never runs `task` inside the call. Tasks of different clients take turns.
  virtual void Run(const ClientId& client, absl::AnyInvocable<void() &&> task) = 0;
};

// Use of a WorkerPool at one moment.
struct WorkerPoolUse {
  int64_t threads = 0;
  int64_t busy = 0;     // threads that run a task
  int64_t waiting = 0;  // tasks that no thread has begun
};

// A fixed number of threads over one fair queue. Callers bound the number of tasks, since each
// belongs to an admitted frame. Callers keep tasks light: a task holds weak pointers only, and then
// a frame that was answered in the meantime holds no memory here.
class WorkerPool final : public Executor {
 public:
  // `threads` >= 1.
  explicit WorkerPool(int threads);
  // Runs every task that was accepted, then returns.
  ~WorkerPool() override;

  void Run(const ClientId& client, absl::AnyInvocable<void() &&> task) override
      ABSL_LOCKS_EXCLUDED(mutex_);

  WorkerPoolUse use() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Work() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasWorkOrStops() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !tasks_.empty() || stopping_;
  }

  mutable absl::Mutex mutex_;
  FairQueue<absl::AnyInvocable<void() &&>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;  // threads that run a task
  std::vector<std::thread> threads_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_WORKER_POOL_H_
