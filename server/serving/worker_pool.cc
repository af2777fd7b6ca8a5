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

void WorkerPool::Run(absl::string_view client, absl::AnyInvocable<void() &&> task) {
  absl::MutexLock lock(&mutex_);
  tasks_.Push(client, std::move(task));
}

void WorkerPool::Work() {
  for (;;) {
    absl::AnyInvocable<void() &&> task;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &WorkerPool::HasWorkOrStops));
      if (tasks_.empty()) return;
      task = tasks_.Pop();
    }
    std::move(task)();
  }
}

}  // namespace orbserve
