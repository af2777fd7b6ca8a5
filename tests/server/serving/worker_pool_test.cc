// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/worker_pool.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "features/this_thread.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/serving/named_client.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

// Keeps the only thread busy until the object is told to go on.
struct Gate {
  explicit Gate(WorkerPool& pool) {
    pool.Run(Named("gate"), {}, [this] {
      begun.Notify();
      go.WaitForNotification();
    });
    begun.WaitForNotification();
  }
  absl::Notification begun;
  absl::Notification go;
};

void SpendProcessorTime(std::chrono::nanoseconds time) {
  const auto begin = TimeOfThisThread();
  while (TimeOfThisThread() - begin < time) {
  }
}

TEST(WorkerPoolTest, ClientsShareTheTimeThatTheirTasksAreExpectedToTake) {
  std::vector<std::string> order;  // of one thread
  {
    WorkerPool pool({.threads = 1});
    Gate gate(pool);
    const auto add = [&](const char* client, milliseconds time, const char* name) {
      pool.Run(Named(client), {.time = time}, [&order, name, time] {
        order.push_back(name);
        SpendProcessorTime(time);
      });
    };
    for (const char* name : {"a1", "a2"}) add("a", milliseconds(40), name);
    for (const char* name : {"b1", "b2", "b3"}) add("b", milliseconds(10), name);
    gate.go.Notify();
  }
  EXPECT_THAT(order, ElementsAre("a1", "b1", "b2", "b3", "a2"));
}

TEST(WorkerPoolTest, AClientIsChargedWithWhatItsTasksTook) {
  std::vector<std::string> order;
  {
    WorkerPool pool({.threads = 1});
    Gate gate(pool);
    const auto add = [&](const char* client, milliseconds time, const char* name) {
      pool.Run(Named(client), {.time = milliseconds(1)}, [&order, name, time] {
        order.push_back(name);
        SpendProcessorTime(time);
      });
    };
    for (const char* name : {"a1", "a2"}) add("a", milliseconds(40), name);
    for (const char* name : {"b1", "b2", "b3"}) add("b", milliseconds(1), name);
    gate.go.Notify();
  }
  EXPECT_THAT(order, ElementsAre("a1", "b1", "b2", "b3", "a2"));
}

TEST(WorkerPoolTest, LargeTasksLeaveTheOtherThreadsToSmallOnes) {
  WorkerPool pool({.threads = 1, .large_threads = 1, .large_time = milliseconds(5)});
  absl::Notification begun;
  absl::Notification go;
  pool.Run(Named("a"), {.time = milliseconds(5)}, [&] {
    begun.Notify();
    go.WaitForNotification();
  });
  begun.WaitForNotification();
  std::atomic<bool> second_large = false;
  pool.Run(Named("a"), {.time = milliseconds(50)}, [&] { second_large = true; });
  absl::Notification small;
  pool.Run(Named("a"), {.time = milliseconds(4)}, [&] { small.Notify(); });
  small.WaitForNotification();
  EXPECT_FALSE(second_large);
  EXPECT_EQ(pool.use().threads, 2);
  EXPECT_EQ(pool.use().waiting, 1);
  go.Notify();
}

TEST(WorkerPoolTest, ThreadsOfLargeTasksHaveALowerPriority) {
  int priority[2] = {};
  {
    WorkerPool pool({.threads = 1, .large_threads = 1, .large_time = milliseconds(5)});
    for (const int i : {0, 1}) {
      pool.Run(Named("a"), {.time = milliseconds(i * 5)}, [&priority, i] {
        priority[i] = getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)));
      });
    }
  }
  if (priority[0] > 12) GTEST_SKIP() << "SKIPPED: the test itself runs at the lowest priority";
  EXPECT_GT(priority[1], priority[0]);  // larger is lower
}

