// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// jetson_modules_test has the rails, their watts and the total of every module.

#include "server/telemetry/power/power_reader.h"

#include <map>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/telemetry/sensors/fake_tree.h"
#include "tests/server/telemetry/sensors/jetson_trees.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr char kModel[] = "/proc/device-tree/model";

// Watts of each rail; a rail that cannot be read is left out.
std::map<std::string, double> Watts(const PowerReaders& found) {
  std::map<std::string, double> watts;
  for (const auto& reader : found.readers) {
    const auto reading = reader.read();
    if (!reading.ok()) continue;
    EXPECT_FALSE(reading->energy_joules.has_value());
    if (reading->power_watts.has_value()) watts[reader.rail.rail] = *reading->power_watts;
  }
  return watts;
}

// Name of the total; empty when there is none, or more than one.
std::string Total(const PowerReaders& found) {
  std::string total;
  for (const auto& reader : found.readers) {
    const PowerRail& rail = reader.rail;
    EXPECT_EQ(rail.scope == "total", !rail.device.empty());
    if (rail.scope != "total") continue;
    if (!total.empty()) return "";
    EXPECT_EQ(rail.device, "cuda:0");
    total = rail.rail;
  }
  return total;
}

void AddOrinNx(const FakeTree& tree, int hwmon) {
  tree.Write(kModel, std::string("NVIDIA Jetson Orin NX Engineering Reference Developer Kit"));
  tree.AddHwmonChannel(hwmon, 1, "VDD_IN", 19912, 328);
  tree.AddHwmonChannel(hwmon, 2, "VDD_CPU_GPU_CV", 19904, 64);
  tree.AddHwmonChannel(hwmon, 3, "VDD_SOC", 19896, 112);
  // Sums over the channels, which are no rails.
  const std::string chip = "/sys/class/hwmon/hwmon" + std::to_string(hwmon) + "/";
  tree.Write(chip + "in7_label", "sum of shunt voltages");
  tree.Write(chip + "in7_input", "1234");
  tree.Write(chip + "curr4_input", "504");
}

TEST(JetsonPowerReaderTest, NothingWhereThereAreNoChips) {
  const FakeTree tree;
  tree.Write("/sys/class/hwmon/hwmon0/name", "coretemp");
  const PowerReaders found = FindJetsonPowerReaders("cuda:0", tree.root());
  EXPECT_THAT(found.readers, IsEmpty());
  EXPECT_THAT(found.failures, IsEmpty());
}

TEST(JetsonPowerReaderTest, OrinNxMeasuresItsInput) {
  const FakeTree tree;
  tree.Write("/sys/class/hwmon/hwmon0/name", "pwmfan");
  AddOrinNx(tree, 1);
  const PowerReaders found = FindJetsonPowerReaders("cuda:0", tree.root());
  EXPECT_THAT(found.failures, IsEmpty());
  EXPECT_EQ(Total(found), "VDD_IN");
  EXPECT_THAT(Watts(found), ElementsAre(Pair("VDD_CPU_GPU_CV", ::testing::DoubleEq(19.904 * 0.064)),
                                        Pair("VDD_IN", ::testing::DoubleEq(19.912 * 0.328)),
                                        Pair("VDD_SOC", ::testing::DoubleEq(19.896 * 0.112))));
  const PowerRail& rail = found.readers[0].rail;
  EXPECT_EQ(rail.source, "ina");
  EXPECT_EQ(rail.driver, "ina3221");
  EXPECT_EQ(rail.model, "NVIDIA Jetson Orin NX Engineering Reference Developer Kit");
  EXPECT_FALSE(rail.counts_energy);
}

// Numbers of hwmon devices differ from start to start, and 10 comes before 9 in a list of names.
TEST(JetsonPowerReaderTest, NumbersOfDevicesDoNotMatter) {
  const FakeTree tree;
  tree.Write("/sys/class/hwmon/hwmon9/name", "tmp451");
  AddOrinNx(tree, 10);
  EXPECT_EQ(Total(FindJetsonPowerReaders("cuda:0", tree.root())), "VDD_IN");
}

