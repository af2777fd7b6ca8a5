// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/clock.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;

constexpr absl::Duration kLimit = absl::Seconds(10);

TEST(SystemClockTest, AnAlarmWakesAClockThatHasNothingElseToDo) {
  SystemClock clock;
  for (int round = 0; round < 3; ++round) {
    absl::Notification fired;
    const auto alarm = clock.MakeAlarm([&] { fired.Notify(); });
    // Long enough for the clock's thread to sleep without a moment to wake up at.
    std::this_thread::sleep_for(milliseconds(20));
    const SteadyTime when = clock.Now() + milliseconds(5);
    alarm->Set(when);
    ASSERT_TRUE(fired.WaitForNotificationWithTimeout(kLimit));
    EXPECT_GE(clock.Now(), when);
  }
}

TEST(SystemClockTest, AnEarlierAlarmDoesNotWaitForALaterOne) {
  SystemClock clock;
  absl::Notification fired;
  const auto late = clock.MakeAlarm([] { ADD_FAILURE() << "in an hour"; });
  const auto early = clock.MakeAlarm([&] { fired.Notify(); });
  late->Set(clock.Now() + std::chrono::hours(1));
  std::this_thread::sleep_for(milliseconds(20));
  early->Set(clock.Now() + milliseconds(5));
  EXPECT_TRUE(fired.WaitForNotificationWithTimeout(kLimit));
}

TEST(SystemClockTest, ADisarmedOrDestroyedAlarmDoesNotFire) {
  SystemClock clock;
  absl::Notification fired;
  const auto disarmed = clock.MakeAlarm([] { ADD_FAILURE() << "it was disarmed"; });
  auto destroyed = clock.MakeAlarm([] { ADD_FAILURE() << "it is gone"; });
  const auto last = clock.MakeAlarm([&] { fired.Notify(); });
  const SteadyTime when = clock.Now() + milliseconds(20);
  disarmed->Set(when);
  destroyed->Set(when);
  last->Set(when + milliseconds(20));
  disarmed->Set(kNever);
  destroyed.reset();
  EXPECT_TRUE(fired.WaitForNotificationWithTimeout(kLimit));
}

TEST(SystemClockTest, AnAlarmDoesNotWaitForTheCallbackOfAnother) {
  SystemClock clock;
  absl::Notification fired;
  absl::Notification ended;
  bool is_in_time = false;
  const auto blocked = clock.MakeAlarm([&] {
    is_in_time = fired.WaitForNotificationWithTimeout(kLimit);
    ended.Notify();
  });
  const auto other = clock.MakeAlarm([&] { fired.Notify(); });
  blocked->Set(clock.Now());
  other->Set(clock.Now() + milliseconds(20));
  ASSERT_TRUE(ended.WaitForNotificationWithTimeout(2 * kLimit));
  EXPECT_TRUE(is_in_time);
}

TEST(SystemClockTest, CallsOfOneAlarmComeOneAtATime) {
  constexpr int kCalls = 20;
  SystemClock clock;
  absl::Notification ended;
  std::atomic<int> running = 0;
  int calls = 0;
  std::unique_ptr<Alarm> alarm;
  alarm = clock.MakeAlarm([&] {
    EXPECT_EQ(running.fetch_add(1), 0);
    if (++calls < kCalls) alarm->Set(clock.Now());
    std::this_thread::sleep_for(milliseconds(2));  // time for a second call
    --running;
    if (calls == kCalls) ended.Notify();
  });
  alarm->Set(clock.Now());
  ASSERT_TRUE(ended.WaitForNotificationWithTimeout(kLimit));
}

TEST(SystemClockTest, DestroyingAnAlarmWaitsForItsCallbackAndDisarmsIt) {
  SystemClock clock;
  absl::Notification running;
  std::atomic<bool> ended = false;
  std::unique_ptr<Alarm> alarm;
  alarm = clock.MakeAlarm([&, self = &alarm] {
    ASSERT_FALSE(ended) << "it is gone";
    (*self)->Set(clock.Now() + milliseconds(1));
    running.Notify();
    std::this_thread::sleep_for(milliseconds(20));
    ended = true;
  });
  alarm->Set(clock.Now());
  ASSERT_TRUE(running.WaitForNotificationWithTimeout(kLimit));
  alarm.reset();
  EXPECT_TRUE(ended);
  std::this_thread::sleep_for(milliseconds(20));
}

TEST(SystemClockTest, AnAlarmMayBeDestroyedByItsCallback) {
  SystemClock clock;
  absl::Notification fired;
  std::unique_ptr<Alarm> alarm;
  alarm = clock.MakeAlarm([&] {
    absl::Notification& told = fired;  // what the callback has captured ends with it
    alarm.reset();
    told.Notify();
  });
  alarm->Set(clock.Now());
  EXPECT_TRUE(fired.WaitForNotificationWithTimeout(kLimit));
}

#ifdef __linux__
id_t ThisThread() { return static_cast<id_t>(syscall(SYS_gettid)); }

TEST(SystemClockTest, AlarmsGoBeforeOtherThreadsWhereTheProcessMay) {
  const int present = getpriority(PRIO_PROCESS, ThisThread());
  bool may_raise = false;
  std::thread([&] {
    may_raise = setpriority(PRIO_PROCESS, ThisThread(), present - 1) == 0 &&
                getpriority(PRIO_PROCESS, ThisThread()) < present;
  }).join();
  if (!may_raise) GTEST_SKIP() << "this process may not lower its nice value";
  SystemClock clock;
  absl::Notification fired;
  int nice_of_clock = 0;
  int nice_of_its_thread = 0;
  const auto alarm = clock.MakeAlarm([&] {
    nice_of_clock = getpriority(PRIO_PROCESS, ThisThread());
    std::thread([&] { nice_of_its_thread = getpriority(PRIO_PROCESS, ThisThread()); }).join();
    fired.Notify();
  });
  alarm->Set(clock.Now());
  ASSERT_TRUE(fired.WaitForNotificationWithTimeout(kLimit));
  EXPECT_LT(nice_of_clock, present);
  EXPECT_GT(nice_of_its_thread, nice_of_clock) << "threads that it starts are ordinary ones";
}
#endif

}  // namespace
}  // namespace orbserve
