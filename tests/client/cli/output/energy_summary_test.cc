// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/energy_summary.h"

#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

v1::GetServerInfoResponse InfoWith(double total_joules, double rail_joules) {
  v1::GetServerInfoResponse info;
  v1::PowerRail* rail = info.add_power_rails();
  rail->set_rail("VDD_IN");
  rail->set_scope("total");
  rail->set_joules(total_joules);
  rail = info.add_power_rails();
  rail->set_rail("VDD_SOC");
  rail->set_scope("rail");
  rail->set_joules(rail_joules);
  return info;
}

v1::Execution Frame(double joules) {
  v1::Execution execution;
  execution.set_energy_joules(joules);
  return execution;
}

TEST(EnergySummaryTest, FramesAreAMeanAndTotalsADifference) {
  EnergySummary energy;
  energy.Add(Frame(0.004));
  energy.Add(Frame(0.008));
  energy.Add({});  // an answer from the time before the first reading
  const EnergySummary::Result result = energy.Finish(InfoWith(10, 2), InfoWith(16, 3), 2);
  EXPECT_EQ(result.frames, 3);
  EXPECT_DOUBLE_EQ(result.joules_per_frame.value(), 0.006);
  EXPECT_DOUBLE_EQ(result.device_joules.value(), 6);  // of the total alone
  EXPECT_EQ(EnergyText(result),
            "energy  6.000 mJ a frame, estimated by the answers\n"
            "power   6.00 J of the devices in 2.00 s = 3.00 W, 2000.000 mJ a frame with rest\n");
  EXPECT_EQ(EnergyJson(result),
            R"({"power":{"frames":3,"seconds":2,"joules_per_frame":0.006,"device_joules":6}})");
}

TEST(EnergySummaryTest, WithoutSensorsThereIsNoFigure) {
  EnergySummary energy;
  energy.Add({});
  const EnergySummary::Result result = energy.Finish({}, {}, 2);
  EXPECT_FALSE(result.joules_per_frame.has_value());
  EXPECT_FALSE(result.device_joules.has_value());
  EXPECT_EQ(EnergyText(result), "power   no rail can be read\n");
  EXPECT_EQ(EnergyJson(result), R"({"power":{"frames":1,"seconds":2}})");
}

TEST(EnergySummaryTest, AServerThatStartedAnewHasNoDifference) {
  EXPECT_FALSE(
      EnergySummary().Finish(InfoWith(10, 2), InfoWith(1, 0), 2).device_joules.has_value());
}

}  // namespace
}  // namespace orbserve::cli
