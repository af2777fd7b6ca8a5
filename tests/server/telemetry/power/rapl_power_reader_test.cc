// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/power_reader.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/telemetry/power/energy.h"
#include "tests/server/telemetry/sensors/fake_tree.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kLargest[] = "262143328850";

const PowerReader* ReaderOf(const PowerReaders& found, const std::string& rail) {
  for (const PowerReader& reader : found.readers) {
    if (reader.rail.rail == rail) return &reader;
  }
  return nullptr;
}

double Joules(const PowerReaders& found, const std::string& rail) {
  const auto reading = ReaderOf(found, rail)->read();
  if (!reading.ok()) return -1;
  EXPECT_FALSE(reading->power_watts.has_value());
  return reading->energy_joules.value_or(-1);
}

TEST(RaplPowerReaderTest, NothingWhereThereIsNone) {
  const FakeTree tree;
  const PowerReaders found = FindRaplPowerReaders("cpu", tree.root());
  EXPECT_THAT(found.readers, IsEmpty());
  EXPECT_THAT(found.failures, IsEmpty());
}

TEST(RaplPowerReaderTest, OnePackageIsItsOwnTotal) {
  const FakeTree tree;
  tree.AddZone("intel-rapl:0", "package-0", "5000000", kLargest);
  tree.AddZone("intel-rapl:0:0", "core", "3000000", kLargest);
  tree.AddZone("intel-rapl-mmio:0", "package-0", "5000000", kLargest);  // the same once more
  const PowerReaders found = FindRaplPowerReaders("cpu", tree.root());
  ASSERT_THAT(found.readers, SizeIs(2));
  const PowerRail& total = found.readers[0].rail;
  EXPECT_EQ(total.rail, "package-0");
  EXPECT_EQ(total.source, "rapl");
  EXPECT_EQ(total.scope, "total");
  EXPECT_EQ(total.device, "cpu");
  EXPECT_TRUE(total.counts_energy);
  const PowerRail& core = found.readers[1].rail;
  EXPECT_EQ(core.rail, "package-0:core");
  EXPECT_EQ(core.scope, "core");
  EXPECT_EQ(core.device, "");
  EXPECT_DOUBLE_EQ(Joules(found, "package-0"), 5.0);
  EXPECT_DOUBLE_EQ(Joules(found, "package-0:core"), 3.0);
}

TEST(RaplPowerReaderTest, TwoPackagesAndTheirMemoryAreATotal) {
  const FakeTree tree;
  tree.AddZone("intel-rapl:0", "package-0", "5000000", kLargest);
  tree.AddZone("intel-rapl:0:0", "dram", "1000000", kLargest);
  tree.AddZone("intel-rapl:1", "package-1", "7000000", kLargest);
  tree.AddZone("intel-rapl:1:0", "dram", "2000000", kLargest);
  tree.AddZone("intel-rapl:2", "psys", "90000000", kLargest);
  const PowerReaders found = FindRaplPowerReaders("cpu", tree.root());
  ASSERT_THAT(found.readers, SizeIs(6));
  const std::string total = "package-0+package-1+package-0:dram+package-1:dram";
  ASSERT_NE(ReaderOf(found, total), nullptr);
  EXPECT_EQ(ReaderOf(found, total)->rail.scope, "total");
  EXPECT_DOUBLE_EQ(Joules(found, total), 15.0);
  EXPECT_EQ(ReaderOf(found, "package-0")->rail.scope, "package");
  EXPECT_EQ(ReaderOf(found, "package-0")->rail.device, "");
  EXPECT_EQ(ReaderOf(found, "psys")->rail.scope, "psys");
}

TEST(RaplPowerReaderTest, ACounterThatWrapsGoesOn) {
  const FakeTree tree;
  tree.AddZone("intel-rapl:0", "package-0", "262143000000", kLargest);
  const PowerReaders found = FindRaplPowerReaders("cpu", tree.root());
  EXPECT_DOUBLE_EQ(Joules(found, "package-0"), 262143.0);
  tree.Write("/sys/class/powercap/intel-rapl:0/energy_uj", "671150");
  EXPECT_DOUBLE_EQ(Joules(found, "package-0"), 262144.0);
  tree.Write("/sys/class/powercap/intel-rapl:0/energy_uj", "262143000000");
  EXPECT_DOUBLE_EQ(Joules(found, "package-0"), 524286.32885);
  tree.Write("/sys/class/powercap/intel-rapl:0/energy_uj", "1000000");
  EXPECT_DOUBLE_EQ(Joules(found, "package-0"), 524287.6577);
}

TEST(RaplPowerReaderTest, EnergyAcrossAWrapIsExact) {
  const FakeTree tree;
  tree.AddZone("intel-rapl:0", "package-0", "262143000000", kLargest);
  const PowerReaders found = FindRaplPowerReaders("cpu", tree.root());
  EnergyMeter meter;
  SteadyTime time;
  const auto look = [&] {
    time += std::chrono::seconds(1);
    meter.Add(time, {.energy_joules = Joules(found, "package-0")});
  };
  look();
  tree.Write("/sys/class/powercap/intel-rapl:0/energy_uj", "671150");
  look();
  EXPECT_NEAR(meter.total_joules(), 1.0, 1e-9);
}

TEST(RaplPowerReaderTest, FilesForRootOnlyAreNamedAndAbsent) {
  const FakeTree tree;
  tree.AddZone("intel-rapl:0", "package-0", "5000000", kLargest);
  tree.MakeUnreadable("/sys/class/powercap/intel-rapl:0/energy_uj");
  tree.AddZone("intel-rapl:1", "package-1", "5000000", kLargest);
  const PowerReaders found = FindRaplPowerReaders("cpu", tree.root());
  ASSERT_THAT(found.readers, SizeIs(1));
  EXPECT_EQ(found.readers[0].rail.scope, "package");
  EXPECT_THAT(found.failures,
              ElementsAre(::testing::AllOf(HasSubstr("package-0: "), HasSubstr("energy_uj"))));
}

TEST(RaplPowerReaderTest, AWrapOfUnknownRangeIsAFailure) {
  const FakeTree tree;
  tree.AddZone("intel-rapl:0", "package-0", "5000000", kLargest);
  tree.Remove("/sys/class/powercap/intel-rapl:0/max_energy_range_uj");
  const PowerReaders found = FindRaplPowerReaders("cpu", tree.root());
  EXPECT_DOUBLE_EQ(Joules(found, "package-0"), 5.0);
  tree.Write("/sys/class/powercap/intel-rapl:0/energy_uj", "1000");
  EXPECT_DOUBLE_EQ(Joules(found, "package-0"), -1);
}

}  // namespace
}  // namespace orbserve
