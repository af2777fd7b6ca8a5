// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/upkeep.h"

#include <chrono>
#include <future>
#include <thread>

#include "features/this_thread.h"
#include "gtest/gtest.h"
#include "server/process/clock.h"
#include "server/process/periodic_tasks.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;

void Work(std::chrono::nanoseconds time) {
  const std::chrono::nanoseconds begin = TimeOfThisThread();
  while (TimeOfThisThread() - begin < time) {
  }
}

TEST(UpkeepTest, AThreadThatCountsIsInItOnceAndOthersAreNot) {
  const std::chrono::nanoseconds before = UpkeepTime();
  std::thread([] { Work(milliseconds(50)); }).join();
  EXPECT_EQ(UpkeepTime(), before);
  std::chrono::nanoseconds taken{};
  std::thread([&taken] {
    Work(milliseconds(10));
    CountUpkeep();
    Work(milliseconds(10));
    CountUpkeep();
    taken = TimeOfThisThread();
  }).join();
  EXPECT_GE(UpkeepTime() - before, milliseconds(20));
  EXPECT_LE(UpkeepTime() - before, taken);
}

TEST(UpkeepTest, PeriodicTasksAreInIt) {
  const std::chrono::nanoseconds before = UpkeepTime();
  SystemClock clock;
  std::promise<void> has_run_again;  // so the first run is counted
  {
    PeriodicTasks tasks(&clock);
    tasks.Add(milliseconds(1), [&has_run_again, runs = 0]() mutable {
      Work(milliseconds(10));
      if (++runs == 2) has_run_again.set_value();
    });
    tasks.Start();
    has_run_again.get_future().wait();
  }
  EXPECT_GE(UpkeepTime() - before, milliseconds(10));
}

}  // namespace
}  // namespace orbserve
