// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/metrics.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/telemetry/busy_time.h"
#include "server/telemetry/series.h"
#include "tests/server/telemetry/metrics_page.h"
#include "tests/server/telemetry/promtool.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using ::testing::HasSubstr;
using ::testing::Not;
using SteadyTime = std::chrono::steady_clock::time_point;

SteadyTime At(int64_t ms) { return SteadyTime(milliseconds(ms)); }

// Times of a frame that spent so many milliseconds in each of these phases.
FrameTimes Times(const std::vector<std::pair<FramePhase, int>>& phases_ms, const char* backend,
                 const char* device) {
  FrameTimes times;
  times.Begin(At(0));
  times.backend = backend;
  times.device = device;
  int64_t now_ms = 0;
  for (const auto& [phase, time_ms] : phases_ms) {
    times.Spend(phase, milliseconds(time_ms), At(now_ms += time_ms));
  }
  return times;
}

MetricsOptions OneCpu() { return {.version = "1.2.3", .devices = {{"cpu", "cpu"}}}; }

TEST(MetricsTest, EveryFamilyIsThereFromTheStart) {
  const std::string page = Metrics(OneCpu()).Render();
  for (const char* family :
       {"orbserve_request_duration_seconds", "orbserve_frame_duration_seconds",
        "orbserve_batch_size_frames", "orbserve_frames_received_total", "orbserve_frames_total",
        "orbserve_received_bytes_total", "orbserve_keypoints_total", "orbserve_streams",
        "orbserve_device_lost_total", "orbserve_device_busy_seconds_total", "orbserve_build_info",
        "process_cpu_seconds_total", "process_resident_memory_bytes",
        "process_virtual_memory_bytes", "process_start_time_seconds", "process_open_fds",
        "process_max_fds"}) {
    EXPECT_THAT(page, HasSubstr(absl::StrCat("# HELP ", family, " ")));
    EXPECT_THAT(page, HasSubstr(absl::StrCat("# TYPE ", family, " ")));
  }
  EXPECT_EQ(ValueOf(page, "orbserve_build_info{version=\"1.2.3\"}"), 1);
  EXPECT_EQ(ValueOf(page, "orbserve_device_lost_total{device=\"cpu\"}"), 0);
  EXPECT_EQ(ValueOf(page, "orbserve_frames_total{outcome=\"ok\"}"), 0);
  for (const ErrorReasonInfo& info : kErrorReasons) {
    EXPECT_EQ(ValueOf(page, absl::StrCat("orbserve_frames_total{outcome=\"", info.name, "\"}")), 0);
  }
  EXPECT_EQ(
      ValueOf(page, "orbserve_request_duration_seconds_count{method=\"Extract\",code=\"OK\"}"), 0);
}

TEST(MetricsTest, WhatCannotBeReadHasNoFamily) {
  const std::string page = Metrics(OneCpu()).Render();
  EXPECT_THAT(page, Not(HasSubstr("power")));
  EXPECT_THAT(page, Not(HasSubstr("energy")));
  EXPECT_THAT(page, Not(HasSubstr("upload")));  // no device has had an upload
  EXPECT_THAT(page, Not(HasSubstr("other")));   // nothing unknown has happened
}

TEST(MetricsTest, ValuesFallIntoTheBucketsWhoseBoundsTheyDoNotExceed) {
  Metrics metrics(OneCpu());
  for (const double seconds : {0.0, 1e-4, 1.01e-4, 0.5, 1.0, 1.01, 3600.0}) {
    metrics.ObserveRequest("Extract", absl::StatusCode::kOk, seconds);
  }
  const std::string page = metrics.Render();
  const auto bucket = [&](const char* bound) {
    return ValueOf(page, absl::StrCat("orbserve_request_duration_seconds_bucket{method=\"Extract\","
                                      "code=\"OK\",le=\"",
                                      bound, "\"}"));
  };
  EXPECT_EQ(bucket("0.0001"), 2);
  EXPECT_EQ(bucket("0.00016"), 3);
  EXPECT_EQ(bucket("0.4"), 3);
  EXPECT_EQ(bucket("0.63"), 4);
  EXPECT_EQ(bucket("1"), 5);
  EXPECT_EQ(bucket("+Inf"), 7);
  const std::string labels = "{method=\"Extract\",code=\"OK\"}";
  EXPECT_EQ(ValueOf(page, "orbserve_request_duration_seconds_count" + labels), 7);
  EXPECT_NEAR(ValueOf(page, "orbserve_request_duration_seconds_sum" + labels), 3602.510201, 1e-6);
}

