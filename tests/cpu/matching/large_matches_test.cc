// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/matching/large_matches.h"

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace orbserve::cpu {
namespace {

constexpr int kSliceThreads = 2;
constexpr std::chrono::milliseconds kLongEnough{30};

void Spin(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

class LargeMatchesTest : public ::testing::Test {
 protected:
  // `count` slices of a fifth of a millisecond.
  void SubmitSlices(int count) {
    matches_->Submit([this, count](MatchSlices& slices) {
      slices.ForEach(count, 1, [this](int, int) {
        ++begun_;
        Spin(std::chrono::microseconds(200));
      });
      done_.Notify();
    });
  }
  // Slices begun, when those that were running when it is called have long ended.
  int Settled() {
    std::this_thread::sleep_for(kLongEnough);
    return begun_;
  }

  tbb::task_arena arena_{kSliceThreads, 0};
  std::atomic<int> begun_{0};
  absl::Notification done_;
  std::unique_ptr<LargeMatches> matches_ = std::make_unique<LargeMatches>(&arena_, kSliceThreads);
};

TEST_F(LargeMatchesTest, EverySliceRunsOnceAlsoOfSeveralAtATime) {
  constexpr int kCount = 1003;
  std::array<std::array<std::atomic<int>, kCount>, 5> runs = {};
  for (auto& of_one : runs) {
    matches_->Submit([&of_one](MatchSlices& slices) {
      for (int pass = 0; pass < 2; ++pass) {
        slices.ForEach(kCount, 8, [&of_one](int begin, int end) {
          EXPECT_LE(end - begin, 8);
          for (int i = begin; i < end; ++i) ++of_one[static_cast<size_t>(i)];
        });
      }
      slices.ForEach(0, 8, [](int, int) { ADD_FAILURE() << "a slice of nothing"; });
    });
  }
  matches_.reset();  // waits
  for (const auto& of_one : runs) {
    for (const auto& count : of_one) ASSERT_EQ(count, 2);
  }
}

TEST_F(LargeMatchesTest, NothingBeginsBesideUrgentWorkAndAllGoesOnAfterIt) {
  matches_->UrgentBegins();
  SubmitSlices(10);
  EXPECT_EQ(Settled(), 0);
  matches_->UrgentEnds(std::chrono::milliseconds(100));
  done_.WaitForNotification();
  EXPECT_EQ(begun_, 10);
}

TEST_F(LargeMatchesTest, ThreadsLeaveForUrgentWorkAfterTheirSlice) {
  SubmitSlices(5000);
  while (begun_ == 0) std::this_thread::yield();
  matches_->UrgentBegins();
  const int at_first = Settled();
  EXPECT_LT(at_first, 5000);
  EXPECT_LE(Settled(), at_first + kSliceThreads);  // a thread may have been held up just before one
  matches_->UrgentEnds(std::chrono::milliseconds(1));
  done_.WaitForNotification();
  EXPECT_EQ(begun_, 5000);
}

TEST_F(LargeMatchesTest, UrgentWorkThatNeverEndsLeavesAFifth) {
  matches_->UrgentBegins();
  matches_->UrgentBegins();
  SubmitSlices(5000);
  EXPECT_EQ(Settled(), 0);
  // Four milliseconds of work earn one: five slices, and one that was begun with what was left.
  matches_->UrgentEnds(std::chrono::milliseconds(4));
  while (begun_ == 0) std::this_thread::yield();
  const int earned = Settled();
  EXPECT_LE(earned, 6);
  // No more than a burst is saved up.
  matches_->UrgentBegins();
  matches_->UrgentEnds(std::chrono::hours(1));
  EXPECT_LE(Settled(), earned + 21);
  matches_->UrgentEnds(std::chrono::milliseconds(1));
  done_.WaitForNotification();
}

}  // namespace
}  // namespace orbserve::cpu
