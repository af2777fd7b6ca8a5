// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/src/link_window.h"

#include <algorithm>
#include <deque>

#include "gtest/gtest.h"

namespace orbserve::client {
namespace {

constexpr int64_t kFrameBytes = 640 * 480;

// A source that always has a frame, or one at a fixed rate whose newest frame waits, behind a link
// that sends one frame in `transmission` and takes `delay` for the way there and back.
struct Link {
  absl::Duration transmission;
  absl::Duration delay;
  absl::Duration server = absl::Milliseconds(2);
  absl::Duration period = absl::ZeroDuration();  // of the source
};

struct Outcome {
  int answered = 0;
  int dropped = 0;
  absl::Duration oldest;  // from the capture to the answer
  absl::Duration mean;
};

// Runs the window against the link for `length`, and counts from `from` on.
Outcome Simulate(const Link& link, absl::Duration length, absl::Duration from) {
  struct UnderWay {
    LinkWindow::Sample sample;
    absl::Time captured;
  };
  LinkWindow window;
  window.SetFramesAtServer(3);
  std::deque<UnderWay> under_way;
  Outcome outcome;
  absl::Duration sum;
  const absl::Time start = absl::UnixEpoch();
  absl::Time link_free = start;
  absl::Time server_free = start;
  absl::Time next_frame = start;
  bool waits = false;
  absl::Time captured = start;
  for (absl::Time now = start; now < start + length; now += absl::Milliseconds(1)) {
    const bool counts = now >= start + from;
    if (link.period == absl::ZeroDuration() ? !waits : now >= next_frame) {
      if (waits && counts) ++outcome.dropped;
      waits = true;
      captured = now;
      next_frame += link.period;
    }
    while (!under_way.empty() && under_way.front().sample.arrived <= now) {
      const UnderWay answered = under_way.front();
      under_way.pop_front();
      window.Leave(kFrameBytes);
      window.Measure(answered.sample);
      if (!counts) continue;
      ++outcome.answered;
      const absl::Duration age = answered.sample.arrived - answered.captured;
      outcome.oldest = std::max(outcome.oldest, age);
      sum += age;
    }
    while (waits && window.Admits(kFrameBytes, now)) {
      const absl::Time sent = std::max(now, link_free) + link.transmission;
      link_free = sent;
      const absl::Time there = sent + link.delay / 2;
      server_free = std::max(there, server_free) + link.server;
      under_way.push_back({.sample = {.written = now,
                                      .arrived = server_free + link.delay / 2,
                                      .server = server_free - there,
                                      .bytes = kFrameBytes,
                                      .outstanding = window.Write(kFrameBytes)},
                           .captured = captured});
      waits = link.period == absl::ZeroDuration();
      captured = now;
    }
  }
  if (outcome.answered > 0) outcome.mean = sum / outcome.answered;
  return outcome;
}

constexpr absl::Duration kPeriod = absl::Milliseconds(33);

TEST(LinkWindowTest, DelayAloneCostsNoFrame) {
  const Outcome outcome = Simulate(
      {.transmission = absl::Milliseconds(1), .delay = absl::Milliseconds(200), .period = kPeriod},
      absl::Seconds(30), absl::Seconds(5));
  EXPECT_EQ(outcome.dropped, 0);
  EXPECT_GE(outcome.answered, 750);
  EXPECT_LT(outcome.oldest, absl::Milliseconds(210));
}

TEST(LinkWindowTest, FramesOfANarrowLinkAreAsOldAsTheirTransmission) {
  const absl::Duration transmission = absl::Milliseconds(123);
  const Outcome outcome = Simulate({.transmission = transmission, .delay = {}, .period = kPeriod},
                                   absl::Seconds(60), absl::Seconds(5));
  EXPECT_GE(outcome.answered, 55 * 1000 / 160);  // the link is hardly ever idle
  EXPECT_LT(outcome.mean, transmission * 1.5);
  EXPECT_LT(outcome.oldest, transmission * 2.5);  // when the window is tried upwards
}

TEST(LinkWindowTest, ANarrowLinkThatIsFarIsFilledAndNotOverfilled) {
  const absl::Duration shortest = absl::Milliseconds(323);
  const Outcome outcome = Simulate({.transmission = absl::Milliseconds(123),
                                    .delay = absl::Milliseconds(200),
                                    .period = kPeriod},
                                   absl::Seconds(120), absl::Seconds(10));
  EXPECT_GE(outcome.answered, 110 * 1000 / 160);
  EXPECT_LT(outcome.mean, shortest * 1.4);
  EXPECT_LT(outcome.oldest, shortest * 1.8);
}

// Each frame more adds little to a long way. What is "near" must not creep up with it.
TEST(LinkWindowTest, ManySmallFramesDoNotFillTheLinkLittleByLittle) {
  const Link link = {.transmission = absl::Milliseconds(12),
                     .delay = absl::Milliseconds(200),
                     .period = absl::Milliseconds(8)};
  const Outcome early = Simulate(link, absl::Seconds(20), absl::Seconds(10));
  const Outcome later = Simulate(link, absl::Seconds(300), absl::Seconds(290));
  EXPECT_GE(later.answered, 700);
  EXPECT_LT(later.oldest, absl::Milliseconds(300));
  EXPECT_LT(later.mean, early.mean * 1.1);
}

TEST(LinkWindowTest, ASlowServerIsKeptBusyWithoutAQueue) {
  const Outcome outcome = Simulate({.transmission = absl::Milliseconds(1),
                                    .delay = absl::Milliseconds(1),
                                    .server = absl::Milliseconds(100)},
                                   absl::Seconds(30), absl::Seconds(5));
  EXPECT_GE(outcome.answered, 245);
  EXPECT_LT(outcome.mean, absl::Milliseconds(600));
}

TEST(LinkWindowTest, WhatIsUnderWayMayNeedLongAsFarAsTheLinkIsKnown) {
  LinkWindow window;
  EXPECT_FALSE(window.MayTake(absl::Seconds(2)));
  const int64_t outstanding = window.Write(2'000'000);
  EXPECT_TRUE(window.MayTake(absl::Seconds(2)));
  const absl::Time start = absl::UnixEpoch();
  window.Measure({.written = start,
                  .arrived = start + absl::Milliseconds(400),
                  .bytes = outstanding,
                  .outstanding = outstanding});
  EXPECT_FALSE(window.MayTake(absl::Seconds(2)));
  for (int i = 0; i < 5; ++i) window.Write(2'000'000);
  EXPECT_TRUE(window.MayTake(absl::Seconds(2)));
}

TEST(LinkWindowTest, TheLinkLimitsWhileItKeepsFramesWaitingForLongerThanTheServer) {
  LinkWindow window;
  const absl::Time start = absl::UnixEpoch();
  EXPECT_FALSE(window.Limits(start));
  const int64_t outstanding = window.Write(100);
  EXPECT_FALSE(window.Admits(100, start));
  window.Measure({.written = start,
                  .arrived = start + absl::Milliseconds(100),
                  .server = absl::Milliseconds(60),
                  .bytes = 100,
                  .outstanding = outstanding});
  EXPECT_EQ(window.way(), absl::Milliseconds(40));
  EXPECT_FALSE(window.Limits(start + absl::Milliseconds(100)));
  window.Measure({.written = start,
                  .arrived = start + absl::Milliseconds(150),
                  .server = absl::Milliseconds(60),
                  .bytes = 100,
                  .outstanding = outstanding});
  EXPECT_EQ(window.shortest_way(), absl::Milliseconds(40));
  EXPECT_TRUE(window.Limits(start + absl::Milliseconds(150)));
  EXPECT_FALSE(window.Limits(start + absl::Seconds(2)));
}

}  // namespace
}  // namespace orbserve::client
