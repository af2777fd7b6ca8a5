// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/clock.h"

#include "features/this_thread.h"

namespace orbserve {

class SystemClock::SystemAlarm final : public Alarm {
 public:
  SystemAlarm(SystemClock* clock, absl::AnyInvocable<void()> callback)
      : clock_(clock), callback_(std::move(callback)) {}

  ~SystemAlarm() override {
    std::unique_lock lock(clock_->mutex_);
    if (is_running_ && runner_ == std::this_thread::get_id()) {
      *is_destroyed_ = true;
      return;
    }
    is_ending_ = true;
    clock_->ended_.wait(lock, [this] { return !is_running_; });
    clock_->armed_.erase({when_, this});
  }

  void Set(SteadyTime when) override {
    SystemClock* const clock = clock_;  // without the lock, the callback may destroy the alarm
    bool is_first = false;
    {
      const std::scoped_lock lock(clock->mutex_);
      if (when == when_) return;
      if (!is_running_) clock->armed_.erase({when_, this});
      when_ = when;
      // An alarm that runs is armed when its callback has ended.
      if (!is_running_) is_first = clock->Arm(this);
    }
    // A later alarm than the one waited for needs no wake-up. The thread that wakes up may take
    // this thread's processor, and needs the lock.
    if (is_first) clock->changed_.notify_one();
  }

 private:
  friend class SystemClock;

  SystemClock* const clock_;
  absl::AnyInvocable<void()> callback_;
  // The rest is guarded by clock_->mutex_.
  SteadyTime when_ = kNever;  // kNever = not armed
  bool is_running_ = false;
  bool is_ending_ = false;        // the destructor waits: it is not armed any more
  std::thread::id runner_;        // if is_running_
  bool* is_destroyed_ = nullptr;  // if is_running_: told to the runner
};

SystemClock::SystemClock() {
  threads_.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads_.emplace_back([this] {
      RaisePriorityOfThisThread();
      Run();
    });
  }
}

SystemClock::~SystemClock() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  free_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::unique_ptr<Alarm> SystemClock::MakeAlarm(absl::AnyInvocable<void()> callback) {
  return std::make_unique<SystemAlarm>(this, std::move(callback));
}

bool SystemClock::Arm(SystemAlarm* alarm) {
  if (alarm->when_ == kNever || alarm->is_ending_) return false;
  const auto entry = armed_.insert({alarm->when_, alarm}).first;
  return entry == armed_.begin();
}

void SystemClock::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (is_watched_) {
      free_.wait(lock);
      continue;
    }
    if (armed_.empty() || Now() < armed_.begin()->first) {
      is_watched_ = true;
      if (armed_.empty()) {
        changed_.wait(lock);
      } else {
        changed_.wait_until(lock, SteadyTime(armed_.begin()->first));
      }
      is_watched_ = false;
      continue;
    }
    SystemAlarm* const alarm = armed_.begin()->second;
    armed_.erase(armed_.begin());
    bool is_destroyed = false;
    alarm->when_ = kNever;
    alarm->is_running_ = true;
    alarm->runner_ = std::this_thread::get_id();
    alarm->is_destroyed_ = &is_destroyed;
    free_.notify_one();  // to wait for the next moment
    lock.unlock();
    alarm->callback_();
    lock.lock();
    if (is_destroyed) continue;
    alarm->is_running_ = false;
    if (Arm(alarm)) changed_.notify_one();
    ended_.notify_all();  // a destructor may wait for the end of the callback
  }
}

}  // namespace orbserve
