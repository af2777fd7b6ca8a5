// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Threads for work that must delay neither gRPC's threads nor the backend's: decoding images and
// building plans.

#ifndef ORBSERVE_SERVER_SERVING_WORKER_POOL_H_
#define ORBSERVE_SERVER_SERVING_WORKER_POOL_H_

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "server/serving/client_id.h"
#include "server/serving/fair_queue.h"
#include "server/serving/fair_shares.h"

namespace orbserve {

// What a task will need.
struct TaskNeeds {
  std::chrono::nanoseconds time{};  // of a processor, as far as it is known
};

// Runs tasks on other threads, soon. Thread-safe.
class Executor {
 public:
  using Task = absl::AnyInvocable<void() &&>;

  virtual ~Executor() = default;
  // Never runs `task` inside the call. Clients share the threads by the time of their tasks.
  virtual void Run(const ClientId& client, const TaskNeeds& needs, Task task) = 0;
};

// Use of a WorkerPool at one moment.
struct WorkerPoolUse {
  int64_t threads = 0;
  int64_t busy = 0;     // threads that run a task
  int64_t waiting = 0;  // tasks that no thread has begun
};

struct WorkerPoolOptions {
  int threads = 1;  // >= 1
  // Threads of low priority, which run the tasks that need `large_time` or more; 0 = such tasks are
  // as others.
  int large_threads = 0;
  std::chrono::nanoseconds large_time = std::chrono::milliseconds(20);
  OwnerWeights weights;
};

// A fixed number of threads over fair queues. A client is charged with the time that it expects of
// a task when the task begins, and with the processor time that the task took when it has ended.
// Large tasks run on threads of their own, so that small ones find a thread, whatever waits.
// Callers bound the number of tasks, since each belongs to an admitted frame. Callers keep tasks
// light: a task holds weak pointers only, and then a frame that was answered in the meantime holds
// no memory here.
class WorkerPool final : public Executor {
 public:
  explicit WorkerPool(const WorkerPoolOptions& options);
  // Runs every task that was accepted, then returns.
  ~WorkerPool() override;

  void Run(const ClientId& client, const TaskNeeds& needs, Task task) override
      ABSL_LOCKS_EXCLUDED(mutex_);

  WorkerPoolUse use() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    FairShares::Account* account = nullptr;
    TaskNeeds needs;
    Task task;
  };
  using Tasks = FairQueue<Entry>;

  bool IsLarge(const TaskNeeds& needs) const {
    return options_.large_threads > 0 && needs.time >= options_.large_time;
  }
  void Work(Tasks* tasks) ABSL_LOCKS_EXCLUDED(mutex_);

  const WorkerPoolOptions options_;
  mutable absl::Mutex mutex_;
  FairShares shares_ ABSL_GUARDED_BY(mutex_);
  Tasks small_ ABSL_GUARDED_BY(mutex_);
  Tasks large_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;  // threads that run a task
  std::vector<std::thread> threads_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_WORKER_POOL_H_
