// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/clock.h"

namespace orbserve {

class SystemClock::SystemAlarm final : public Alarm {
 public:
  SystemAlarm(SystemClock* clock, absl::AnyInvocable<void()> callback)
      : clock_(clock), callback_(std::move(callback)) {}

  ~SystemAlarm() override {
    std::unique_lock lock(clock_->mutex_);
    clock_->armed_.erase({when_, this});
    if (std::this_thread::get_id() == clock_->thread_.get_id()) {
      if (clock_->running_ == this) clock_->running_ = nullptr;
      return;
    }
    clock_->changed_.wait(lock, [this] { return clock_->running_ != this; });
  }

  void Set(SteadyTime when) override {
    bool is_first;
    {
      const std::scoped_lock lock(clock_->mutex_);
      if (when == when_) return;
      clock_->armed_.erase({when_, this});
      when_ = when;
      if (when == kNever) return;
      const auto entry = clock_->armed_.insert({when, this}).first;
      is_first = entry == clock_->armed_.begin();
    }
    // A later alarm than the one waited for needs no wake-up.
    if (is_first) clock_->changed_.notify_all();
  }

 private:
  friend class SystemClock;

  SystemClock* const clock_;
  absl::AnyInvocable<void()> callback_;
  SteadyTime when_ = kNever;  // guarded by clock_->mutex_; kNever = not armed
};

SystemClock::SystemClock() : thread_([this] { Run(); }) {}

SystemClock::~SystemClock() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::unique_ptr<Alarm> SystemClock::MakeAlarm(absl::AnyInvocable<void()> callback) {
  return std::make_unique<SystemAlarm>(this, std::move(callback));
}

void SystemClock::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (armed_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto [when, alarm] = *armed_.begin();
    if (Now() < when) {
      changed_.wait_until(lock, when);
      continue;
    }
    armed_.erase(armed_.begin());
    alarm->when_ = kNever;
    running_ = alarm;
    lock.unlock();
    alarm->callback_();
    lock.lock();
    running_ = nullptr;
    changed_.notify_all();  // a destructor may wait for the end of the callback
  }
}

}  // namespace orbserve