TEST(WorkerPoolTest, ATaskWaitsForRoomAndOthersPassIt) {
  WorkerPool pool({.threads = 1, .max_bytes = 100});
  auto first = std::make_shared<TaskMemory>(60);
  absl::Notification first_ran;
  pool.Run(Named("a"), {.memory = first}, [&] { first_ran.Notify(); });
  first_ran.WaitForNotification();
  EXPECT_EQ(pool.use().bytes, 60);
  std::atomic<bool> second_ran = false;
  absl::Notification second_over;
  pool.Run(Named("b"), {.memory = std::make_shared<TaskMemory>(60)}, [&] {
    second_ran = true;
    second_over.Notify();
  });
  absl::Notification small;
  pool.Run(Named("c"), {.memory = std::make_shared<TaskMemory>(10)}, [&] { small.Notify(); });
  small.WaitForNotification();
  EXPECT_FALSE(second_ran);
  first.reset();
  second_over.WaitForNotification();
}

TEST(WorkerPoolTest, ATaskGivesBackWhatItNoLongerNeeds) {
  WorkerPool pool({.threads = 1, .max_bytes = 100});
  const auto first = std::make_shared<TaskMemory>(60);
  first->ShrinkTo(0);  // it has not begun, and needs all of it
  absl::Notification first_ran;
  pool.Run(Named("a"), {.memory = first}, [&] { first_ran.Notify(); });
  first_ran.WaitForNotification();
  const auto second = std::make_shared<TaskMemory>(60);
  absl::Notification second_ran;
  pool.Run(Named("b"), {.memory = second}, [&] { second_ran.Notify(); });
  EXPECT_EQ(pool.use().bytes, 60);
  first->ShrinkTo(70);
  EXPECT_EQ(pool.use().bytes, 60);
  first->ShrinkTo(20);
  second_ran.WaitForNotification();
  EXPECT_EQ(pool.use().bytes, 80);
}

