// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/worker_pool.h"

#include <utility>

namespace orbserve {

WorkerPool::WorkerPool(int threads) {
  threads_.reserve(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

WorkerPool::~WorkerPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Run(const ClientId& client, absl::AnyInvocable<void() &&> task) {
  absl::MutexLock lock(&mutex_);
  tasks_.Push(client, std::move(task));
}

WorkerPoolUse WorkerPool::use() const {
  absl::MutexLock lock(&mutex_);
  return {.threads = static_cast<int64_t>(threads_.size()),
          .busy = busy_,
          .waiting = static_cast<int64_t>(tasks_.size())};
}

void WorkerPool::Work() {
  for (bool has_run_one = false;; has_run_one = true) {
    absl::AnyInvocable<void() &&> task;
    {
      absl::MutexLock lock(&mutex_);
      if (has_run_one) --busy_;
      mutex_.Await(absl::Condition(this, &WorkerPool::HasWorkOrStops));
      if (tasks_.empty()) return;
      task = tasks_.Pop();
      ++busy_;
    }
    std::move(task)();
  }
}

}  // namespace orbserve
