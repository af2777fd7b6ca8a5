// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/matching/large_matches.h"

#include <algorithm>
#include <new>
#include <utility>

namespace orbserve::cpu {
namespace {

// While the parts of one match that are not sliced run, another one has slices for the arena.
constexpr int kThreads = 2;
// Slices earn a quarter of what urgent work takes, and so get a fifth of the time of both.
constexpr int kUrgentPerSliceTime = 4;
// Most time that slices can save up. More would be a burst that urgent work notices.
constexpr std::chrono::milliseconds kMaxCredit{4};

}  // namespace

LargeMatches::LargeMatches(tbb::task_arena* arena, int threads)
    : arena_(*arena), arena_threads_(threads) {
  threads_.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { Work(); });
}

LargeMatches::~LargeMatches() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
  // Tasks of the arena that found nothing left to do.
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](int* runners) { return *runners == 0; }, &runners_));
}

void LargeMatches::Submit(Task task) {
  absl::MutexLock lock(&mutex_);
  tasks_.push_back(std::move(task));
}

void LargeMatches::Work() {
  for (;;) {
    Task task;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &LargeMatches::HasTaskOrStops));
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    std::move(task)(*this);
  }
}

void LargeMatches::ForEach(int count, int size, absl::FunctionRef<void(int, int)> slice) {
  Pass pass{.slice = slice, .count = count, .size = size};
  int new_runners = 0;
  {
    absl::MutexLock lock(&mutex_);
    passes_.push_back(&pass);
    new_runners = TakeNewRunners();
  }
  Enqueue(new_runners);
  absl::MutexLock lock(&mutex_);
  Waiter waiter{*this, pass};
  while (!pass.IsDone()) {
    mutex_.Await(absl::Condition(&waiter, &Waiter::HasNews));
    if (stranded_runners_ == 0) continue;
    --stranded_runners_;
    mutex_.Unlock();
    RunSlices();
    mutex_.Lock();
  }
  passes_.remove(&pass);
  if (passes_.empty()) runners_ -= std::exchange(stranded_runners_, 0);
}

void LargeMatches::UrgentBegins() {
  absl::MutexLock lock(&mutex_);
  ++urgent_;
}

void LargeMatches::UrgentEnds(std::chrono::nanoseconds time) {
  int new_runners = 0;
  {
    absl::MutexLock lock(&mutex_);
    --urgent_;
    // Earned time is not saved for the next urgent work after a pause.
    credit_ = urgent_ > 0 ? std::min<std::chrono::nanoseconds>(credit_ + time / kUrgentPerSliceTime,
                                                               kMaxCredit)
                          : std::chrono::nanoseconds(0);
    new_runners = TakeNewRunners();
  }
  Enqueue(new_runners);
}

LargeMatches::Pass* LargeMatches::NextPass() {
  for (Pass* pass : passes_) {
    if (pass->next < pass->count) return pass;
  }
  return nullptr;
}

int LargeMatches::AllowedRunners() const {
  if (urgent_ == 0) return arena_threads_;
  return credit_.count() > 0 ? 1 : 0;
}

int LargeMatches::TakeNewRunners() {
  int slices = 0;
  for (const Pass* pass : passes_) {
    slices += (pass->count - pass->next + pass->size - 1) / pass->size;
    if (slices >= arena_threads_) break;
  }
  const int wanted = std::min(slices, AllowedRunners());
  const int added = std::max(0, wanted - runners_);
  runners_ += added;
  return added;
}

void LargeMatches::Enqueue(int runners) {
  try {
    for (; runners > 0; --runners) arena_.enqueue([this] { RunSlices(); });
  } catch (const std::bad_alloc&) {
    absl::MutexLock lock(&mutex_);
    if (passes_.empty()) {
      runners_ -= runners;
    } else {
      stranded_runners_ += runners;
    }
  }
}

void LargeMatches::RunSlices() {
  absl::MutexLock lock(&mutex_);
  while (runners_ <= AllowedRunners()) {
    Pass* const pass = NextPass();
    if (pass == nullptr) break;
    const int begin = pass->next;
    const int end = std::min(pass->count, begin + pass->size);
    pass->next = end;
    ++pass->running;
    mutex_.Unlock();
    const auto time = std::chrono::steady_clock::now();
    pass->slice(begin, end);
    const auto taken = std::chrono::steady_clock::now() - time;
    mutex_.Lock();
    --pass->running;  // the pass may be gone when the lock is next released
    credit_ = urgent_ > 0 ? credit_ - taken : std::chrono::nanoseconds(0);
  }
  --runners_;
}

}  // namespace orbserve::cpu
