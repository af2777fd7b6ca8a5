// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_SERVING_TASK_MEMORY_H_
#define ORBSERVE_SERVER_SERVING_TASK_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
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
  ~TaskMemory();

  // Gives back what the task that has begun holds beyond `bytes`.
  void ShrinkTo(int64_t bytes);

 private:
  friend class WorkerPool;

  const int64_t bytes_;  // that the task needs
  std::shared_ptr<TaskRoom> room_;
  Holding holding_;  // once the task has begun; guarded by the lock of the room
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_TASK_MEMORY_H_