TEST(WorkerPoolTest, NoOwnerTakesAllTheRoom) {
  WorkerPool pool({.threads = 1, .max_bytes = 1'000});
  std::vector<std::shared_ptr<TaskMemory>> held;
  for (int i = 0; i < 100; ++i) {
    held.push_back(std::make_shared<TaskMemory>(10));
    pool.Run(Named("a"), {.memory = held.back()}, [] {});
  }
  const auto memory = std::make_shared<TaskMemory>(10);
  absl::Notification other;
  pool.Run(Named("b"), {.memory = memory}, [&] { other.Notify(); });
  other.WaitForNotification();
  EXPECT_LE(pool.use().bytes, 760);
  EXPECT_GE(pool.use().waiting, 25);
  held.clear();  // room for the rest, whose memory nobody else holds
}

TEST(WorkerPoolTest, ATaskThatNeedsMoreThanThereIsGoesBesideSmallOnesAlone) {
  WorkerPool pool({.threads = 1, .large_threads = 2, .max_bytes = 160});
  const auto memory = std::make_shared<TaskMemory>(1'000);
  absl::Notification ran;
  pool.Run(Named("a"), {.memory = memory}, [&] { ran.Notify(); });
  ran.WaitForNotification();
  EXPECT_EQ(pool.use().bytes, 150);
  std::atomic<bool> second = false;
  pool.Run(Named("b"), {.memory = std::make_shared<TaskMemory>(1'000)}, [&] { second = true; });
  absl::Notification small;
  pool.Run({.owner = "a", .name = "a2"}, {.memory = std::make_shared<TaskMemory>(10)},
           [&] { small.Notify(); });
  small.WaitForNotification();
  EXPECT_FALSE(second);
}

TEST(WorkerPoolTest, NoLargeTaskPassesTheNextOne) {
  std::vector<std::string> order;  // of one thread
  const auto memory = std::make_shared<TaskMemory>(80);
  {
    WorkerPool pool({.threads = 1, .large_threads = 1, .max_bytes = 160});
    absl::Notification first_ran;
    pool.Run(Named("a"), {.memory = memory}, [&] { first_ran.Notify(); });
    first_ran.WaitForNotification();
    absl::Notification over;
    pool.Run(Named("b"), {.memory = std::make_shared<TaskMemory>(100)},
             [&] { order.push_back("b"); });
    pool.Run(Named("c"), {.memory = std::make_shared<TaskMemory>(20)}, [&] {
      order.push_back("c");
      over.Notify();
    });
    // A task without memory waits for nothing but the thread.
    absl::Notification plan;
    pool.Run(Named("d"), {.time = milliseconds(50)}, [&] { plan.Notify(); });
    plan.WaitForNotification();
    EXPECT_EQ(pool.use().waiting, 2);
    memory->ShrinkTo(0);
    over.WaitForNotification();
  }
  EXPECT_THAT(order, ElementsAre("b", "c"));
}

TEST(WorkerPoolTest, SmallTasksLeaveTheNextLargeOneItsRoom) {
  WorkerPool pool({.threads = 1, .large_threads = 1, .max_bytes = 160});
  std::vector<std::shared_ptr<TaskMemory>> held;
  const auto run_small = [&](const char* client) {
    held.push_back(std::make_shared<TaskMemory>(10));
    pool.Run(Named(client), {.memory = held.back()}, [] {});
  };
  for (const char* client : {"a", "b", "c"}) run_small(client);
  while (pool.use().bytes != 30) std::this_thread::yield();
  absl::Notification large;
  const auto memory = std::make_shared<TaskMemory>(140);
  pool.Run(Named("l"), {.memory = memory}, [&] { large.Notify(); });
  run_small("d");  // has room, but the large task needs it
  held.erase(held.begin());
  large.WaitForNotification();
  EXPECT_EQ(pool.use().bytes, 160);
  EXPECT_EQ(pool.use().waiting, 1);
  held.clear();
}

TEST(WorkerPoolTest, MemoryMayOutliveThePool) {
  const auto memory = std::make_shared<TaskMemory>(10);
  {
    WorkerPool pool({.threads = 1, .max_bytes = 100});
    pool.Run(Named("a"), {.memory = memory}, [] {});
  }
}

TEST(WorkerPoolTest, ThreadsAreIdleWithoutATask) {
  WorkerPool pool({.threads = 2});
  EXPECT_EQ(pool.IdleThreads(), 2);
  {
    Gate first(pool);
    EXPECT_EQ(pool.IdleThreads(), 1);
    Gate second(pool);
    EXPECT_EQ(pool.IdleThreads(), 0);
    pool.Run(Named("a"), {}, [] {});
    EXPECT_EQ(pool.IdleThreads(), 0) << "one waits";
    first.go.Notify();
    second.go.Notify();
  }
}

TEST(WorkerPoolTest, ItsUseIsTheThreadsThatWorkAndTheTasksThatWait) {
  WorkerPool pool({.threads = 2});
  EXPECT_EQ(pool.use().threads, 2);
  EXPECT_EQ(pool.use().busy, 0);
  EXPECT_EQ(pool.use().waiting, 0);
  absl::BlockingCounter begun(2);
  absl::Notification go;
  absl::Notification last_begun;
  absl::Notification end;
  for (int i = 0; i < 2; ++i) {
    pool.Run(Named("a"), {}, [&] {
      begun.DecrementCount();
      go.WaitForNotification();
    });
  }
  begun.Wait();
  pool.Run(Named("a"), {}, [&] {
    last_begun.Notify();
    end.WaitForNotification();
  });
  EXPECT_EQ(pool.use().busy, 2);
  EXPECT_EQ(pool.use().waiting, 1);
  go.Notify();
  last_begun.WaitForNotification();
  EXPECT_EQ(pool.use().waiting, 0);
  // The thread without a task says so when it asks for the next one.
  while (pool.use().busy != 1) std::this_thread::yield();
  end.Notify();
  while (pool.use().busy != 0) std::this_thread::yield();
}

}  // namespace
}  // namespace orbserve
