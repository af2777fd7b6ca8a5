// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/power_monitor.h"
#include "server/process/clock.h"
#include "server/process/periodic_tasks.h"

#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "features/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/telemetry/metrics.h"
#include "tests/server/telemetry/promtool.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsNan;
using ::testing::Not;

// A test writes it, and readers read it.
struct Sensor {
  absl::Status status;
  PowerReading reading;
  std::atomic<int> reads{0};
};

PowerRail RailOf(const char* device) {
  return {.rail = device,
          .source = "nvml",
          .scope = "total",
          .counts_energy = true,
          .driver = "999.1",
          .model = "Some \"Board\"",
          .device = device};
}

PowerReader FakeReader(std::shared_ptr<Sensor> sensor, const char* device) {
  return {RailOf(device), [sensor = std::move(sensor)]() -> absl::StatusOr<PowerReading> {
            ++sensor->reads;
            if (!sensor->status.ok()) return sensor->status;
            return sensor->reading;
          }};
}

// Two boards with counters and a clock that the test moves.
class PowerMonitorTest : public ::testing::Test {
 protected:
  PowerMonitorTest() : metrics_({.version = "1", .devices = {{"cuda", "cuda:0"}}}) {
    for (Sensor* sensor : {sensors_[0].get(), sensors_[1].get()}) {
      sensor->reading = {.power_watts = 100, .energy_joules = 5e6};
    }
    monitor_ = std::make_shared<PowerMonitor>(
        std::vector{FakeReader(sensors_[0], "cuda:0"), FakeReader(sensors_[1], "cuda:1")},
        [this] { return now_; });
    metrics_.AddSource([monitor = monitor_](MetricPage& page) { monitor->Collect(page); });
  }

  // A tenth of a second at a time: the counters go on with these powers and are looked at.
  void Pass(double seconds, double watts_0, double watts_1 = 50) {
    for (int i = 0; i < static_cast<int>(seconds * 10 + 0.5); ++i) {
      now_ += milliseconds(100);
      const double watts[] = {watts_0, watts_1};
      for (size_t k = 0; k < 2; ++k) {
        sensors_[k]->reading.power_watts = watts[k];
        *sensors_[k]->reading.energy_joules += watts[k] * 0.1;
      }
      monitor_->Poll();
    }
  }

  // Value of the series on the page; NaN when it has none.
  double ValueOf(const std::string& series) const {
    for (const std::string& line :
         std::vector<std::string>(absl::StrSplit(metrics_.Render(), '\n'))) {
      double value = 0;
      if (absl::StartsWith(line, series + " ") &&
          absl::SimpleAtod(line.substr(series.size() + 1), &value)) {
        return value;
      }
    }
    return std::numeric_limits<double>::quiet_NaN();
  }
  static std::string Of(const char* family, int device) {
    return absl::StrCat(family, "{rail=\"cuda:", device, "\",source=\"nvml\",scope=\"total\"}");
  }

  SteadyTime now_ = SteadyTime(std::chrono::seconds(1000));
  std::shared_ptr<Sensor> sensors_[2] = {std::make_shared<Sensor>(), std::make_shared<Sensor>()};
  Metrics metrics_;
  std::shared_ptr<PowerMonitor> monitor_;
};

TEST_F(PowerMonitorTest, PowerAndEnergyOfEachRail) {
  EXPECT_EQ(ValueOf(Of("orbserve_power_watts", 0)), 100);
  EXPECT_EQ(ValueOf(Of("orbserve_energy_joules_total", 0)), 0);  // since the start
  Pass(2, 300, 75);
  EXPECT_EQ(ValueOf(Of("orbserve_power_watts", 0)), 300);
  EXPECT_EQ(ValueOf(Of("orbserve_power_watts", 1)), 75);
  EXPECT_NEAR(ValueOf(Of("orbserve_energy_joules_total", 0)), 600, 1e-6);
  EXPECT_NEAR(ValueOf(Of("orbserve_energy_joules_total", 1)), 150, 1e-6);
  EXPECT_THAT(metrics_.Render(),
              HasSubstr("orbserve_power_source_info{rail=\"cuda:1\",source=\"nvml\",scope=\"total\""
                        ",energy=\"counted\",driver=\"999.1\",model=\"Some \\\"Board\\\"\"} 1\n"));
  EXPECT_EQ(monitor_->source(), "nvml");
}

