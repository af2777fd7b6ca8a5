// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_PROCESS_PERIODIC_TASKS_H_
#define ORBSERVE_SERVER_PROCESS_PERIODIC_TASKS_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
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
  static constexpr std::chrono::milliseconds kStopTime{500};

  // The clock must outlive the object. `may_hang`: the destructor waits for a task that is running
  // for kStopTime at most, and then leaves the thread to itself, with everything that the tasks
  // hold.
  explicit PeriodicTasks(Clock* clock, bool may_hang = false);
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
  // Held by the thread, too, which may outlive the object.
  struct State {
    void RunDue();
    void Run();

    Clock* clock = nullptr;
    std::mutex mutex;  // guards everything below
    std::condition_variable changed;
    std::vector<Task> tasks;  // as many as there are from Start() on
    bool is_woken = false;    // by RunSoon() or the destructor
    bool stopping = false;
    bool stopped = false;
  };

  const bool may_hang_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  std::thread thread_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_PERIODIC_TASKS_H_
