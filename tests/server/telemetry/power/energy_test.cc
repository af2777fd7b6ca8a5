// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// From readings to energy, from energy to batches, and the estimate that does not wait for it.

#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/telemetry/power/energy.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

SteadyTime AtSecond(double seconds) {
  return SteadyTime(
      std::chrono::round<std::chrono::nanoseconds>(std::chrono::duration<double>(1000 + seconds)));
}

PowerReading Watts(double watts) { return {.power_watts = watts}; }
PowerReading Joules(double joules) { return {.energy_joules = joules}; }
PowerReading Both(double watts, double joules) {
  return {.power_watts = watts, .energy_joules = joules};
}

TEST(EnergyMeterTest, PowerIsIntegratedByTrapezoids) {
  EnergyMeter meter;
  EXPECT_FALSE(meter.Add(AtSecond(0), Watts(10)).has_value());
  const std::optional<EnergySegment> first = meter.Add(AtSecond(0.5), Watts(30));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->begin, AtSecond(0));
  EXPECT_EQ(first->end, AtSecond(0.5));
  EXPECT_DOUBLE_EQ(first->joules, 10);
  EXPECT_DOUBLE_EQ(meter.Add(AtSecond(1.5), Watts(30))->joules, 30);
  EXPECT_DOUBLE_EQ(meter.total_joules(), 40);
}

TEST(EnergyMeterTest, NegativePowerIsNoEnergy) {
  EnergyMeter meter;
  meter.Add(AtSecond(0), Watts(-4));
  EXPECT_DOUBLE_EQ(meter.Add(AtSecond(1), Watts(-4))->joules, 0);
  EXPECT_DOUBLE_EQ(meter.Add(AtSecond(2), Watts(6))->joules, 3);
}

TEST(EnergyMeterTest, GapsAndFailuresAreNotBridged) {
  EnergyMeter meter;
  meter.Add(AtSecond(0), Watts(100));
  EXPECT_FALSE(meter.Add(AtSecond(2.1), Watts(100)).has_value());
  EXPECT_TRUE(meter.Add(AtSecond(3), Watts(100)).has_value());
  meter.Interrupt();
  EXPECT_FALSE(meter.Add(AtSecond(4), Watts(100)).has_value());
  EXPECT_TRUE(meter.Add(AtSecond(5), Watts(100)).has_value());
  EXPECT_NEAR(meter.total_joules(), 90 + 100, 1e-9);
}

TEST(EnergyMeterTest, ACounterIsReadWhereItMoves) {
  EnergyMeter meter;
  EXPECT_FALSE(meter.Add(AtSecond(0), Both(5, 7000)).has_value());
  EXPECT_FALSE(meter.Add(AtSecond(0.1), Both(900, 7000)).has_value());
  const std::optional<EnergySegment> segment = meter.Add(AtSecond(0.2), Both(5, 7012.5));
  ASSERT_TRUE(segment.has_value());
  EXPECT_EQ(segment->begin, AtSecond(0));
  EXPECT_EQ(segment->end, AtSecond(0.2));
  EXPECT_DOUBLE_EQ(segment->joules, 12.5);  // what the power was is not asked
}

// A counter knows what was used while nobody could look.
TEST(EnergyMeterTest, ACounterBridgesFailures) {
  EnergyMeter meter;
  meter.Add(AtSecond(0), Joules(100));
  meter.Interrupt();
  EXPECT_DOUBLE_EQ(meter.Add(AtSecond(60), Joules(160))->joules, 60);
}

TEST(EnergyMeterTest, ACounterThatGoesBackIsBegunAgain) {
  EnergyMeter meter;
  meter.Add(AtSecond(0), Both(10, 1e6));
  EXPECT_DOUBLE_EQ(meter.Add(AtSecond(1), Both(20, 1e6 + 15))->joules, 15);
  EXPECT_DOUBLE_EQ(meter.Add(AtSecond(2), Both(40, 3))->joules, 30);  // by power
  EXPECT_DOUBLE_EQ(meter.Add(AtSecond(3), Both(40, 43))->joules, 40);
  EXPECT_DOUBLE_EQ(meter.total_joules(), 85);
}

TEST(EnergyMeterTest, ACounterThatGoesBackLeavesAGapWhereThereIsNoPower) {
  EnergyMeter meter;
  meter.Add(AtSecond(0), Joules(1e6));
  EXPECT_FALSE(meter.Add(AtSecond(1), Joules(3)).has_value());
  const std::optional<EnergySegment> segment = meter.Add(AtSecond(2), Joules(10));
  ASSERT_TRUE(segment.has_value());
  EXPECT_EQ(segment->begin, AtSecond(1));
  EXPECT_DOUBLE_EQ(segment->joules, 7);
  EXPECT_DOUBLE_EQ(meter.total_joules(), 7);
}

