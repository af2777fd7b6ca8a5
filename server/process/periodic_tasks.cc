// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/periodic_tasks.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"

namespace orbserve {

PeriodicTasks::~PeriodicTasks() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    is_woken_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

PeriodicTasks::Id PeriodicTasks::Add(std::chrono::milliseconds period,
                                     absl::AnyInvocable<void()> run) {
  absl::MutexLock lock(&mutex_);
  tasks_.push_back({period, std::move(run), clock_->Now() + period});
  return tasks_.size() - 1;
}

void PeriodicTasks::Start() {
  absl::MutexLock lock(&mutex_);
  if (!tasks_.empty()) thread_ = std::thread([this] { Run(); });
}

void PeriodicTasks::RunSoon(Id id) {
  absl::MutexLock lock(&mutex_);
  tasks_[id].next = SteadyTime::min();
  is_woken_ = true;
}

void PeriodicTasks::RunDue() {
  absl::MutexLock lock(&mutex_);
  for (Task& task : tasks_) {
    if (stopping_) return;
    if (task.next > clock_->Now()) continue;
    task.next = kNever;  // unless RunSoon() is called meanwhile
    mutex_.Unlock();
    task.run();
    mutex_.Lock();
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
    absl::MutexLock lock(&mutex_);
    const auto wait = std::max(NextTime(), clock_->Now()) - clock_->Now();
    mutex_.AwaitWithTimeout(absl::Condition(&is_woken_), absl::FromChrono(wait));
    if (stopping_) return;
    is_woken_ = false;
  }
}

}  // namespace orbserve
