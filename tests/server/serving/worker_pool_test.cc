// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/worker_pool.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/serving/named_client.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;

TEST(WorkerPoolTest, TasksOfClientsTakeTurns) {
  std::vector<std::string> order;  // of one thread
  {
    WorkerPool pool(1);
    absl::Notification go;
    absl::Notification begun;
    pool.Run(Named("a"), [&] {
      begun.Notify();
      go.WaitForNotification();
    });
    begun.WaitForNotification();
    for (const char* name : {"a1", "a2"})
      pool.Run(Named("a"), [&order, name] { order.push_back(name); });
    pool.Run(Named("b"), [&order] { order.push_back("b1"); });
    go.Notify();
  }
  EXPECT_THAT(order, ElementsAre("a1", "b1", "a2"));
}

TEST(WorkerPoolTest, ItsUseIsTheThreadsThatWorkAndTheTasksThatWait) {
  WorkerPool pool(2);
  EXPECT_EQ(pool.use().threads, 2);
  EXPECT_EQ(pool.use().busy, 0);
  EXPECT_EQ(pool.use().waiting, 0);
  absl::BlockingCounter begun(2);
  absl::Notification go;
  absl::Notification last_begun;
  absl::Notification end;
  for (int i = 0; i < 2; ++i) {
    pool.Run(Named("a"), [&] {
      begun.DecrementCount();
      go.WaitForNotification();
    });
  }
  begun.Wait();
  pool.Run(Named("a"), [&] {
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
