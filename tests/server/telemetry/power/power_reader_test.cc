// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/power_reader.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/telemetry/sensors/fake_tree.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> TotalsOf(const PowerReaders& found) {
  std::vector<std::string> totals;
  for (const auto& reader : found.readers) {
    const PowerRail& rail = reader.rail;
    if (rail.scope == "total") totals.push_back(rail.device + " " + rail.rail);
  }
  return totals;
}

TEST(PowerReaderTest, ACpuBackendHasThePackages) {
  const FakeTree tree;
  tree.AddZone("intel-rapl:0", "package-0", "5000000", "9000000");
  EXPECT_THAT(TotalsOf(FindPowerReaders({{"cpu", "A Processor", "", ""}}, tree.root())),
              ElementsAre("cpu package-0"));
}

// Frames of a device get the energy of one rail, also where a board has several sources.
TEST(PowerReaderTest, AJetsonHasItsModuleAndNothingElse) {
  const FakeTree tree;
  tree.AddHwmonChannel(1, 1, "VDD_IN", 19912, 328);
  tree.AddZone("intel-rapl:0", "package-0", "5000000", "9000000");
  EXPECT_THAT(TotalsOf(FindPowerReaders({{"cpu", "A Processor", "", ""}}, tree.root())),
              ElementsAre("cpu VDD_IN"));
  EXPECT_THAT(TotalsOf(FindPowerReaders({{"cuda:0", "Orin", "", "0000:00:00.0"}}, tree.root())),
              ElementsAre("cuda:0 VDD_IN"));
}

TEST(PowerReaderTest, NoDeviceHasNoRails) {
  const FakeTree tree;
  tree.AddZone("intel-rapl:0", "package-0", "5000000", "9000000");
  EXPECT_TRUE(FindPowerReaders({}, tree.root()).readers.empty());
}

}  // namespace
}  // namespace orbserve
