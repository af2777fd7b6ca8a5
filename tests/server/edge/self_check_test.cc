// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/self_check.h"

#include <chrono>
#include <thread>
#include <utility>

#include "gtest/gtest.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;

// Every look makes a call.
constexpr SelfCheckOptions kFast = {.period = milliseconds(0),
                                    .failing_time = milliseconds(50),
                                    .call_time = milliseconds(20'000),
                                    .end_time = milliseconds(20'000),
                                    .cache_time = milliseconds(-1),
                                    .good_time = milliseconds(0),
                                    .wait_time = milliseconds(20'000)};

SelfCheck::Call Answers(const absl::Status* status) {
  return [status](milliseconds, const SelfCheck::Done& done) { done(*status); };
}

// Calls whose ends the test tells.
SelfCheck::Call IntoHands(SelfCheck::Done* done) {
  return [done](milliseconds, SelfCheck::Done given) { *done = std::move(given); };
}

TEST(SelfCheckTest, TellsTheResultOfTheCall) {
  absl::Status status;
  SelfCheck check(kFast, Answers(&status), [] {});
  EXPECT_TRUE(check.Check().ok());
  EXPECT_FALSE(check.last_failed());
  status = absl::UnavailableError("nobody answers");
  EXPECT_EQ(check.Check().message(), "nobody answers");
  EXPECT_TRUE(check.last_failed());
  status = absl::OkStatus();
  EXPECT_TRUE(check.Check().ok());
}

TEST(SelfCheckTest, GivesAYoungResultAgain) {
  int calls = 0;
  SelfCheckOptions options;
  options.period = milliseconds(3'600'000);
  options.cache_time = milliseconds(3'600'000);
  SelfCheck check(
      options,
      [&](milliseconds, const SelfCheck::Done& done) {
        ++calls;
        done(absl::OkStatus());
      },
      [] {});
  check.Look();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(check.Check().ok());
  check.Look();
  EXPECT_EQ(calls, 1);
}

TEST(SelfCheckTest, AnAnswerThatComesLaterEndsTheWait) {
  SelfCheck::Done done;
  SelfCheckOptions options = kFast;
  options.cache_time = milliseconds(3'600'000);  // if it comes before the wait
  SelfCheck check(options, IntoHands(&done), [] {});
  check.Look();
  std::thread answer([&] { done(absl::OkStatus()); });
  EXPECT_TRUE(check.Check().ok());
  answer.join();
}

TEST(SelfCheckTest, ACallWithoutAnAnswerIsNotWaitedFor) {
  SelfCheck::Done done;
  SelfCheckOptions options = kFast;
  options.wait_time = milliseconds(10);
  SelfCheck check(options, IntoHands(&done), [] {});
  EXPECT_EQ(check.Check().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(check.last_failed());
}

TEST(SelfCheckTest, AnAnswerOfAMomentAgoIsEnoughWhileTheNextCallIsUnderWay) {
  SelfCheck::Done done;
  SelfCheckOptions options = kFast;
  options.good_time = milliseconds(3'600'000);
  SelfCheck check(options, IntoHands(&done), [] {});
  check.Look();
  std::exchange(done, nullptr)(absl::OkStatus());
  EXPECT_TRUE(check.Check().ok());
  EXPECT_NE(done, nullptr);
}

TEST(SelfCheckTest, OneCallIsUnderWayAtATime) {
  int calls = 0;
  SelfCheckOptions options = kFast;
  options.wait_time = milliseconds(0);
  SelfCheck check(
      options, [&](milliseconds, const SelfCheck::Done&) { ++calls; }, [] {});
  for (int i = 0; i < 10; ++i) {
    check.Look();
    EXPECT_FALSE(check.Check().ok());
  }
  EXPECT_EQ(calls, 1);
}

TEST(SelfCheckTest, ACallThatDoesNotEndHasFailed) {
  SelfCheck::Done done;
  SelfCheckOptions options = kFast;
  options.end_time = milliseconds(0);
  SelfCheck check(options, IntoHands(&done), [] {});
  check.Look();
  const SelfCheck::Done first = done;
  check.Look();
  EXPECT_TRUE(check.last_failed());
  // The next one is under way: an end that comes so late is not taken for its own.
  first(absl::OkStatus());
  EXPECT_TRUE(check.last_failed());
  done(absl::OkStatus());
  EXPECT_FALSE(check.last_failed());
}

TEST(SelfCheckTest, ACallThatDoesNotEndHasFailedWhereNobodyLooksButAsks) {
  SelfCheck::Done done;
  SelfCheckOptions options = kFast;
  options.end_time = milliseconds(0);
  options.wait_time = milliseconds(0);
  SelfCheck check(options, IntoHands(&done), [] {});
  check.Look();
  EXPECT_FALSE(check.Check().ok());
  EXPECT_TRUE(check.last_failed());
}

TEST(SelfCheckTest, FailsOnceAfterFailuresForSomeTime) {
  const absl::Status status = absl::UnavailableError("nobody answers");
  int failed = 0;
  int looks = 0;
  const auto begin = std::chrono::steady_clock::now();
  SelfCheck check(kFast, Answers(&status), [&] { ++failed; });
  for (; failed == 0; ++looks) {
    check.Look();
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, kFast.failing_time);
  EXPECT_GT(looks, 3);
  for (int i = 0; i < 10; ++i) check.Look();
  EXPECT_EQ(failed, 1);
}

TEST(SelfCheckTest, AnAnswerNowAndThenIsEnough) {
  int calls = 0;
  int failed = 0;
  SelfCheckOptions options = kFast;
  options.failing_time = milliseconds(0);
  SelfCheck check(
      options,
      [&](milliseconds, const SelfCheck::Done& done) {
        done(++calls % 3 == 0 ? absl::OkStatus() : absl::UnavailableError("nobody answers"));
      },
      [&] { ++failed; });
  while (calls < 30) check.Look();
  EXPECT_EQ(failed, 0);
}

TEST(SelfCheckTest, AFullServerDoesNotFail) {
  const absl::Status status = absl::ResourceExhaustedError("full");
  int failed = 0;
  SelfCheckOptions options = kFast;
  options.failing_time = milliseconds(0);
  SelfCheck check(options, Answers(&status), [&] { ++failed; });
  for (int i = 0; i < 30; ++i) {
    check.Look();
    EXPECT_EQ(check.Check().message(), "full");
  }
  EXPECT_EQ(failed, 0);
}

TEST(SelfCheckTest, StopEndsAWait) {
  SelfCheck::Done done;
  SelfCheck check(kFast, IntoHands(&done), [] {});
  std::thread stop([&] { check.Stop(); });
  EXPECT_FALSE(check.Check().ok());
  stop.join();
}

TEST(SelfCheckTest, ACallMayEndAfterTheCheckIsGone) {
  SelfCheck::Done done;
  {
    SelfCheck check(kFast, IntoHands(&done), [] {});
    check.Look();
  }
  done(absl::OkStatus());
}

}  // namespace
}  // namespace orbserve
