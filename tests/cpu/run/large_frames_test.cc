// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/run/large_frames.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "oneapi/tbb/parallel_for.h"
#include "oneapi/tbb/task_arena.h"
#include "oneapi/tbb/task_group.h"

namespace orbserve::cpu {
namespace {

using ::testing::ElementsAre;

int PriorityOfThisThread() {
  return getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)));
}

TEST(LargeFramesTest, EveryFrameIsComputedOldestFirst) {
  std::vector<int> order;  // of one thread
  {
    LargeFrames frames(1);
    for (int i = 0; i < 4; ++i) frames.Submit([&order, i] { order.push_back(i); });
  }
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
}

TEST(LargeFramesTest, FramesAreComputedBesideEachOther) {
  std::atomic<int> begun = 0;
  LargeFrames frames(2);
  for (int i = 0; i < 2; ++i) {
    frames.Submit([&begun] {
      ++begun;
      while (begun < 2) std::this_thread::yield();
    });
  }
}

// Its tasks wait for each other, so that they end only if two threads run them.
void RunTasksOfTwoThreads() {
  std::atomic<int> begun = 0;
  tbb::task_group tasks;
  for (int i = 0; i < 2; ++i) {
    tasks.run([&begun] {
      ++begun;
      while (begun < 2) std::this_thread::yield();
    });
  }
  tasks.wait();
}

TEST(LargeFramesTest, ThreadsWithoutAFrameHelpWithTheTasksOfAnother) {
  LargeFrames frames(2);
  for (int round = 0; round < 50; ++round) {
    absl::Notification done;
    frames.Submit([&done] {
      RunTasksOfTwoThreads();
      done.Notify();
    });
    done.WaitForNotification();
  }
}

TEST(LargeFramesTest, AHelperTakesAFrameThatComesMeanwhile) {
  LargeFrames frames(2);
  absl::Notification first;
  absl::Notification second;
  frames.Submit([&] {
    RunTasksOfTwoThreads();  // the other thread helps from now on
    first.Notify();
    second.WaitForNotification();
  });
  first.WaitForNotification();
  frames.Submit([&second] { second.Notify(); });
}

TEST(LargeFramesTest, ThreadsHaveALowPriorityAndPlacesInOneArena) {
  constexpr int kThreads = 3;
  std::atomic<int> least_priority = 100;
  std::atomic<int> most_place = -1;
  {
    LargeFrames frames(kThreads);
    for (int i = 0; i < 20; ++i) {
      frames.Submit([&] {
        tbb::parallel_for(0, 64, [&](int) {
          const int place = tbb::this_task_arena::current_thread_index();
          for (int most = most_place;
               most < place && !most_place.compare_exchange_weak(most, place);) {
          }
          const int priority = PriorityOfThisThread();
          for (int least = least_priority;
               least > priority && !least_priority.compare_exchange_weak(least, priority);) {
          }
        });
      });
    }
  }
  EXPECT_LT(most_place, kThreads);
  if (PriorityOfThisThread() > 12) GTEST_SKIP() << "SKIPPED: no lower priority is left";
  EXPECT_GT(least_priority, PriorityOfThisThread()) << "larger is lower";
}

}  // namespace
}  // namespace orbserve::cpu
