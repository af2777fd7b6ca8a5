// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/power_source.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/telemetry/device/device_probe.h"
#include "tests/server/telemetry/sensors/jetson_trees.h"

namespace orbserve::cli {
namespace {

// Boards that answer NVML are found whatever the tree holds.
class PowerSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (FindLocalDevices().size() > 1) GTEST_SKIP() << "this machine has boards of its own";
  }
};

TEST_F(PowerSourceTest, TheSensorsOfThisMachineAreRead) {
  const JetsonModule& module = JetsonModules().front();
  const FakeTree tree;
  module.build(tree);
  const auto source = PowerSource::Open({}, tree.root());
  ASSERT_TRUE(source.ok()) << source.status();
  const auto info = (*source)->Read();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->power_rails_size(), static_cast<int>(module.watts.size()));
  for (const v1::PowerRail& rail : info->power_rails()) {
    EXPECT_NEAR(rail.watts(), module.watts.at(rail.rail()), 1e-9) << rail.rail();
    EXPECT_TRUE(rail.has_joules());
    EXPECT_EQ(rail.scope() == "total", rail.rail() == module.total) << rail.rail();
  }
  EXPECT_EQ(info->devices(0).board(), module.board);
  EXPECT_EQ(info->devices(0).power_mode(), module.power_mode);
  EXPECT_EQ(info->frame_energy_size(), 0);
}

TEST_F(PowerSourceTest, AMachineWithoutSensorsIsAnErrorWithItsReasons) {
  const FakeTree tree;
  EXPECT_EQ(PowerSource::Open({}, tree.root()).status().code(), absl::StatusCode::kNotFound);
  tree.AddZone("intel-rapl:0", "package-0", "1", "1000");
  tree.MakeUnreadable("/sys/class/powercap/intel-rapl:0/energy_uj");
  const absl::Status status = PowerSource::Open({}, tree.root()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("package-0: "));
}

TEST_F(PowerSourceTest, AServerThatCannotBeReachedIsUnavailable) {
  CommonOptions options;
  options.server = "127.0.0.1:1";
  EXPECT_EQ(PowerSource::Open(options).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace orbserve::cli
