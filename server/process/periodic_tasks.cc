// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/periodic_tasks.h"

#include <algorithm>
#include <utility>

namespace orbserve {

PeriodicTasks::~PeriodicTasks() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    is_woken_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
}

PeriodicTasks::Id PeriodicTasks::Add(std::chrono::milliseconds period,
                                     absl::AnyInvocable<void()> run) {
  const std::scoped_lock lock(mutex_);
  tasks_.push_back({period, std::move(run), clock_->Now() + period});
  return tasks_.size() - 1;
}

void PeriodicTasks::Start() {
  const std::scoped_lock lock(mutex_);
  if (!tasks_.empty()) thread_ = std::thread([this] { Run(); });
}

void PeriodicTasks::RunSoon(Id id) {
  {
    const std::scoped_lock lock(mutex_);
    tasks_[id].next = SteadyTime::min();
    is_woken_ = true;
  }
  woken_.notify_all();
}

void PeriodicTasks::RunDue() {
  std::unique_lock lock(mutex_);
  for (Task& task : tasks_) {
    if (stopping_) return;
    if (task.next > clock_->Now()) continue;
    task.next = kNever;  // unless RunSoon() is called meanwhile
    lock.unlock();
    task.run();
    lock.lock();
    task.next = std::min(task.next, clock_->Now() + task.period);
  }
}

SteadyTime PeriodicTasks::NextTime() const {
  SteadyTime next = kNever;
  for (const Task& task : tasks_) next = std::min(next, task.next);
  return next;
}

void PeriodicTasks::Run() {
  for (;;) {
    RunDue();
    std::unique_lock lock(mutex_);
    woken_.wait_until(lock, NextTime(), [this] { return is_woken_; });
    if (stopping_) return;
    is_woken_ = false;
  }
}

}  // namespace orbserve
