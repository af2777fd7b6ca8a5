// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Time as the serving layer sees it. All waiting for a moment goes through an Alarm, so tests own
// the clock and need no sleeps.

#ifndef ORBSERVE_SERVER_PROCESS_CLOCK_H_
#define ORBSERVE_SERVER_PROCESS_CLOCK_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "features/backend.h"

namespace orbserve {

// Stands for "never" in deadlines and alarms.
inline constexpr SteadyTime kNever = SteadyTime::max();

// Calls its callback once each time its moment has come, one call at a time. Thread-safe. The
// destructor returns when no callback runs any more, unless it is called from the callback itself.
class Alarm {
 public:
  virtual ~Alarm() = default;
  // Replaces the moment; kNever disarms. A moment that has passed fires as soon as possible, from
  // a thread of the clock, never inside Set().
  virtual void Set(SteadyTime when) = 0;
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual SteadyTime Now() const = 0;
  // `callback` must not block but for short locks. The clock must outlive the alarm.
  virtual std::unique_ptr<Alarm> MakeAlarm(absl::AnyInvocable<void()> callback) = 0;
};

// The machine's steady clock: a step of the wall clock moves no deadline.
//
// It has a few threads for all alarms, which take a processor from other threads when a moment has
// come, where they may. On a machine whose processors are all busy, a callback may have to wait for
// a lock whose owner has lost its processor for some milliseconds. Other alarms then fire on the
// other threads.
class SystemClock final : public Clock {
 public:
  SystemClock();
  ~SystemClock() override;

  SteadyTime Now() const override { return std::chrono::steady_clock::now(); }
  std::unique_ptr<Alarm> MakeAlarm(absl::AnyInvocable<void()> callback) override;

 private:
  class SystemAlarm;
  static constexpr int kThreads = 4;

  void Run();
  // Arms an alarm that is not armed and does not run. Returns true if its moment is the first one.
  bool Arm(SystemAlarm* alarm);

  std::mutex mutex_;
  std::condition_variable changed_;  // the first moment, for the thread that waits for it
  std::condition_variable free_;     // no thread waits for the first moment
  std::condition_variable ended_;    // a callback
  std::set<std::pair<SteadyTime, SystemAlarm*>> armed_;
  bool is_watched_ = false;  // a thread waits for the first moment
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_CLOCK_H_