TEST(MetricsTest, NonsenseIsCountedAsZero) {
  Metrics metrics(OneCpu());
  metrics.ObserveRequest("Match", absl::StatusCode::kOk, -5);
  metrics.ObserveRequest("Match", absl::StatusCode::kOk, std::numeric_limits<double>::quiet_NaN());
  const std::string page = metrics.Render();
  EXPECT_EQ(ValueOf(page, "orbserve_request_duration_seconds_count{method=\"Match\",code=\"OK\"}"),
            2);
  EXPECT_EQ(ValueOf(page, "orbserve_request_duration_seconds_sum{method=\"Match\",code=\"OK\"}"),
            0);
}

TEST(MetricsTest, FailuresAreObservedUnderTheirCode) {
  Metrics metrics(OneCpu());
  metrics.ObserveRequest("Extract", absl::StatusCode::kInvalidArgument, 0.001);
  metrics.ObserveRequest("NoSuchMethod", absl::StatusCode::kUnimplemented, 0.001);
  metrics.ObserveRequest("Extract", static_cast<absl::StatusCode>(77), 0.001);
  const std::string page = metrics.Render();
  for (const char* labels :
       {"{method=\"Extract\",code=\"INVALID_ARGUMENT\"}",
        "{method=\"other\",code=\"UNIMPLEMENTED\"}", "{method=\"Extract\",code=\"UNKNOWN\"}"}) {
    EXPECT_EQ(ValueOf(page, absl::StrCat("orbserve_request_duration_seconds_count", labels)), 1);
  }
}

TEST(MetricsTest, FramesAreTimedByTheMethodThatBroughtThem) {
  Metrics metrics(OneCpu());
  metrics.ObserveFrame("StreamFrames", Times({{FramePhase::kDecode, 20}}, "", ""));
  metrics.ObserveFrame("StreamFrames",
                       Times({{FramePhase::kQueue, 6000}, {FramePhase::kCompute, 1000}}, "", ""));
  metrics.ObserveFrame("Extract", Times({{FramePhase::kCompute, 10}}, "cpu", "cpu"));
  const std::string page = metrics.Render();
  const auto value = [&](const char* suffix) {
    return ValueOf(page, absl::StrCat("orbserve_frame_duration_seconds_", suffix));
  };
  EXPECT_EQ(value("count{method=\"StreamFrames\"}"), 2);
  EXPECT_NEAR(value("sum{method=\"StreamFrames\"}"), 7.02, 1e-9);
  EXPECT_EQ(value("bucket{method=\"StreamFrames\",le=\"6.3\"}"), 1);
  EXPECT_EQ(value("bucket{method=\"StreamFrames\",le=\"10\"}"), 2);
  EXPECT_EQ(value("count{method=\"Extract\"}"), 1);
  EXPECT_EQ(value("count{method=\"Match\"}"), 0);  // there from the start
  EXPECT_EQ(value("count{method=\"PutReference\"}"), 0);
  // These methods bring no frames.
  for (const char* method : {"DeleteReference", "ListReferences", "GetServerInfo", "other"}) {
    EXPECT_TRUE(std::isnan(value(absl::StrCat("count{method=\"", method, "\"}").c_str())));
  }
}

