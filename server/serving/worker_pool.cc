// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/worker_pool.h"

#include <utility>

#include "features/this_thread.h"

namespace orbserve {

WorkerPool::WorkerPool(const WorkerPoolOptions& options)
    : options_(options), shares_(options.weights) {
  threads_.reserve(static_cast<size_t>(options_.threads + options_.large_threads));
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Work(&small_); });
  for (int i = 0; i < options_.large_threads; ++i) {
    threads_.emplace_back([this] {
      LowerPriorityOfThisThread();
      Work(&large_);
    });
  }
}

WorkerPool::~WorkerPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Run(const ClientId& client, const TaskNeeds& needs, Task task) {
  absl::MutexLock lock(&mutex_);
  FairShares::Account* const account = shares_.Open(client);
  (IsLarge(needs) ? large_ : small_).Push(account, {account, needs, std::move(task)});
}

WorkerPoolUse WorkerPool::use() const {
  absl::MutexLock lock(&mutex_);
  return {.threads = static_cast<int64_t>(threads_.size()),
          .busy = busy_,
          .waiting = static_cast<int64_t>(small_.size() + large_.size())};
}

void WorkerPool::Work(Tasks* tasks) {
  const auto has_work_or_stops = [this, tasks]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !tasks->empty() || stopping_;
  };
  absl::MutexLock lock(&mutex_);
  while (true) {
    mutex_.Await(absl::Condition(&has_work_or_stops));
    if (tasks->empty()) return;
    Entry entry = tasks->Pop();
    shares_.Charge(entry.account, entry.needs.time.count());
    ++busy_;
    mutex_.Unlock();
    const std::chrono::nanoseconds begin = TimeOfThisThread();
    std::move(entry.task)();
    entry.task = nullptr;
    const std::chrono::nanoseconds taken = TimeOfThisThread() - begin;
    mutex_.Lock();
    --busy_;
    shares_.Correct(entry.account, (taken - entry.needs.time).count());
    shares_.Close(entry.account);
  }
}

}  // namespace orbserve
