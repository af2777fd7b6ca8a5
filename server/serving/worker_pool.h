// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Threads for work that must delay neither gRPC's threads nor the backend's: decoding images,
// building plans, giving the answers of a batch.

#ifndef ORBSERVE_SERVER_SERVING_WORKER_POOL_H_
#define ORBSERVE_SERVER_SERVING_WORKER_POOL_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "server/clients/client_id.h"
#include "server/clients/fair_queue.h"
#include "server/clients/fair_shares.h"
#include "server/clients/ledger.h"

namespace orbserve {

// The tasks of a pool and their memory share this. The memory of a task may outlive the pool, and
// with it the accounts and the lock.
struct TaskRoom {
  explicit TaskRoom(Ledger* ledger) : shares(ledger) {}

  absl::Mutex mutex;
  FairShares shares ABSL_GUARDED_BY(mutex);
  // Number of changes after which a task may fit that did not.
  uint64_t changes ABSL_GUARDED_BY(mutex) = 0;
};

// Memory that a task takes when it begins and holds until this object is destroyed, on any thread.
class TaskMemory {
 public:
  explicit TaskMemory(int64_t bytes) : bytes_(bytes) {}
  TaskMemory(const TaskMemory&) = delete;
  TaskMemory& operator=(const TaskMemory&) = delete;
  ~TaskMemory() { ShrinkTo(0); }

  // Gives back what the task that has begun holds beyond `bytes`.
  void ShrinkTo(int64_t bytes) {
    if (room_ == nullptr) return;
    absl::MutexLock lock(&room_->mutex);
    holding_.Set(std::min(bytes, holding_.amount()));
    ++room_->changes;
  }

 private:
  friend class WorkerPool;

  const int64_t bytes_;  // that the task needs
  std::shared_ptr<TaskRoom> room_;
  Holding holding_;  // once the task has begun; guarded by the lock of the room
};

// A task will need this.
struct TaskNeeds {
  std::chrono::nanoseconds time{};     // of a processor, as far as it is known
  std::shared_ptr<TaskMemory> memory;  // null = none
};

// Runs tasks on other threads, soon. Thread-safe.
class Executor {
 public:
  using Task = absl::AnyInvocable<void() &&>;

  virtual ~Executor() = default;
  // Never runs `task` inside the call. Clients share the threads by the time of their tasks.
  virtual void Run(const ClientId& client, const TaskNeeds& needs, Task task) = 0;
  // Threads that would begin a task without delay.
  virtual int IdleThreads() const { return 0; }
};

// Use of a WorkerPool at one moment.
struct WorkerPoolUse {
  int64_t threads = 0;
  int64_t busy = 0;     // threads that run a task
  int64_t waiting = 0;  // tasks that no thread has begun
  int64_t bytes = 0;    // TaskMemory of tasks that have begun
};

struct WorkerPoolOptions {
  int threads = 1;  // >= 1
  // Threads of low priority, which run the tasks that need `large_time` or more, or more than a
  // sixteenth of `max_bytes`; 0 = such tasks are as others.
  int large_threads = 0;
  std::chrono::nanoseconds large_time = std::chrono::milliseconds(20);
  // Tasks hold no more memory than this, >= 1. A task that needs more than fifteen sixteenths
  // counts as if it needed so much.
  int64_t max_bytes = ResourceBounds::kNone;
  Ledger* ledger = nullptr;  // see FairShares
};

// A fixed number of threads over fair queues. A client is charged with the time that it expects of
// a task when the task begins, and with the processor time that the task took when it has ended.
// Large tasks run on threads of their own, so that small ones find a thread, whatever waits.
//
// A task that finds no room for its memory waits. The large task that is next has its room
// reserved: no other large task passes it, and small ones leave it so much. A sixteenth of the room
// is for small tasks alone. They divide theirs by the rule of the ledger, and a small task that
// finds room passes those of other clients that find none.
//
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
  // Those for large tasks apart.
  int IdleThreads() const override ABSL_LOCKS_EXCLUDED(mutex_);

  int threads() const { return options_.threads; }  // those for large tasks apart
  WorkerPoolUse use() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    FairShares::Account* account = nullptr;
    TaskNeeds needs;
    Holding holding;  // for needs.memory; holds nothing yet
    Task task;
  };
  using Tasks = FairQueue<Entry>;

  // One part in so many of the room is for small tasks alone.
  static constexpr int64_t kSmallPart = 16;

  bool IsLarge(const TaskNeeds& needs) const {
    if (options_.large_threads == 0) return false;
    return needs.time >= options_.large_time ||
           (needs.memory != nullptr && needs.memory->bytes_ > options_.max_bytes / kSmallPart);
  }
  void Work(Tasks* tasks) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns what the task counts as in the room.
  int64_t CountedBytes(const TaskMemory& memory) const {
    return std::min(memory.bytes_, max_large_bytes_);
  }
  int64_t SmallBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {  // held by small tasks
    return shares_.ledger().held(Resource::kDecodeBytes);
  }
  int64_t LargeBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return shares_.ledger().held(Resource::kLargeDecodeBytes);
  }
  // Returns the bytes of the large task that is next of those that need memory; 0 = none waits.
  int64_t ReservedBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `others_bytes`: memory that tasks hold, or have reserved.
  bool Fits(const Entry& entry, int64_t others_bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the task that is served next and fits, and its memory. False if there is none.
  bool Take(Tasks& tasks, Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const WorkerPoolOptions options_;
  const int64_t max_large_bytes_;  // that large tasks hold together
  const std::shared_ptr<TaskRoom> room_;
  absl::Mutex& mutex_;
  FairShares& shares_ ABSL_GUARDED_BY(mutex_);
  Tasks small_ ABSL_GUARDED_BY(mutex_);
  Tasks large_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;  // threads that run a task
  std::vector<std::thread> threads_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_WORKER_POOL_H_
