// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_PROCESS_PERIODIC_TASKS_H_
#define ORBSERVE_SERVER_PROCESS_PERIODIC_TASKS_H_

#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "server/serving/clock.h"

namespace orbserve {

// Runs a list of tasks, each again and again, one at a time on one thread. A task may take a
// second, by which the others are late. A task that may hang, such as one that asks a driver, needs
// a list of its own.
class PeriodicTasks {
 public:
  using Id = size_t;

  // The clock must outlive the object.
  explicit PeriodicTasks(Clock* clock) : clock_(clock) {}
  // Waits for a task that is running.
  ~PeriodicTasks();
  PeriodicTasks(const PeriodicTasks&) = delete;
  PeriodicTasks& operator=(const PeriodicTasks&) = delete;

  // Adds a task, which runs for the first time when a period has passed. Only before Start().
  Id Add(std::chrono::milliseconds period, absl::AnyInvocable<void()> run)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Starts the thread, if there are tasks.
  void Start() ABSL_LOCKS_EXCLUDED(mutex_);
  // The task is due now. Thread-safe.
  void RunSoon(Id id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs the tasks that are due, in the order in which they were added. After a slow task its next
  // run comes a period later, not at once. For the thread, and for tests without Start().
  void RunDue() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Task {
    std::chrono::milliseconds period{};
    absl::AnyInvocable<void()> run;  // used by the thread only
    SteadyTime next;
  };

  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  SteadyTime NextTime() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock* const clock_;
  absl::Mutex mutex_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mutex_);  // as many as there are from Start() on
  bool is_woken_ ABSL_GUARDED_BY(mutex_) = false;    // by RunSoon() or the destructor
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_PERIODIC_TASKS_H_
