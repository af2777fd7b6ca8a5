// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/run/large_frames.h"

#include <new>
#include <system_error>
#include <utility>

#include "absl/time/time.h"
#include "cpu/run/task_group.h"
#include "features/this_thread.h"

namespace orbserve::cpu {

LargeFrames::LargeFrames(int threads)
    : arena_threads_(threads),
      arena_(threads, /*reserved_for_masters=*/static_cast<unsigned>(threads)) {}

LargeFrames::~LargeFrames() {
  std::vector<std::thread> threads;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void LargeFrames::Submit(Frame frame) {
  absl::MutexLock lock(&mutex_);
  MakeThreads();
  frames_.push_back(std::move(frame));
  // A helper is a thread that could compute a whole frame.
  if (!helpers_.empty()) {
    helpers_.back()->open = tbb::task_handle();
    helpers_.pop_back();
  }
}

void LargeFrames::MakeThreads() {
  threads_.reserve(static_cast<size_t>(arena_threads_));
  while (threads_.size() < static_cast<size_t>(arena_threads_)) {
    try {
      threads_.emplace_back([this] {
        LowerPriorityOfThisThread();
        Work();
      });
    } catch (const std::system_error&) {
      // The next frame tries again. One thread is enough to compute all of them.
      if (threads_.empty()) throw std::bad_alloc();
      return;
    }
  }
}

void LargeFrames::Work() {
  absl::MutexLock lock(&mutex_);
  while (true) {
    mutex_.Await(absl::Condition(this, &LargeFrames::HasWorkOrStops));
    if (!frames_.empty()) {
      RunFrame();
    } else if (running_ > 0) {
      Help();
    } else {
      return;
    }
  }
}

void LargeFrames::RunFrame() {
  Frame frame = std::move(frames_.front());
  frames_.pop_front();
  ++running_;
  mutex_.Unlock();
  arena_.execute([&frame] { std::move(frame)(); });
  frame = nullptr;
  mutex_.Lock();
  if (--running_ > 0) return;
  for (Helper* const helper : helpers_) helper->open = tbb::task_handle();
  helpers_.clear();
}

void LargeFrames::Help() {
  TaskGroup group;
  Helper helper;
  try {
    helper.open = group.Defer([] {});  // never runs: dropping it ends the wait
    helpers_.push_back(&helper);
  } catch (const std::bad_alloc&) {
    helper.open = tbb::task_handle();
    constexpr absl::Duration kPause = absl::Milliseconds(10);
    mutex_.AwaitWithTimeout(absl::Condition(this, &LargeFrames::HasFrames), kPause);
    return;
  }
  mutex_.Unlock();
  arena_.execute([&group] { group.wait(); });
  mutex_.Lock();
}

}  // namespace orbserve::cpu
