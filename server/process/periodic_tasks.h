// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_PROCESS_PERIODIC_TASKS_H_
#define ORBSERVE_SERVER_PROCESS_PERIODIC_TASKS_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "server/process/clock.h"

namespace orbserve {

// Runs a list of tasks, each again and again, one at a time on one thread. A task may take a
// second, by which the others are late. A task that may hang, such as one that asks a driver, needs
// a list of its own. A step of the system's clock changes nothing: absl::Mutex would wait by it.
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
  Id Add(std::chrono::milliseconds period, absl::AnyInvocable<void()> run);
  // Starts the thread, if there are tasks.
  void Start();
  // The task is due now. Thread-safe.
  void RunSoon(Id id);
  // Runs the tasks that are due, in the order in which they were added. After a slow task its next
  // run comes a period later, not at once. For the thread, and for tests without Start().
  void RunDue();

 private:
  struct Task {
    std::chrono::milliseconds period{};
    absl::AnyInvocable<void()> run;  // used by the thread only
    SteadyTime next;
  };

  void Run();
  // The mutex is held.
  SteadyTime NextTime() const;

  Clock* const clock_;
  std::mutex mutex_;  // guards everything below but the thread
  std::condition_variable woken_;
  std::vector<Task> tasks_;  // as many as there are from Start() on
  bool is_woken_ = false;    // by RunSoon() or the destructor
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_PERIODIC_TASKS_H_
