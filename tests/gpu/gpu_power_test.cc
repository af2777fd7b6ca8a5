// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Power of real boards while they compute.

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "server/telemetry/power/energy.h"
#include "server/telemetry/power/power_reader.h"
#include "tests/gpu/gpu_test_support.h"

namespace orbserve::gpu {
namespace {

using Clock = std::chrono::steady_clock;
using ::testing::MatchesRegex;

// Joules and seconds of every rail from one movement of its counter to a later one, while `work` is
// called again and again.
std::vector<EnergySegment> Measure(const PowerReaders& power, std::chrono::milliseconds time,
                                   const std::function<void()>& work) {
  std::vector<EnergyMeter> meters(power.readers.size());
  std::vector<EnergySegment> sums(power.readers.size());
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
    const auto next = Clock::now() + std::chrono::milliseconds(20);
    while (Clock::now() < next) work();
    for (size_t i = 0; i < meters.size(); ++i) {
      const absl::StatusOr<PowerReading> reading = power.readers[i].read();
      EXPECT_TRUE(reading.ok()) << reading.status();
      if (!reading.ok()) continue;
      const auto segment = meters[i].Add(Clock::now(), *reading);
      if (!segment.has_value()) continue;
      if (sums[i].begin == SteadyTime()) {
        sums[i].begin = segment->end;  // the first began inside a step
      } else {
        sums[i].end = segment->end;
        sums[i].joules += segment->joules;
      }
    }
  }
  return sums;
}

class GpuPowerTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    power_ = FindPowerReaders(gpu_->devices());
    for (const std::string& failure : power_.failures) std::printf("%s\n", failure.c_str());
    if (!power_.readers.empty()) return;
    if (GpuIsExpected()) FAIL() << "a GPU is expected here, and no board can be asked";
    GTEST_SKIP() << "no board of this machine can be asked";
  }

  PowerReaders power_;
};

TEST_F(GpuPowerTest, DevicesHaveTheAddressesOfTheirBoards) {
  for (const DeviceDescription& device : gpu_->devices()) {
    EXPECT_THAT(device.pci_bus_id,
                MatchesRegex("[0-9a-f]{4,8}:[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f][.]0"));
  }
  EXPECT_EQ(power_.readers.size() + power_.failures.size(), gpu_->devices().size());
}

TEST_F(GpuPowerTest, WorkTakesMoreThanRestAndBothArePlausible) {
  std::mt19937 random(3);
  TestFrame frame;
  frame.image = MakeImage(Content::kSoftNoise, 1280, 960, &random);
  auto plan = gpu_->MakePlan({1280, 960, {}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::vector<TestFrame> batch(8, frame);
  constexpr std::chrono::milliseconds kTime{1500};
  const auto rest =
      Measure(power_, kTime, [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
  const auto work = Measure(power_, kTime, [&] { Compute(*gpu_, *plan, batch); });
  double rest_watts = 0;
  double work_watts = 0;
  for (size_t i = 0; i < rest.size(); ++i) {
    ASSERT_GT(rest[i].end, rest[i].begin);
    ASSERT_GT(work[i].end, work[i].begin);
    rest_watts += rest[i].joules / rest[i].seconds();
    work_watts += work[i].joules / work[i].seconds();
  }
  const auto boards = static_cast<double>(rest.size());
  EXPECT_GT(rest_watts, 1 * boards);
  EXPECT_LT(work_watts, 2000 * boards);
  EXPECT_GT(work_watts, rest_watts);
  std::printf("%.1f W at rest, %.1f W at work\n", rest_watts, work_watts);
}

}  // namespace
}  // namespace orbserve::gpu
