// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/listen/loopback_probe.h"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "gtest/gtest.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;

constexpr LoopbackProbeOptions kFast = {.period = milliseconds(5),
                                        .deaf_time = milliseconds(50),
                                        .call_time = milliseconds(20'000),
                                        .cache_time = milliseconds(0),
                                        .good_time = milliseconds(0),
                                        .wait_time = milliseconds(20'000)};

TEST(LoopbackProbeTest, TellsTheResultOfTheCall) {
  std::atomic<bool> good{true};
  LoopbackProbe probe(
      kFast,
      [&](milliseconds) {
        return good ? absl::OkStatus() : absl::UnavailableError("nobody answers");
      },
      [] {});
  EXPECT_TRUE(probe.Check().ok());
  good = false;
  // The call that was under way at that moment may still have been good.
  probe.Check().IgnoreError();
  EXPECT_EQ(probe.Check().message(), "nobody answers");
  good = true;
  probe.Check().IgnoreError();
  EXPECT_TRUE(probe.Check().ok());
}

TEST(LoopbackProbeTest, GivesAYoungResultAgain) {
  std::atomic<int> calls{0};
  LoopbackProbeOptions options;
  options.period = milliseconds(3'600'000);
  options.cache_time = milliseconds(3'600'000);
  options.wait_time = milliseconds(20'000);
  LoopbackProbe probe(
      options,
      [&](milliseconds) {
        ++calls;
        return absl::OkStatus();
      },
      [] {});
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(probe.Check().ok());
  EXPECT_EQ(calls, 1);
}

TEST(LoopbackProbeTest, ACallWithoutAnAnswerIsNotWaitedFor) {
  std::promise<void> answer;
  const std::shared_future<void> answered = answer.get_future().share();
  LoopbackProbeOptions options = kFast;
  options.wait_time = milliseconds(10);
  LoopbackProbe probe(
      options,
      [&](milliseconds) {
        answered.wait();
        return absl::OkStatus();
      },
      [] {});
  EXPECT_EQ(probe.Check().code(), absl::StatusCode::kUnavailable);
  answer.set_value();
}

TEST(LoopbackProbeTest, AnAnswerOfAMomentAgoIsEnoughWhileTheNextCallIsUnderWay) {
  std::promise<void> answer;
  const std::shared_future<void> answered = answer.get_future().share();
  std::atomic<int> calls{0};
  LoopbackProbeOptions options = kFast;
  options.good_time = milliseconds(3'600'000);
  LoopbackProbe probe(
      options,
      [&](milliseconds) {
        if (++calls > 1) answered.wait();
        return absl::OkStatus();
      },
      [] {});
  while (calls < 2) probe.Check().IgnoreError();
  EXPECT_TRUE(probe.Check().ok());
  answer.set_value();
}

TEST(LoopbackProbeTest, IsDeafOnceAfterFailuresForSomeTime) {
  std::atomic<int> deaf{0};
  std::atomic<int> calls{0};
  const auto begin = std::chrono::steady_clock::now();
  std::promise<void> told;
  LoopbackProbe probe(
      kFast,
      [&](milliseconds) {
        ++calls;
        return absl::UnavailableError("nobody answers");
      },
      [&] {
        if (++deaf == 1) told.set_value();
      });
  told.get_future().wait();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, kFast.deaf_time);
  EXPECT_GE(calls, 3);
  const int before = calls;
  while (calls < before + 3) std::this_thread::yield();
  EXPECT_EQ(deaf, 1);
}

TEST(LoopbackProbeTest, AnAnswerNowAndThenIsEnough) {
  std::atomic<int> calls{0};
  std::atomic<int> deaf{0};
  LoopbackProbeOptions options = kFast;
  options.deaf_time = milliseconds(0);
  LoopbackProbe probe(
      options,
      [&](milliseconds) {
        return ++calls % 3 == 0 ? absl::OkStatus() : absl::UnavailableError("nobody answers");
      },
      [&] { ++deaf; });
  while (calls < 30) probe.Check().IgnoreError();
  EXPECT_EQ(deaf, 0);
}

TEST(LoopbackProbeTest, StopEndsAWait) {
  std::promise<void> answer;
  const std::shared_future<void> answered = answer.get_future().share();
  LoopbackProbe probe(
      kFast,
      [&](milliseconds) {
        answered.wait();
        return absl::OkStatus();
      },
      [] {});
  std::thread stop([&] { probe.Stop(); });
  EXPECT_FALSE(probe.Check().ok());
  stop.join();
  answer.set_value();
}

}  // namespace
}  // namespace orbserve
