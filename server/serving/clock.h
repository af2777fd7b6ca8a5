// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Time as the serving layer sees it. All waiting for a moment goes through an Alarm, so tests own
// the clock and need no sleeps.

#ifndef ORBSERVE_SERVER_SERVING_CLOCK_H_
#define ORBSERVE_SERVER_SERVING_CLOCK_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "features/backend.h"

namespace orbserve {

// Stands for "never" in deadlines and alarms.
inline constexpr SteadyTime kNever = SteadyTime::max();

// Calls its callback once each time its moment has come. Thread-safe. The destructor returns when
// no callback runs any more, unless it is called from the callback itself.
class Alarm {
 public:
  virtual ~Alarm() = default;
  // Replaces the moment; kNever disarms. A moment that has passed fires as soon as possible, from
  // the clock's thread, never inside Set().
  virtual void Set(SteadyTime when) = 0;
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual SteadyTime Now() const = 0;
  // `callback` must not block. The clock must outlive the alarm.
  virtual std::unique_ptr<Alarm> MakeAlarm(absl::AnyInvocable<void()> callback) = 0;
};

// The machine's steady clock (a step of the wall clock moves no deadline), with one thread for all
// alarms.
class SystemClock final : public Clock {
 public:
  SystemClock();
  ~SystemClock() override;

  SteadyTime Now() const override { return std::chrono::steady_clock::now(); }
  std::unique_ptr<Alarm> MakeAlarm(absl::AnyInvocable<void()> callback) override;

 private:
  class SystemAlarm;

  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::pair<SteadyTime, SystemAlarm*>> armed_;
  SystemAlarm* running_ = nullptr;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_CLOCK_H_
