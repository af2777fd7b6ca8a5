// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A clock that moves when a test says so.

#ifndef ORBSERVE_TESTS_SERVER_SERVING_FAKE_CLOCK_H_
#define ORBSERVE_TESTS_SERVER_SERVING_FAKE_CLOCK_H_

#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "server/process/clock.h"

namespace orbserve {

// For one thread.
class FakeClock final : public Clock {
 public:
  SteadyTime Now() const override { return now_; }

  std::unique_ptr<Alarm> MakeAlarm(absl::AnyInvocable<void()> callback) override {
    return std::make_unique<FakeAlarm>(this, std::move(callback));
  }

  // Moves on without an alarm, as if the process had stood still: what came due fires late, at the
  // next Advance().
  void StandStill(std::chrono::microseconds time) { now_ += time; }

  // Moves on and fires, in order and each at its own moment, the alarms that come due.
  void Advance(std::chrono::microseconds time) {
    const SteadyTime end = now_ + time;
    while (!armed_.empty() && armed_.begin()->first <= end) {
      const auto [when, alarm] = *armed_.begin();
      armed_.erase(armed_.begin());
      alarm->when_ = kNever;
      now_ = std::max(now_, when);
      alarm->callback_();
    }
    now_ = end;
  }

 private:
  class FakeAlarm final : public Alarm {
   public:
    FakeAlarm(FakeClock* clock, absl::AnyInvocable<void()> callback)
        : clock_(clock), callback_(std::move(callback)) {}
    ~FakeAlarm() override { clock_->armed_.erase({when_, this}); }
    void Set(SteadyTime when) override {
      clock_->armed_.erase({when_, this});
      when_ = when;
      if (when != kNever) clock_->armed_.insert({when, this});
    }

    FakeClock* const clock_;
    absl::AnyInvocable<void()> callback_;
    SteadyTime when_ = kNever;
  };

  SteadyTime now_{std::chrono::hours(1)};
  std::set<std::pair<SteadyTime, FakeAlarm*>> armed_;
};

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_SERVER_SERVING_FAKE_CLOCK_H_
