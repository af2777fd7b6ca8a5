// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/load/load_result.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

const absl::Time kStart = absl::UnixEpoch() + absl::Seconds(100);

absl::Time AtMs(double ms) { return kStart + absl::Milliseconds(ms); }

TEST(PercentileOf, IsTheNearestRank) {
  std::vector<float> samples;
  for (int i = 1; i <= 1000; ++i) samples.push_back(static_cast<float>(i));
  EXPECT_EQ(PercentileOf(samples, 50), 500);
  EXPECT_EQ(PercentileOf(samples, 99), 990);
  EXPECT_EQ(PercentileOf(samples, 99.9), 999);
  EXPECT_EQ(PercentileOf(samples, 100), 1000);
  EXPECT_EQ(PercentileOf({7}, 50), 7);
  EXPECT_EQ(PercentileOf({}, 99), 0);
}

// A server that stops for a second: the frames that should have started meanwhile have waited.
TEST(LoadRecorder, LatencyBeginsAtTheIntendedStart) {
  LoadRecorder recorder(kStart, AtMs(1000), /*closed=*/false);
  recorder.Add({.intended = AtMs(100), .started = AtMs(900), .finished = AtMs(1500)});
  const LoadResult result = recorder.Take();
  ASSERT_EQ(result.latency_ms.size(), 1u);
  EXPECT_EQ(result.latency_ms[0], 1400);
  EXPECT_EQ(result.late_ms[0], 800);
  EXPECT_EQ(result.sent_rate, 1);
  EXPECT_EQ(result.answered_rate, 0);  // it came after the end
}

// Result of `seconds` with `rate` frames a second, when the server computes `most` of them a
// second.
LoadResult ResultOf(double rate, double most, double latency_ms, double seconds) {
  LoadRecorder recorder(kStart, AtMs(seconds * 1e3), /*closed=*/false);
  double free = 0;  // time from which the server may begin the next frame
  for (int i = 0; i < static_cast<int>(rate * seconds); ++i) {
    const double sent = i * 1e3 / rate;
    free = std::max(free, sent) + 1e3 / most;
    recorder.Add(
        {.intended = AtMs(sent), .started = AtMs(sent), .finished = AtMs(free + latency_ms)});
  }
  return recorder.Take();
}

TEST(KeepsUp, AFewAnswersAfterTheEndAreNoQueue) {
  // Two of 38 frames come later, which is far more than 2 %.
  const LoadResult slow = ResultOf(19, 1000, 60, 2);
  EXPECT_LT(slow.answered_rate, 0.98 * slow.sent_rate);
  EXPECT_TRUE(KeepsUp(slow));
  EXPECT_TRUE(KeepsUp(ResultOf(2, 1000, 400, 1)));
  EXPECT_TRUE(KeepsUp(ResultOf(1000, 5000, 5, 5)));
  EXPECT_TRUE(KeepsUp(LoadResult()));
}

TEST(KeepsUp, AGrowingQueueLeavesAnswersBehind) {
  for (const double most : {50.0, 80.0, 95.0}) EXPECT_FALSE(KeepsUp(ResultOf(100, most, 2, 5)));
  EXPECT_FALSE(KeepsUp(ResultOf(1000, 960, 2, 5)));
}

TEST(LoadRecorder, FramesOutsideTheMeasurementDoNotCount) {
  LoadRecorder open(kStart, AtMs(1000), /*closed=*/false);
  open.Add({.intended = AtMs(-5), .started = AtMs(-5), .finished = AtMs(5)});
  open.Add({.intended = AtMs(1000), .started = AtMs(1000), .finished = AtMs(1005)});
  open.Add({.intended = AtMs(999), .started = AtMs(999), .finished = AtMs(1005)});
  EXPECT_EQ(open.Take().frames, 1);
  LoadRecorder closed(kStart, AtMs(1000), /*closed=*/true);
  closed.Add({.intended = AtMs(-5), .started = AtMs(-5), .finished = AtMs(5)});
  closed.Add({.intended = AtMs(999), .started = AtMs(999), .finished = AtMs(1005)});
  const LoadResult result = closed.Take();
  EXPECT_EQ(result.frames, 1);
  EXPECT_EQ(result.answered_rate, 1);
}

TEST(LoadRecorder, FailuresAndEnergyAreCounted) {
  LoadRecorder recorder(kStart, AtMs(500), /*closed=*/false);
  LoadRecorder::Frame frame{.intended = AtMs(1),
                            .started = AtMs(1),
                            .finished = AtMs(3),
                            .server_ns = 1'000'000,
                            .batch = 4};
  recorder.Add(frame);
  frame.joules = 0.25;
  frame.batch = 2;
  recorder.Add(frame);
  frame.status = absl::ResourceExhaustedError("QUEUE_FULL: full");
  recorder.Add(frame);
  const LoadResult result = recorder.Take();
  EXPECT_EQ(result.frames, 3);
  EXPECT_EQ(result.failed, 1);
  EXPECT_EQ(result.first_error.message(), "QUEUE_FULL: full");
  EXPECT_EQ(result.sent_rate, 6);
  EXPECT_EQ(result.answered_rate, 4);
  EXPECT_EQ(result.mean_batch, 3);
  EXPECT_EQ(result.joules_per_frame, 0.25);
  EXPECT_EQ(result.server_ms.at(0), 1);
}

}  // namespace
}  // namespace orbserve::cli
