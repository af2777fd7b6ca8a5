// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/power_listing.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::PowerRail* AddRail(v1::GetServerInfoResponse* info, const std::string& name,
                       const std::string& scope, double watts, double joules) {
  v1::PowerRail* const rail = info->add_power_rails();
  rail->set_rail(name);
  rail->set_source("ina");
  rail->set_scope(scope);
  if (scope == "total") rail->set_device("cuda:0");
  rail->set_watts(watts);
  rail->set_joules(joules);
  return rail;
}

struct Readings {
  v1::GetServerInfoResponse first, now;
};

// Two readings, two seconds apart.
Readings Example() {
  Readings readings;
  AddRail(&readings.first, "VDD_IN", "total", 6, 100);
  AddRail(&readings.first, "VDD_SOC", "rail", 1, 20);
  AddRail(&readings.now, "VDD_IN", "total", 8.25, 117);
  AddRail(&readings.now, "VDD_SOC", "rail", 1.5, 22.5);
  v1::FrameEnergy* frames = readings.first.add_frame_energy();
  frames->set_device("cuda:0");
  frames->set_frames(100);
  frames->set_joules(1);
  frames = readings.now.add_frame_energy();
  frames->set_device("cuda:0");
  frames->set_frames(1100);
  frames->set_joules(9);
  v1::DeviceInfo& device = *readings.now.add_devices();
  device.set_device("cuda:0");
  device.set_name("Orin");
  device.set_power_mode("MAXN");
  device.set_clock_mode("fixed");
  v1::DeviceClock& clock = *device.add_clocks();
  clock.set_clock("gpu");
  clock.set_hertz(1.3e9);
  clock.set_limit_hertz(1.5e9);
  v1::DeviceTemperature& temperature = *device.add_temperatures();
  temperature.set_sensor("gpu");
  temperature.set_celsius(54.4);
  device.add_throttled("gpu-throttle-alert");
  return readings;
}

TEST(PowerListingTest, TableHasWattsJoulesAndMeanOfEveryRail) {
  const Readings readings = Example();
  EXPECT_EQ(PowerTable(readings.first, readings.now, 2),
            "cuda:0: Orin, MAXN, gpu 1.30 of 1.50 GHz, fixed clocks, gpu 54 C, throttled: "
            "gpu-throttle-alert\n"
            "rail     scope    source      watts       joules     mean/W\n"
            "VDD_IN   total    ina          8.25        17.00       8.50\n"
            "VDD_SOC  rail     ina          1.50         2.50       1.25\n"
            "cuda:0: 1000 frames, 8.000 mJ a frame\n");
}

TEST(PowerListingTest, JsonHasTheSameFigures) {
  const Readings readings = Example();
  EXPECT_EQ(
      PowerJson(readings.first, readings.now, 2),
      R"({"seconds":2,"rails":[{"rail":"VDD_IN","source":"ina","scope":"total","device":"cuda:0",)"
      R"("watts":8.25,"joules":17},{"rail":"VDD_SOC","source":"ina","scope":"rail","watts":1.5,)"
      R"("joules":2.5}],"frames":[{"device":"cuda:0","frames":1000,"joules":8}],)"
      R"("devices":[{"device":"cuda:0","name":"Orin","power_mode":"MAXN","clock_mode":"fixed",)"
      R"("clocks":[{"clock":"gpu","hertz":1.3e+09,"limit_hertz":1.5e+09}],)"
      R"("temperatures":[{"sensor":"gpu","celsius":54.4}],"throttled":["gpu-throttle-alert"]}]})");
}

TEST(PowerListingTest, ARailThatCannotBeReadHasNoFigure) {
  Readings readings = Example();
  readings.now.mutable_power_rails(0)->clear_watts();
  readings.now.mutable_power_rails(0)->clear_joules();
  EXPECT_THAT(PowerTable(readings.first, readings.now, 2),
              HasSubstr("VDD_IN   total    ina             -            -          -\n"));
  EXPECT_THAT(PowerJson(readings.first, readings.now, 2), Not(HasSubstr("8.25")));
}

// The server has started anew: its counters began again.
TEST(PowerListingTest, EnergyNeverGoesBack) {
  Readings readings = Example();
  readings.now.mutable_power_rails(0)->set_joules(3);
  readings.now.mutable_frame_energy(0)->set_frames(5);
  readings.now.mutable_frame_energy(0)->set_joules(0.05);
  const std::string table = PowerTable(readings.first, readings.now, 2);
  EXPECT_THAT(table, HasSubstr("VDD_IN   total    ina          8.25            -          -\n"));
  EXPECT_THAT(table, HasSubstr("cuda:0: 5 frames, 10.000 mJ a frame\n"));
}

}  // namespace
}  // namespace orbserve::cli