// Shares `watts` over [0, 10] s in segments of `step` s and returns what was charged, in order.
std::vector<BatchEnergyShares::Batch> Settled(BatchEnergyShares& shares, double watts, double step,
                                              double now = 20) {
  const int count = static_cast<int>(std::lround(10 / step));
  for (int i = 0; i < count; ++i) {
    shares.AddEnergy({AtSecond(i * step), AtSecond((i + 1) * step), watts * step});
  }
  std::vector<BatchEnergyShares::Batch> charged;
  shares.Settle(AtSecond(now),
                [&](const BatchEnergyShares::Batch& batch) { charged.push_back(batch); });
  return charged;
}

TEST(BatchEnergySharesTest, ABatchAlonePaysForTheWholeDeviceWhileItIsBusy) {
  BatchEnergyShares shares;
  shares.AddBatch(AtSecond(2), AtSecond(5), 4);
  const auto charged = Settled(shares, 100, 10);
  ASSERT_THAT(charged, SizeIs(1));
  EXPECT_NEAR(charged[0].joules, 300, 1e-9);  // the other 700 J belong to nobody
  EXPECT_EQ(charged[0].frames, 4);
}

TEST(BatchEnergySharesTest, OverlappingLanesShareEqually) {
  BatchEnergyShares shares;
  shares.AddBatch(AtSecond(1), AtSecond(4), 1);
  shares.AddBatch(AtSecond(2), AtSecond(5), 2);
  shares.AddBatch(AtSecond(3), AtSecond(7), 3);
  for (const double step : {10.0, 0.5}) {
    BatchEnergyShares copy = shares;
    std::vector<double> by_frames(4);
    for (const BatchEnergyShares::Batch& batch : Settled(copy, 60, step)) {
      by_frames[static_cast<size_t>(batch.frames)] = batch.joules;
    }
    EXPECT_NEAR(by_frames[1], 60 * (1 + 1 / 2. + 1 / 3.), 1e-9) << step;
    EXPECT_NEAR(by_frames[2], 60 * (1 / 2. + 1 / 3. + 1 / 2.), 1e-9) << step;
    EXPECT_NEAR(by_frames[3], 60 * (1 / 3. + 1 / 2. + 2), 1e-9) << step;
  }
}

TEST(BatchEnergySharesTest, PowerThatChangesIsChargedWhereItWas) {
  BatchEnergyShares shares;
  shares.AddBatch(AtSecond(0.5), AtSecond(1.5), 1);
  shares.AddEnergy({AtSecond(0), AtSecond(1), 10});
  shares.AddEnergy({AtSecond(1), AtSecond(2), 200});
  std::vector<double> charged;
  shares.Settle(AtSecond(10),
                [&](const BatchEnergyShares::Batch& batch) { charged.push_back(batch.joules); });
  ASSERT_THAT(charged, SizeIs(1));
  EXPECT_NEAR(charged[0], 105, 1e-9);
}

TEST(BatchEnergySharesTest, WaitsForBatchesThatEndAfterTheEnergyIsKnown) {
  BatchEnergyShares shares;
  int charged = 0;
  const auto charge = [&](const BatchEnergyShares::Batch&) { ++charged; };
  shares.AddEnergy({AtSecond(0), AtSecond(1), 10});
  shares.Settle(AtSecond(1.9), charge);
  shares.AddBatch(AtSecond(0.5), AtSecond(1.8), 1);  // began in that segment
  shares.AddEnergy({AtSecond(1), AtSecond(2), 10});
  shares.Settle(AtSecond(2.9), charge);
  EXPECT_EQ(charged, 0);  // half of it is not settled
  shares.Settle(AtSecond(3), charge);
  EXPECT_EQ(charged, 1);
}

TEST(BatchEnergySharesTest, WhatIsNotMeasuredWhollyIsNotCharged) {
  BatchEnergyShares shares;
  shares.AddBatch(AtSecond(-1), AtSecond(1), 1);      // began before measuring did
  shares.AddBatch(AtSecond(-3), AtSecond(-2), 1);     // long before
  shares.AddBatch(AtSecond(4), AtSecond(4), 1);       // took no time
  shares.AddBatch(AtSecond(9.5), AtSecond(10.5), 1);  // not yet
  EXPECT_THAT(Settled(shares, 50, 1), IsEmpty());
  shares.AddEnergy({AtSecond(10), AtSecond(11), 50});
  std::vector<double> charged;
  shares.Settle(AtSecond(20),
                [&](const BatchEnergyShares::Batch& batch) { charged.push_back(batch.joules); });
  ASSERT_THAT(charged, SizeIs(1));
  EXPECT_NEAR(charged[0], 50, 1e-9);
}

