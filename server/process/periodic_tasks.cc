// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/periodic_tasks.h"

#include <algorithm>
#include <utility>

#include "server/process/upkeep.h"

namespace orbserve {

PeriodicTasks::PeriodicTasks(Clock* clock, bool may_hang) : may_hang_(may_hang) {
  state_->clock = clock;
}

PeriodicTasks::~PeriodicTasks() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->is_woken = true;
  state_->changed.notify_all();
  if (!thread_.joinable()) return;
  const bool stops =
      !may_hang_ || state_->changed.wait_for(lock, kStopTime, [this] { return state_->stopped; });
  lock.unlock();
  stops ? thread_.join() : thread_.detach();
}

PeriodicTasks::Id PeriodicTasks::Add(std::chrono::milliseconds period,
                                     absl::AnyInvocable<void()> run) {
  const std::scoped_lock lock(state_->mutex);
  state_->tasks.push_back({period, std::move(run), state_->clock->Now() + period});
  return state_->tasks.size() - 1;
}

void PeriodicTasks::Start() {
  const std::scoped_lock lock(state_->mutex);
  if (!state_->tasks.empty()) thread_ = std::thread([state = state_] { state->Run(); });
}

void PeriodicTasks::RunSoon(Id id) {
  const std::scoped_lock lock(state_->mutex);
  state_->tasks[id].next = SteadyTime::min();
  state_->is_woken = true;
  state_->changed.notify_all();
}

void PeriodicTasks::RunDue() { state_->RunDue(); }

void PeriodicTasks::State::RunDue() {
  std::unique_lock lock(mutex);
  for (Task& task : tasks) {
    if (stopping) return;
    if (task.next > clock->Now()) continue;
    task.next = kNever;  // unless RunSoon() is called meanwhile
    lock.unlock();
    task.run();
    lock.lock();
    if (stopping) return;  // the clock may be gone
    task.next = std::min(task.next, clock->Now() + task.period);
  }
}

void PeriodicTasks::State::Run() {
  for (;;) {
    RunDue();
    CountUpkeep();
    std::unique_lock lock(mutex);
    SteadyTime next = kNever;
    for (const Task& task : tasks) next = std::min(next, task.next);
    changed.wait_until(lock, next, [this] { return is_woken; });
    is_woken = false;
    if (!stopping) continue;
    stopped = true;
    changed.notify_all();
    return;
  }
}

}  // namespace orbserve