TEST(JetsonPowerReaderTest, ARailNamesTheDriverOfItsJetpack) {
  for (const auto& [module, driver] :
       {std::pair("XavierNx", "ina3221x"), std::pair("AgxXavier", "ina3221")}) {
    const FakeTree tree;
    BuildJetson(module, tree);
    const PowerReaders found = FindJetsonPowerReaders("cuda:0", tree.root());
    ASSERT_FALSE(found.readers.empty());
    EXPECT_EQ(found.readers[0].rail.driver, driver);
  }
}

TEST(JetsonPowerReaderTest, ThorWithoutTheChipOfItsInputHasNoTotal) {
  const FakeTree tree;
  BuildJetson("Thor", tree);
  tree.Write("/sys/class/hwmon/hwmon10/name", "tmp451");
  const PowerReaders found = FindJetsonPowerReaders("cuda:0", tree.root());
  EXPECT_EQ(Total(found), "");
  EXPECT_THAT(found.readers, SizeIs(3));
  EXPECT_THAT(found.failures, ElementsAre(HasSubstr("VDD_GPU, VDD_CPU_SOC_MSS, VIN_SYS_5V0")));
}

// At rest the current of some rails reads below zero.
TEST(JetsonPowerReaderTest, NegativePowerIsToldAsItIsMeasured) {
  const FakeTree tree;
  AddOrinNx(tree, 1);
  tree.AddHwmonChannel(1, 2, "VDD_CPU_GPU_CV", 19600, -20);
  EXPECT_DOUBLE_EQ(Watts(FindJetsonPowerReaders("cuda:0", tree.root()))["VDD_CPU_GPU_CV"], -0.392);
}

TEST(JetsonPowerReaderTest, ARailThatCannotBeReadIsAbsent) {
  const FakeTree tree;
  AddOrinNx(tree, 1);
  tree.MakeUnreadable("/sys/class/hwmon/hwmon1/curr3_input");
  const PowerReaders found = FindJetsonPowerReaders("cuda:0", tree.root());
  EXPECT_THAT(found.readers, SizeIs(2));
  EXPECT_THAT(found.failures,
              ElementsAre(::testing::AllOf(HasSubstr("VDD_SOC: "), HasSubstr("curr3_input"))));
  EXPECT_EQ(Total(found), "VDD_IN");
}

TEST(JetsonPowerReaderTest, ASumWithoutOneOfItsPartsIsAbsent) {
  const FakeTree tree;
  BuildJetson("AgxOrin", tree);
  tree.Remove("/sys/class/hwmon/hwmon3/in2_input");
  const PowerReaders found = FindJetsonPowerReaders("cuda:0", tree.root());
  EXPECT_EQ(Total(found), "");
  EXPECT_THAT(found.readers, SizeIs(3));
}

TEST(JetsonPowerReaderTest, ASensorThatFailsForAWhileComesBack) {
  const FakeTree tree;
  BuildJetson("AgxOrin", tree);
  const PowerReaders found = FindJetsonPowerReaders("cuda:0", tree.root());
  const std::string total = Total(found);
  EXPECT_THAT(Watts(found), ::testing::Contains(Pair(total, ::testing::_)));
  tree.Write("/sys/class/hwmon/hwmon3/curr1_input", "not a number");
  const std::map<std::string, double> meanwhile = Watts(found);
  EXPECT_EQ(meanwhile.count("VDD_GPU_SOC"), 0u);
  EXPECT_EQ(meanwhile.count(total), 0u);
  EXPECT_EQ(meanwhile.count("VDD_CPU_CV"), 1u);
  tree.Write("/sys/class/hwmon/hwmon3/curr1_input", "300");
  EXPECT_NEAR(Watts(found)[total], 19.0 * 0.3 + 1.9 + 3.5, 1e-9);
}

}  // namespace
}  // namespace orbserve
