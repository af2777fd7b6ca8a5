// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_SERVING_EXECUTOR_H_
#define ORBSERVE_SERVER_SERVING_EXECUTOR_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "server/clients/client_id.h"
#include "server/clients/fair_shares.h"
#include "server/clients/ledger.h"

namespace orbserve {

// What the tasks of a pool and their memory share. The memory of a task may outlive the pool, and
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

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_EXECUTOR_H_