// Against counting milliseconds.
TEST(BatchEnergySharesTest, RandomLanesSumToTheEnergyOfTheBusyTime) {
  BatchEnergyShares shares;
  constexpr int kMilliseconds = 10'000;
  std::vector<int> busy(kMilliseconds);
  struct Span {
    int begin, end;
  };
  std::vector<Span> spans;
  uint32_t random = 4711;
  const auto next = [&](uint32_t below) {
    random = random * 1664525u + 1013904223u;
    return static_cast<int>((random >> 8) % below);
  };
  for (int i = 0; i < 400; ++i) {
    const int begin = next(kMilliseconds - 200);
    spans.push_back({begin, begin + 1 + next(150)});
    for (int ms = begin; ms < spans.back().end; ++ms) ++busy[static_cast<size_t>(ms)];
    shares.AddBatch(AtSecond(begin * 1e-3), AtSecond(spans.back().end * 1e-3), i + 1);
  }
  constexpr double kWatts = 350;
  const auto charged = Settled(shares, kWatts, 0.1);
  ASSERT_THAT(charged, SizeIs(spans.size()));
  double sum = 0;
  for (const BatchEnergyShares::Batch& batch : charged) {
    double expected = 0;
    const Span& span = spans[static_cast<size_t>(batch.frames) - 1];
    for (int ms = span.begin; ms < span.end; ++ms) {
      expected += kWatts * 1e-3 / busy[static_cast<size_t>(ms)];
    }
    EXPECT_NEAR(batch.joules, expected, 1e-6);
    sum += batch.joules;
  }
  int busy_ms = 0;
  for (const int count : busy) busy_ms += count > 0 ? 1 : 0;
  EXPECT_NEAR(sum, kWatts * 1e-3 * busy_ms, 1e-6);
  EXPECT_LE(sum, kWatts * 10);
}

TEST(BatchEnergyEstimateTest, KnowsNothingBeforePowerIsMeasured) {
  BatchEnergyEstimate estimate;
  EXPECT_FALSE(estimate.AddBatch(AtSecond(0), AtSecond(0.1)).has_value());
  estimate.AddEnergy({AtSecond(0), AtSecond(0.5), 50});
  EXPECT_NEAR(estimate.AddBatch(AtSecond(0.5), AtSecond(0.6)).value(), 10, 1e-9);
}

TEST(BatchEnergyEstimateTest, ForgetsPowerThatWasMeasuredLongAgo) {
  BatchEnergyEstimate estimate;
  estimate.AddEnergy({AtSecond(0), AtSecond(1), 100});
  EXPECT_TRUE(estimate.AddBatch(AtSecond(3.9), AtSecond(4)).has_value());
  EXPECT_FALSE(estimate.AddBatch(AtSecond(4), AtSecond(4.1)).has_value());
  EXPECT_FALSE(estimate.AddBatch(AtSecond(1), AtSecond(1)).has_value());  // took no time
}

TEST(BatchEnergyEstimateTest, TakesTheMeanOfTheLastSecond) {
  BatchEnergyEstimate estimate;
  for (int i = 0; i < 20; ++i) {
    estimate.AddEnergy(
        {AtSecond(i * 0.1), AtSecond((i + 1) * 0.1), i < 10 ? 1000. : 20 + (i % 2) * 10.});
  }
  EXPECT_NEAR(estimate.AddBatch(AtSecond(2), AtSecond(2.01)).value(), 2.5, 1e-6);
}

// `lanes` batches at a time, evenly staggered, each 40 ms long.
double SumOfEstimates(int lanes, double load) {
  BatchEnergyEstimate estimate;
  estimate.AddEnergy({AtSecond(-1), AtSecond(0), 300});
  const double step = 0.04 / lanes / load;
  double sum = 0;
  double measured_to = 0;
  for (int i = 0; i * step < 10; ++i) {
    const double begin = i * step;
    if (begin > measured_to + 0.1) {
      estimate.AddEnergy({AtSecond(measured_to), AtSecond(begin), 300 * (begin - measured_to)});
      measured_to = begin;
    }
    const double joules = estimate.AddBatch(AtSecond(begin), AtSecond(begin + 0.04)).value();
    if (begin >= 5) sum += joules;
  }
  return sum;
}

TEST(BatchEnergyEstimateTest, UnderSteadyLoadTheSumIsTheEnergyOfTheBusyTime) {
  for (const int lanes : {1, 2, 4, 7}) {
    EXPECT_NEAR(SumOfEstimates(lanes, 1), 5 * 300, 15) << lanes;
  }
  EXPECT_NEAR(SumOfEstimates(1, 0.25), 5 * 300 / 4, 15);  // at rest nobody pays
}

TEST(BatchEnergyEstimateTest, BatchesThatBeginAndEndTogetherPayAlike) {
  BatchEnergyEstimate estimate;
  estimate.AddEnergy({AtSecond(-1), AtSecond(0), 100});
  double first = 0;
  double second = 0;
  for (int i = 0; i < 50; ++i) {
    first = estimate.AddBatch(AtSecond(i * 0.01), AtSecond((i + 1) * 0.01)).value();
    second = estimate.AddBatch(AtSecond(i * 0.01), AtSecond((i + 1) * 0.01)).value();
  }
  EXPECT_NEAR(first, 0.5, 0.01);
  EXPECT_NEAR(second, 0.5, 0.01);
}

}  // namespace
}  // namespace orbserve
