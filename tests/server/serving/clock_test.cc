// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/clock.h"

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

}  // namespace
}  // namespace orbserve