TEST(MetricsTest, TimesOfOverloadHaveBucketsOfTheirOwn) {
  Metrics metrics(OneCpu());
  for (const int ms : {12'800, 36'900, 70'000}) {
    metrics.ObserveFrame("Extract", Times({{FramePhase::kQueue, ms}}, "", ""));
  }
  const std::string page = metrics.Render();
  const auto below = [&](const char* bound) {
    return ValueOf(
        page, absl::StrCat("orbserve_frame_duration_seconds_bucket{method=\"Extract\",le=\"", bound,
                           "\"}"));
  };
  EXPECT_EQ(below("12.5"), 0);
  EXPECT_EQ(below("16"), 1);
  EXPECT_EQ(below("31.5"), 1);
  EXPECT_EQ(below("40"), 2);
  EXPECT_EQ(below("80"), 3);
}

TEST(DurationHistogramTest, BoundsAreClose) {
  EXPECT_EQ(kDurationBounds.front(), 1e-4);
  EXPECT_EQ(kDurationBounds.back(), 100);
  for (size_t i = 1; i < kDurationBounds.size(); ++i) {
    EXPECT_GT(kDurationBounds[i], kDurationBounds[i - 1]);
    EXPECT_LE(kDurationBounds[i], 1.29 * kDurationBounds[i - 1]);
  }
}

TEST(MetricsTest, PhasesAndStagesBelongToADeviceOrToTheHost) {
  Metrics metrics({.version = "1", .devices = {{"cuda", "cuda:0"}, {"cpu", "cpu"}}});
  metrics.ObservePhases(
      Times({{FramePhase::kDecode, 2}, {FramePhase::kCompute, 3}}, "cuda", "cuda:0"));
  metrics.ObservePhases(Times({{FramePhase::kCompute, 4}}, "cpu", "cpu"));
  metrics.ObservePhases(Times({{FramePhase::kCompute, 5}}, "cpu", "cuda:7"));
  metrics.ObservePhases(Times({{FramePhase::kQueue, 7}}, "", ""));  // nobody computed it
  metrics.ObserveStages({Stage::kDetect, Stage::kSuppress}, "cuda", "cuda:0", 0.001);
  metrics.ObserveStages(Stage::kDetect, "cpu", "cpu", 0.006);
  const std::string page = metrics.Render();
  const auto sum = [&](const char* labels) {
    return ValueOf(page, absl::StrCat("orbserve_stage_duration_seconds_sum", labels));
  };
  EXPECT_EQ(sum("{stage=\"decode\",backend=\"host\",device=\"host\"}"), 0.002);
  EXPECT_EQ(sum("{stage=\"queue\",backend=\"host\",device=\"host\"}"), 0.007);
  EXPECT_EQ(sum("{stage=\"compute\",backend=\"cuda\",device=\"cuda:0\"}"), 0.003);
  EXPECT_EQ(sum("{stage=\"compute\",backend=\"cpu\",device=\"cpu\"}"), 0.004);
  EXPECT_EQ(sum("{stage=\"compute\",backend=\"other\",device=\"other\"}"), 0.005);
  EXPECT_EQ(sum("{stage=\"detect+suppress\",backend=\"cuda\",device=\"cuda:0\"}"), 0.001);
  EXPECT_EQ(sum("{stage=\"detect\",backend=\"cpu\",device=\"cpu\"}"), 0.006);
}

TEST(MetricsTest, FramesAreAccountedForExactly) {
  Metrics metrics(OneCpu());
  for (int i = 0; i < 10; ++i) metrics.FrameReceived(100);
  metrics.FrameFinished(absl::OkStatus(), 500);
  metrics.FrameFinished(absl::OkStatus(), 250);
  metrics.FrameFinished(MakeError(ErrorReason::kQueueFull, "x"));
  metrics.FrameFinished(MakeError(ErrorReason::kBadImage, "x"));
  metrics.FrameFinished(MakeError(ErrorReason::kTooLarge, "x"));
  const std::string page = metrics.Render();
  EXPECT_EQ(ValueOf(page, "orbserve_frames_received_total"), 10);
  EXPECT_EQ(ValueOf(page, "orbserve_received_bytes_total"), 1000);
  EXPECT_EQ(ValueOf(page, "orbserve_keypoints_total"), 750);
  EXPECT_EQ(ValueOf(page, "orbserve_frames_total{outcome=\"ok\"}"), 2);
  EXPECT_EQ(ValueOf(page, "orbserve_frames_total{outcome=\"QUEUE_FULL\"}"), 1);
  EXPECT_EQ(ValueOf(page, "orbserve_frames_total{outcome=\"BAD_IMAGE\"}"), 1);
  EXPECT_EQ(ValueOf(page, "orbserve_frames_total{outcome=\"TOO_LARGE\"}"), 1);
}

TEST(MetricsTest, GaugesGoUpAndDown) {
  Metrics metrics(OneCpu());
  metrics.StreamOpened();
  metrics.StreamOpened();
  metrics.StreamClosed();
  metrics.DeviceLost("cpu");
  metrics.DeviceLost("cuda:3");
  const std::string page = metrics.Render();
  EXPECT_EQ(ValueOf(page, "orbserve_streams"), 1);
  EXPECT_EQ(ValueOf(page, "orbserve_device_lost_total{device=\"cpu\"}"), 1);
  EXPECT_EQ(ValueOf(page, "orbserve_device_lost_total{device=\"other\"}"), 1);
}

TEST(MetricsTest, BatchesLeaveTheirSizeAndTheirBusyTime) {
  Metrics metrics(OneCpu());
  metrics.ObserveBatch("cpu", "cpu", 5, At(1000), At(3000));
  metrics.ObserveBatch("cpu", "cpu", 1, At(2000), At(4500));  // overlaps by a second
  metrics.AddBusyInterval("cpu", "cpu", At(5000), At(5500));
  const std::string page = metrics.Render();
  const std::string labels = "backend=\"cpu\",device=\"cpu\"";
  EXPECT_EQ(ValueOf(page, "orbserve_batch_size_frames_count{" + labels + "}"), 2);
  EXPECT_EQ(ValueOf(page, "orbserve_batch_size_frames_sum{" + labels + "}"), 6);
  EXPECT_EQ(ValueOf(page, "orbserve_batch_size_frames_bucket{" + labels + ",le=\"1\"}"), 1);
  EXPECT_EQ(ValueOf(page, "orbserve_batch_size_frames_bucket{" + labels + ",le=\"4\"}"), 1);
  EXPECT_EQ(ValueOf(page, "orbserve_batch_size_frames_bucket{" + labels + ",le=\"6\"}"), 2);
  EXPECT_EQ(ValueOf(page, "orbserve_device_busy_seconds_total{" + labels + "}"), 4);
}

TEST(MetricsTest, NothingIsLostBetweenThreadsAndScrapes) {
  Metrics metrics(OneCpu());
  constexpr int kThreads = 4;
  constexpr int kFrames = 5000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kFrames; ++i) {
        metrics.FrameReceived(10);
        metrics.ObservePhases(Times({{FramePhase::kQueue, 1}}, "cpu", "cpu"));
        metrics.ObserveBatch("cpu", "cpu", 2, At(i), At(i + 1));
        metrics.FrameFinished(absl::OkStatus(), 3);
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    const std::string page = metrics.Render();
    EXPECT_LE(ValueOf(page, "orbserve_frames_total{outcome=\"ok\"}"),
              ValueOf(page, "orbserve_frames_received_total"));
  }
  for (std::thread& thread : threads) thread.join();
  const std::string page = metrics.Render();
  constexpr double kTotal = kThreads * kFrames;
  EXPECT_EQ(ValueOf(page, "orbserve_frames_received_total"), kTotal);
  EXPECT_EQ(ValueOf(page, "orbserve_frames_total{outcome=\"ok\"}"), kTotal);
  EXPECT_EQ(ValueOf(page, "orbserve_keypoints_total"), 3 * kTotal);
  const std::string labels = "{stage=\"queue\",backend=\"cpu\",device=\"cpu\"}";
  EXPECT_EQ(ValueOf(page, "orbserve_stage_duration_seconds_count" + labels), kTotal);
  EXPECT_NEAR(ValueOf(page, "orbserve_stage_duration_seconds_sum" + labels), kTotal * 1e-3, 1e-9);
  EXPECT_EQ(ValueOf(page, "orbserve_batch_size_frames_sum{backend=\"cpu\",device=\"cpu\"}"),
            2 * kTotal);
}