TEST_F(PowerMonitorTest, ARailThatCannotBeReadLosesItsSeriesUntilItCan) {
  Pass(1, 100);
  sensors_[0]->status = MakeError(ErrorReason::kUnsupported, "lost");
  Pass(1, 100);
  EXPECT_THAT(ValueOf(Of("orbserve_power_watts", 0)), IsNan());
  EXPECT_THAT(ValueOf(Of("orbserve_energy_joules_total", 0)), IsNan());
  EXPECT_EQ(ValueOf(Of("orbserve_power_read_errors_total", 0)), 10);
  EXPECT_EQ(ValueOf(Of("orbserve_power_watts", 1)), 50);
  sensors_[0]->status = absl::OkStatus();
  Pass(1, 100);
  EXPECT_EQ(ValueOf(Of("orbserve_power_watts", 0)), 100);
  EXPECT_NEAR(ValueOf(Of("orbserve_energy_joules_total", 0)), 300, 1e-6);
}

TEST_F(PowerMonitorTest, FiguresOfAReaderThatHangsAreNotShownForLong) {
  Pass(1, 100);
  now_ += std::chrono::seconds(3);
  EXPECT_EQ(ValueOf(Of("orbserve_power_watts", 0)), 100);
  now_ += milliseconds(1);
  EXPECT_THAT(ValueOf(Of("orbserve_power_watts", 0)), IsNan());
  EXPECT_THAT(ValueOf(Of("orbserve_energy_joules_total", 0)), IsNan());
  EXPECT_THAT(metrics_.Render(), HasSubstr("orbserve_power_source_info{rail=\"cuda:0\""));
}

TEST_F(PowerMonitorTest, MeasuredEnergyOfFramesFollowsASecondLater) {
  Pass(0.5, 200);
  const SteadyTime begin = now_;
  Pass(0.3, 200);
  const std::optional<double> estimate = monitor_->AddBatch("cuda:0", 8, begin, now_);
  monitor_->AddBatch("cuda:0", 0, begin, now_);  // matches: have their share, are no frames
  monitor_->AddBatch("cuda:1", 1, begin, now_);
  ASSERT_TRUE(estimate.has_value());
  EXPECT_NEAR(*estimate, 60, 1e-6);
  EXPECT_EQ(ValueOf("orbserve_frame_energy_joules_count{device=\"cuda:0\"}"), 0);
  Pass(1.5, 400);
  EXPECT_EQ(ValueOf("orbserve_frame_energy_joules_count{device=\"cuda:0\"}"), 8);
  EXPECT_NEAR(ValueOf("orbserve_frame_energy_joules_sum{device=\"cuda:0\"}"), 30, 1e-6);
  EXPECT_EQ(ValueOf("orbserve_frame_energy_joules_bucket{device=\"cuda:0\",le=\"2.5\"}"), 0);
  EXPECT_EQ(ValueOf("orbserve_frame_energy_joules_bucket{device=\"cuda:0\",le=\"4\"}"), 8);
  EXPECT_EQ(ValueOf("orbserve_frame_energy_joules_count{device=\"cuda:1\"}"), 1);
  EXPECT_NEAR(ValueOf("orbserve_frame_energy_joules_sum{device=\"cuda:1\"}"), 15, 1e-6);
}

TEST_F(PowerMonitorTest, FramesNeverSumToMoreThanTheRail) {
  uint32_t random = 7;
  for (int i = 0; i < 300; ++i) {
    random = random * 1664525u + 1013904223u;
    const SteadyTime end = now_;
    Pass(0.1, 80 + (random >> 24));
    for (uint32_t lane = 0; lane < 1 + (random >> 28) % 4; ++lane) {
      monitor_->AddBatch("cuda:0", 3, end - milliseconds(20 * lane), end + milliseconds(95));
    }
  }
  Pass(2, 80);
  const double frames = ValueOf("orbserve_frame_energy_joules_sum{device=\"cuda:0\"}");
  const double rail = ValueOf(Of("orbserve_energy_joules_total", 0));
  EXPECT_LE(frames, rail);
  EXPECT_GT(frames, 0.8 * rail);  // it was busy nearly all the time
}

