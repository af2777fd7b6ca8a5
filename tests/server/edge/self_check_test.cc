// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/self_check.h"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "gtest/gtest.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;

constexpr SelfCheckOptions kFast = {.period = milliseconds(5),
                                    .failing_time = milliseconds(50),
                                    .call_time = milliseconds(20'000),
                                    .cache_time = milliseconds(0),
                                    .good_time = milliseconds(0),
                                    .wait_time = milliseconds(20'000)};

TEST(SelfCheckTest, TellsTheResultOfTheCall) {
  std::atomic<bool> good{true};
  SelfCheck check(
      kFast,
      [&](milliseconds) {
        return good ? absl::OkStatus() : absl::UnavailableError("nobody answers");
      },
      [] {});
  EXPECT_TRUE(check.Check().ok());
  good = false;
  // The call that was under way at that moment may still have been good.
  check.Check().IgnoreError();
  EXPECT_EQ(check.Check().message(), "nobody answers");
  good = true;
  check.Check().IgnoreError();
  EXPECT_TRUE(check.Check().ok());
}

TEST(SelfCheckTest, GivesAYoungResultAgain) {
  std::atomic<int> calls{0};
  SelfCheckOptions options;
  options.period = milliseconds(3'600'000);
  options.cache_time = milliseconds(3'600'000);
  options.wait_time = milliseconds(20'000);
  SelfCheck check(
      options,
      [&](milliseconds) {
        ++calls;
        return absl::OkStatus();
      },
      [] {});
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(check.Check().ok());
  EXPECT_EQ(calls, 1);
}

TEST(SelfCheckTest, ACallWithoutAnAnswerIsNotWaitedFor) {
  std::promise<void> answer;
  const std::shared_future<void> answered = answer.get_future().share();
  SelfCheckOptions options = kFast;
  options.wait_time = milliseconds(10);
  SelfCheck check(
      options,
      [&](milliseconds) {
        answered.wait();
        return absl::OkStatus();
      },
      [] {});
  EXPECT_EQ(check.Check().code(), absl::StatusCode::kUnavailable);
  answer.set_value();
}

TEST(SelfCheckTest, AnAnswerOfAMomentAgoIsEnoughWhileTheNextCallIsUnderWay) {
  std::promise<void> answer;
  const std::shared_future<void> answered = answer.get_future().share();
  std::atomic<int> calls{0};
  SelfCheckOptions options = kFast;
  options.good_time = milliseconds(3'600'000);
  SelfCheck check(
      options,
      [&](milliseconds) {
        if (++calls > 1) answered.wait();
        return absl::OkStatus();
      },
      [] {});
  while (calls < 2) check.Check().IgnoreError();
  EXPECT_TRUE(check.Check().ok());
  answer.set_value();
}

TEST(SelfCheckTest, FailsOnceAfterFailuresForSomeTime) {
  std::atomic<int> failed{0};
  std::atomic<int> calls{0};
  const auto begin = std::chrono::steady_clock::now();
  std::promise<void> told;
  SelfCheck check(
      kFast,
      [&](milliseconds) {
        ++calls;
        return absl::UnavailableError("nobody answers");
      },
      [&] {
        if (++failed == 1) told.set_value();
      });
  told.get_future().wait();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, kFast.failing_time);
  EXPECT_GE(calls, 3);
  const int before = calls;
  while (calls < before + 3) std::this_thread::yield();
  EXPECT_EQ(failed, 1);
}

TEST(SelfCheckTest, AnAnswerNowAndThenIsEnough) {
  std::atomic<int> calls{0};
  std::atomic<int> failed{0};
  SelfCheckOptions options = kFast;
  options.failing_time = milliseconds(0);
  SelfCheck check(
      options,
      [&](milliseconds) {
        return ++calls % 3 == 0 ? absl::OkStatus() : absl::UnavailableError("nobody answers");
      },
      [&] { ++failed; });
  while (calls < 30) check.Check().IgnoreError();
  EXPECT_EQ(failed, 0);
}

TEST(SelfCheckTest, AFullServerDoesNotFail) {
  std::atomic<int> calls{0};
  std::atomic<int> failed{0};
  SelfCheckOptions options = kFast;
  options.failing_time = milliseconds(0);
  SelfCheck check(
      options,
      [&](milliseconds) {
        ++calls;
        return absl::ResourceExhaustedError("full");
      },
      [&] { ++failed; });
  while (calls < 30) EXPECT_EQ(check.Check().message(), "full");
  EXPECT_EQ(failed, 0);
}

TEST(SelfCheckTest, StopEndsAWait) {
  std::promise<void> answer;
  const std::shared_future<void> answered = answer.get_future().share();
  SelfCheck check(
      kFast,
      [&](milliseconds) {
        answered.wait();
        return absl::OkStatus();
      },
      [] {});
  std::thread stop([&] { check.Stop(); });
  EXPECT_FALSE(check.Check().ok());
  stop.join();
  answer.set_value();
}

}  // namespace
}  // namespace orbserve