TEST(MetricsTest, ProcessFiguresArePlausible) {
  const std::string page = Metrics(OneCpu()).Render();
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_GT(ValueOf(page, "process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(ValueOf(page, "process_virtual_memory_bytes"),
            ValueOf(page, "process_resident_memory_bytes"));
  EXPECT_GE(ValueOf(page, "process_cpu_seconds_total"), 0);
  EXPECT_NEAR(ValueOf(page, "process_start_time_seconds"), now, 600);
  EXPECT_GE(ValueOf(page, "process_open_fds"), 3);
  EXPECT_GE(ValueOf(page, "process_max_fds"), ValueOf(page, "process_open_fds"));
}

TEST(MetricsTest, PromtoolFindsNothingToSay) {
  Metrics metrics(OneCpu());
  metrics.ObserveRequest("Extract", absl::StatusCode::kOk, 0.01);
  metrics.ObserveFrame(
      "Extract", Times({{FramePhase::kDecode, 10}, {FramePhase::kCompute, 10}}, "cpu", "cpu"));
  metrics.ObserveStages({Stage::kOrient, Stage::kDescribe}, "cpu", "cpu", 0.01);
  metrics.ObserveBatch("cpu", "cpu", 3, At(0), At(10));
  metrics.FrameReceived(10);
  metrics.FrameFinished(absl::OkStatus(), 10);
  const std::optional<std::string> said = WhatPromtoolSays(metrics.Render());
  if (!said.has_value()) {
    GTEST_SKIP()
        << "promtool is not installed (Debian package prometheus): the page is NOT checked";
  }
  EXPECT_EQ(*said, "");
}

TEST(BusyTimeTest, UnionOfIntervalsInAnyOrder) {
  BusyTime busy;
  EXPECT_EQ(busy.Add(At(10), At(20)), milliseconds(10));
  EXPECT_EQ(busy.Add(At(10), At(20)), milliseconds(0));
  EXPECT_EQ(busy.Add(At(12), At(18)), milliseconds(0));
  EXPECT_EQ(busy.Add(At(15), At(25)), milliseconds(5));
  EXPECT_EQ(busy.Add(At(30), At(40)), milliseconds(10));
  EXPECT_EQ(busy.Add(At(0), At(50)), milliseconds(10 + 5 + 10));  // both gaps and both ends
  EXPECT_EQ(busy.Add(At(50), At(51)), milliseconds(1));           // touches
  EXPECT_EQ(busy.Add(At(60), At(60)), milliseconds(0));
  EXPECT_EQ(busy.Add(At(60), At(55)), milliseconds(0));
}

TEST(BusyTimeTest, EqualsCountingMilliseconds) {
  BusyTime busy;
  std::set<int> covered;
  nanoseconds total{0};
  uint32_t random = 99;
  for (int i = 0; i < 300; ++i) {
    random = random * 1664525u + 1013904223u;
    const int begin = 5 * i + static_cast<int>(random >> 26);
    const int length = static_cast<int>((random >> 20) % 23);
    for (int ms = begin; ms < begin + length; ++ms) covered.insert(ms);
    total += busy.Add(At(begin), At(begin + length));
    ASSERT_EQ(total, milliseconds(covered.size())) << i;
  }
}

TEST(BusyTimeTest, ForgetsOldStretchesAndNeverCountsThemTwice) {
  BusyTime busy;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(busy.Add(At(10 * i), At(10 * i + 1)), milliseconds(1));
  }
  EXPECT_EQ(busy.Add(At(0), At(5)), milliseconds(0));
  EXPECT_EQ(busy.Add(At(9995), At(9996)), milliseconds(1));
}

}  // namespace
}  // namespace orbserve
