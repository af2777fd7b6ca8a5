// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/jetson_power_reader.h"

#include <map>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/telemetry/power/power_sensor.h"
#include "tests/server/telemetry/sensors/fake_tree.h"

namespace orbserve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr char kModel[] = "/proc/device-tree/model";

// Watts of each rail; a rail that cannot be read is left out.
std::map<std::string, double> Watts(const PowerReaders& found) {
  std::map<std::string, double> watts;
  for (const auto& reader : found.readers) {
    const auto reading = reader->Read();
    if (!reading.ok()) continue;
    EXPECT_FALSE(reading->energy_joules.has_value());
    if (reading->power_watts.has_value()) watts[reader->rail().rail] = *reading->power_watts;
  }
  return watts;
}

// Name of the total; empty when there is none, or more than one.
std::string Total(const PowerReaders& found) {
  std::string total;
  for (const auto& reader : found.readers) {
    const PowerRail& rail = reader->rail();
    EXPECT_EQ(rail.scope == "total", !rail.device.empty());
    if (rail.scope != "total") continue;
    if (!total.empty()) return "";
    EXPECT_EQ(rail.device, "cuda:0");
    total = rail.rail;
  }
  return total;
}

void WaitForNextReading() {
  std::this_thread::sleep_for(PowerSensor::kSharedFor + std::chrono::milliseconds(5));
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

void AddAgxOrin(const FakeTree& tree) {
  tree.Write(kModel, "NVIDIA Jetson AGX Orin Developer Kit");
  tree.AddHwmonChannel(3, 1, "VDD_GPU_SOC", 19000, 200);
  tree.AddHwmonChannel(3, 2, "VDD_CPU_CV", 19000, 100);
  tree.AddHwmonChannel(3, 3, "VIN_SYS_5V0", 5000, 700);
  tree.AddHwmonChannel(4, 1, "NC", 0, 0);
  tree.AddHwmonChannel(4, 2, "VDDQ_VDD2_1V8AO", 5000, 90);
  tree.AddHwmonChannel(4, 3, "NC", 0, 0);
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
  EXPECT_THAT(Watts(found), ElementsAre(Pair("VDD_CPU_GPU_CV", testing::DoubleEq(19.904 * 0.064)),
                                        Pair("VDD_IN", testing::DoubleEq(19.912 * 0.328)),
                                        Pair("VDD_SOC", testing::DoubleEq(19.896 * 0.112))));
  const PowerRail& rail = found.readers[0]->rail();
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

TEST(JetsonPowerReaderTest, AgxOrinIsASumThatCountsNothingTwice) {
  const FakeTree tree;
  AddAgxOrin(tree);
  const PowerReaders found = FindJetsonPowerReaders("cuda:0", tree.root());
  EXPECT_THAT(found.failures, IsEmpty());
  EXPECT_EQ(Total(found), "VDD_GPU_SOC+VDD_CPU_CV+VIN_SYS_5V0");
  EXPECT_THAT(Watts(found),
              UnorderedElementsAre(
                  Pair("VDD_GPU_SOC", testing::DoubleNear(3.8, 1e-12)),
                  Pair("VDD_CPU_CV", testing::DoubleNear(1.9, 1e-12)),
                  Pair("VIN_SYS_5V0", testing::DoubleNear(3.5, 1e-12)),
                  Pair("VDDQ_VDD2_1V8AO", testing::DoubleNear(0.45, 1e-12)),
                  Pair("VDD_GPU_SOC+VDD_CPU_CV+VIN_SYS_5V0", testing::DoubleNear(9.2, 1e-12))));
}

TEST(JetsonPowerReaderTest, AgxXavierIsTheSumOfAllItsRails) {
  const FakeTree tree;
  int channel = 0;
  for (const char* rail : {"GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"}) {
    tree.AddHwmonChannel(2 + channel / 3, 1 + channel % 3, rail, 12000, 100 * (channel + 1));
    ++channel;
  }
  const PowerReaders found = FindJetsonPowerReaders("cuda:0", tree.root());
  EXPECT_EQ(Total(found), "GPU+CPU+SOC+CV+VDDRQ+SYS5V");
  EXPECT_NEAR(Watts(found)["GPU+CPU+SOC+CV+VDDRQ+SYS5V"], 12.0 * 2.1, 1e-9);
}

TEST(JetsonPowerReaderTest, XavierNxOfJetpack4) {
  const FakeTree tree;
  tree.AddIioChannel("7-0040", 0, 0, "VDD_IN", 4321);
  tree.AddIioChannel("7-0040", 0, 1, "VDD_CPU_GPU_CV", 1234);
  tree.AddIioChannel("7-0040", 0, 2, "VDD_SOC", 987);
  tree.Write("/sys/bus/i2c/drivers/ina3221x/bind", "");
  const PowerReaders found = FindJetsonPowerReaders("cuda:0", tree.root());
  EXPECT_THAT(found.failures, IsEmpty());
  EXPECT_EQ(Total(found), "VDD_IN");
  EXPECT_THAT(Watts(found), ElementsAre(Pair("VDD_CPU_GPU_CV", testing::DoubleEq(1.234)),
                                        Pair("VDD_IN", testing::DoubleEq(4.321)),
                                        Pair("VDD_SOC", testing::DoubleEq(0.987))));
  EXPECT_EQ(found.readers[0]->rail().driver, "ina3221x");
}

// Its carrier's rail VDD_MUX is shown and is no part of the module's total.
TEST(JetsonPowerReaderTest, Tx2OfJetpack4) {
  const FakeTree tree;
  tree.Write(kModel, "quill");
  tree.AddIioChannel("0-0040", 0, 0, "VDD_SYS_GPU", 152);
  tree.AddIioChannel("0-0040", 0, 1, "VDD_SYS_SOC", 458);
  tree.AddIioChannel("0-0040", 0, 2, "VDD_4V0_WIFI", 19);
  tree.AddIioChannel("0-0041", 1, 0, "VDD_IN", 2190);
  tree.AddIioChannel("0-0041", 1, 1, "VDD_SYS_CPU", 305);
  tree.AddIioChannel("0-0041", 1, 2, "VDD_SYS_DDR", 420);
  tree.AddIioChannel("0-0042", 2, 0, "VDD_MUX", 4800);
  const PowerReaders found = FindJetsonPowerReaders("cuda:0", tree.root());
  EXPECT_THAT(found.readers, SizeIs(7));
  EXPECT_EQ(Total(found), "VDD_IN");
}

TEST(JetsonPowerReaderTest, ThorMeasuresItsInputByAChipOfItsOwn) {
  const FakeTree tree;
  tree.Write(kModel, "NVIDIA Jetson AGX Thor Developer Kit");
  tree.AddHwmonChannel(1, 1, "VDD_GPU", 20000, 0);
  tree.AddHwmonChannel(1, 2, "VDD_CPU_SOC_MSS", 20000, 410);
  tree.AddHwmonChannel(1, 3, "VIN_SYS_5V0", 5000, 900);
  tree.Write("/sys/class/hwmon/hwmon2/name", "ina238");
  tree.Write("/sys/class/hwmon/hwmon2/label", "VIN");
  tree.Write("/sys/class/hwmon/hwmon2/power1_input", "31250000");
  const PowerReaders found = FindJetsonPowerReaders("cuda:0", tree.root());
  EXPECT_EQ(Total(found), "VIN");
  EXPECT_DOUBLE_EQ(Watts(found)["VIN"], 31.25);
}

TEST(JetsonPowerReaderTest, ThorWithoutThatChipHasNoTotal) {
  const FakeTree tree;
  tree.AddHwmonChannel(1, 1, "VDD_GPU", 20000, 0);
  tree.AddHwmonChannel(1, 2, "VDD_CPU_SOC_MSS", 20000, 410);
  tree.AddHwmonChannel(1, 3, "VIN_SYS_5V0", 5000, 900);
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
              ElementsAre(testing::AllOf(HasSubstr("VDD_SOC: "), HasSubstr("curr3_input"))));
  EXPECT_EQ(Total(found), "VDD_IN");
}

TEST(JetsonPowerReaderTest, ASumWithoutOneOfItsPartsIsAbsent) {
  const FakeTree tree;
  AddAgxOrin(tree);
  tree.Remove("/sys/class/hwmon/hwmon3/in2_input");
  const PowerReaders found = FindJetsonPowerReaders("cuda:0", tree.root());
  EXPECT_EQ(Total(found), "");
  EXPECT_THAT(found.readers, SizeIs(3));
}

TEST(JetsonPowerReaderTest, ASensorThatFailsForAWhileComesBack) {
  const FakeTree tree;
  AddAgxOrin(tree);
  const PowerReaders found = FindJetsonPowerReaders("cuda:0", tree.root());
  const std::string total = Total(found);
  EXPECT_THAT(Watts(found), testing::Contains(Pair(total, testing::_)));
  tree.Write("/sys/class/hwmon/hwmon3/curr1_input", "not a number");
  WaitForNextReading();
  const std::map<std::string, double> meanwhile = Watts(found);
  EXPECT_EQ(meanwhile.count("VDD_GPU_SOC"), 0u);
  EXPECT_EQ(meanwhile.count(total), 0u);
  EXPECT_EQ(meanwhile.count("VDD_CPU_CV"), 1u);
  tree.Write("/sys/class/hwmon/hwmon3/curr1_input", "300");
  WaitForNextReading();
  EXPECT_NEAR(Watts(found)[total], 19.0 * 0.3 + 1.9 + 3.5, 1e-9);
}

}  // namespace
}  // namespace orbserve
