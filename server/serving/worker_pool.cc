// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/worker_pool.h"

#include <algorithm>
#include <utility>

#include "features/this_thread.h"

namespace orbserve {

WorkerPool::WorkerPool(const WorkerPoolOptions& options)
    : options_(options),
      max_large_bytes_(options.max_bytes - options.max_bytes / kSmallPart),
      room_(std::make_shared<TaskRoom>(options.ledger)),
      mutex_(room_->mutex),
      shares_(room_->shares) {
  // An owner may hold three times what it leaves free, and a name as much of its owner's part.
  shares_.ledger().Bound(Resource::kDecodeBytes, {.all = options_.max_bytes, .times_free = 3});
  // Large tasks go in the order of the shares.
  shares_.ledger().Bound(Resource::kLargeDecodeBytes, {.all = max_large_bytes_, .times_free = 0});
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
    ++room_->changes;
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Run(const ClientId& client, const TaskNeeds& needs, Task task) {
  absl::MutexLock lock(&mutex_);
  FairShares::Account* const account = shares_.Open(client);
  const bool is_large = IsLarge(needs);
  const Resource bytes = is_large ? Resource::kLargeDecodeBytes : Resource::kDecodeBytes;
  (is_large ? large_ : small_)
      .Push(account, {account, needs, Holding(account->holds(), bytes), std::move(task)});
  ++room_->changes;
}

int WorkerPool::IdleThreads() const {
  absl::MutexLock lock(&mutex_);
  // Threads of large tasks that are busy count, too: what they leave free is not known here.
  return std::max(0, options_.threads - busy_ - static_cast<int>(small_.size()));
}

WorkerPoolUse WorkerPool::use() const {
  absl::MutexLock lock(&mutex_);
  return {.threads = static_cast<int64_t>(threads_.size()),
          .busy = busy_,
          .waiting = static_cast<int64_t>(small_.size() + large_.size()),
          .bytes = SmallBytes() + LargeBytes()};
}

int64_t WorkerPool::ReservedBytes() const {
  const Tasks::Handle next =
      large_.FirstThat([](const Entry& one) { return one.needs.memory != nullptr; });
  return next.client == nullptr ? 0 : CountedBytes(*next.item->needs.memory);
}

bool WorkerPool::Fits(const Entry& entry, int64_t others_bytes) const {
  const int64_t bytes = CountedBytes(*entry.needs.memory);
  return bytes <= options_.max_bytes - others_bytes && !entry.holding.AskFurther(bytes).has_value();
}

bool WorkerPool::Take(Tasks& tasks, Entry* entry) {
  const bool is_large = &tasks == &large_;
  const int64_t others_bytes =
      SmallBytes() + (is_large ? LargeBytes() : std::max(LargeBytes(), ReservedBytes()));
  bool is_next = true;
  const Tasks::Handle next = tasks.FirstThat([&](const Entry& one) {
    if (one.needs.memory == nullptr || stopping_) return true;
    const bool fits = (is_next || !is_large) && Fits(one, others_bytes);
    is_next = false;
    return fits;
  });
  if (next.client == nullptr) return false;
  *entry = tasks.Remove(next);
  shares_.Charge(entry->account, entry->needs.time.count());
  if (entry->needs.memory != nullptr) {
    TaskMemory& memory = *entry->needs.memory;
    memory.room_ = room_;
    memory.holding_ = std::move(entry->holding);
    memory.holding_.Set(CountedBytes(memory));
  }
  return true;
}

void WorkerPool::Work(Tasks* tasks) {
  uint64_t seen = 0;
  const auto has_changed = [this, &seen, tasks] {
    return room_->changes != seen || (stopping_ && tasks->empty());
  };
  absl::MutexLock lock(&mutex_);
  while (true) {
    Entry entry;
    if (!Take(*tasks, &entry)) {
      if (stopping_) return;
      seen = room_->changes;
      mutex_.Await(absl::Condition(&has_changed));
      continue;
    }
    ++busy_;
    mutex_.Unlock();
    const std::chrono::nanoseconds begin = TimeOfThisThread();
    std::move(entry.task)();
    entry.task = nullptr;
    entry.needs.memory = nullptr;
    const std::chrono::nanoseconds taken = TimeOfThisThread() - begin;
    mutex_.Lock();
    --busy_;
    shares_.Correct(entry.account, (taken - entry.needs.time).count());
    shares_.Close(entry.account);
  }
}

}  // namespace orbserve
