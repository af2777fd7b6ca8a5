// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/periodic_tasks.h"

#include <chrono>
#include <future>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "tests/server/serving/fake_clock.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;

class PeriodicTasksTest : public ::testing::Test {
 protected:
  void AddTask(char name, int period_ms) {
    tasks_.Add(milliseconds(period_ms), [this, name] { runs_ += name; });
  }
  // Returns the tasks that have run at this moment.
  std::string RunsAfter(int ms) {
    clock_.Advance(milliseconds(ms));
    runs_.clear();
    tasks_.RunDue();
    return runs_;
  }

  FakeClock clock_;
  std::string runs_;
  PeriodicTasks tasks_{&clock_};
};

TEST_F(PeriodicTasksTest, EachTaskRunsOnceAPeriodInTheOrderOfTheList) {
  AddTask('a', 20);
  AddTask('b', 30);
  EXPECT_EQ(RunsAfter(0), "");
  EXPECT_EQ(RunsAfter(19), "");
  EXPECT_EQ(RunsAfter(1), "a");   // 20
  EXPECT_EQ(RunsAfter(10), "b");  // 30
  EXPECT_EQ(RunsAfter(10), "a");  // 40
  EXPECT_EQ(RunsAfter(20), "ab");
  EXPECT_EQ(RunsAfter(0), "");
}

TEST_F(PeriodicTasksTest, ATaskThatIsLateRunsOnceAndThenAPeriodLater) {
  AddTask('a', 20);
  EXPECT_EQ(RunsAfter(500), "a");
  EXPECT_EQ(RunsAfter(19), "");
  EXPECT_EQ(RunsAfter(1), "a");
}

TEST_F(PeriodicTasksTest, ThePeriodBeginsWhenASlowTaskHasEnded) {
  tasks_.Add(milliseconds(10), [this] {
    runs_ += 's';
    clock_.StandStill(milliseconds(100));
  });
  AddTask('a', 20);
  EXPECT_EQ(RunsAfter(10), "sa");  // the slow one made the other late
  EXPECT_EQ(RunsAfter(9), "");
  EXPECT_EQ(RunsAfter(1), "sa");
}

TEST_F(PeriodicTasksTest, ATaskThatIsWantedSoonRunsAtOnceAlsoWhenItAsksItself) {
  PeriodicTasks::Id id = 0;
  int wanted = 2;
  id = tasks_.Add(std::chrono::hours(1), [&] {
    runs_ += 'a';
    if (--wanted > 0) tasks_.RunSoon(id);
  });
  EXPECT_EQ(RunsAfter(0), "");
  tasks_.RunSoon(id);
  EXPECT_EQ(RunsAfter(0), "a");
  EXPECT_EQ(RunsAfter(0), "a");
  EXPECT_EQ(RunsAfter(0), "");
}

TEST(PeriodicTasksThreadTest, TheThreadRunsTasksByItselfAndWhenTheyAreWanted) {
  SystemClock clock;
  PeriodicTasks tasks(&clock);
  std::promise<void> by_itself;
  std::promise<void> wanted;
  bool told = false;
  tasks.Add(milliseconds(1), [&] {
    if (!std::exchange(told, true)) by_itself.set_value();
  });
  const PeriodicTasks::Id id = tasks.Add(std::chrono::hours(1), [&] { wanted.set_value(); });
  tasks.Start();
  by_itself.get_future().wait();
  tasks.RunSoon(id);
  wanted.get_future().wait();
}

}  // namespace
}  // namespace orbserve