TEST_F(PowerMonitorTest, DevicesWithoutARailHaveNoEnergy) {
  Pass(1, 100);
  EXPECT_FALSE(monitor_->AddBatch("cpu", 1, now_ - milliseconds(10), now_).has_value());
  EXPECT_FALSE(monitor_->AddBatch("", 1, now_ - milliseconds(10), now_).has_value());
  EXPECT_THAT(metrics_.Render(), Not(HasSubstr("device=\"cpu\"")));
}

TEST_F(PowerMonitorTest, PromtoolFindsNothingToSay) {
  Pass(1, 100);
  monitor_->AddBatch("cuda:0", 2, now_ - milliseconds(10), now_);
  Pass(2, 100);
  const std::optional<std::string> said = WhatPromtoolSays(metrics_.Render());
  if (!said.has_value()) {
    GTEST_SKIP()
        << "promtool is not installed (Debian package prometheus): the page is NOT checked";
  }
  EXPECT_EQ(*said, "");
}

TEST(PowerMonitorWithoutRailsTest, SaysSoAndClaimsNothing) {
  const auto monitor = std::make_shared<PowerMonitor>(std::vector<PowerReader>());
  EXPECT_EQ(monitor->source(), "none");
  const SteadyTime now = std::chrono::steady_clock::now();
  EXPECT_FALSE(monitor->AddBatch("cpu", 1, now - milliseconds(5), now).has_value());
  Metrics metrics({.version = "1", .devices = {{"cpu", "cpu"}}});
  metrics.AddSource([monitor = monitor](MetricPage& page) { monitor->Collect(page); });
  const std::string page = metrics.Render();
  EXPECT_THAT(page, HasSubstr("orbserve_power_source_info{source=\"none\"} 1\n"));
  EXPECT_THAT(page, Not(HasSubstr("orbserve_power_watts")));
  EXPECT_THAT(page, Not(HasSubstr("joules")));
  EXPECT_THAT(page, Not(HasSubstr("read_errors")));
}

TEST(PowerMonitorThreadTest, IsPolledWhileBatchesCome) {
  auto sensor = std::make_shared<Sensor>();
  sensor->reading.power_watts = 10;
  auto monitor = std::make_shared<PowerMonitor>(std::vector{FakeReader(sensor, "cuda:0")});
  {
    SystemClock clock;
    PeriodicTasks tasks(&clock, /*may_hang=*/true);
    tasks.Add(milliseconds(1), [monitor] { monitor->Poll(); });
    tasks.Start();
    while (sensor->reads < 20) {
      const SteadyTime now = std::chrono::steady_clock::now();
      monitor->AddBatch("cuda:0", 1, now - milliseconds(1), now);
      MetricPage page;
      monitor->Collect(page);
    }
  }
  const int reads = sensor->reads;
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(sensor->reads, reads);
}

struct HangingSensor {
  absl::Notification hangs, let_go, gone;
};

// Reads once, then hangs until it is let go; tells when the reader is gone.
PowerReader HangingReader(std::shared_ptr<HangingSensor> sensor) {
  const std::shared_ptr<void> life(nullptr, [sensor](void*) { sensor->gone.Notify(); });
  return {RailOf("cuda:0"),
          [sensor = std::move(sensor), life, reads = 0]() mutable -> absl::StatusOr<PowerReading> {
            if (reads++ > 0) {
              if (reads == 2) sensor->hangs.Notify();
              sensor->let_go.WaitForNotification();
            }
            return PowerReading{.power_watts = 1};
          }};
}

TEST(PowerMonitorThreadTest, AReaderThatHangsHoldsNobodyUp) {
  auto sensor = std::make_shared<HangingSensor>();
  auto monitor = std::make_shared<PowerMonitor>(std::vector{HangingReader(sensor)});
  {
    SystemClock clock;
    PeriodicTasks tasks(&clock, /*may_hang=*/true);
    tasks.Add(milliseconds(1), [monitor = std::move(monitor)] { monitor->Poll(); });
    tasks.Start();
    sensor->hangs.WaitForNotification();
  }  // comes back
  EXPECT_FALSE(sensor->gone.HasBeenNotified());
  sensor->let_go.Notify();
  sensor->gone.WaitForNotification();  // the thread took the last share of the monitor with it
}

}  // namespace
}  // namespace orbserve
