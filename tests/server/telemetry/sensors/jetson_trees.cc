// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/server/telemetry/sensors/jetson_trees.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "gtest/gtest.h"

namespace orbserve {
namespace {

using std::string_literals::operator""s;

// `compatible` of a device tree: texts with a zero byte behind each.
void WriteBoard(const FakeTree& tree, const std::string& model, const std::string& chip) {
  tree.Write("/proc/device-tree/model", model + '\0');
  tree.Write("/proc/device-tree/compatible", "nvidia,p0000"s + '\0' + "nvidia," + chip + '\0');
}

void WriteDevfreq(const FakeTree& tree, const std::string& name, const std::string& now,
                  const std::string& least, const std::string& most) {
  const std::string folder = "/sys/class/devfreq/" + name + "/";
  tree.Write(folder + "cur_freq", now);
  tree.Write(folder + "min_freq", least);
  tree.Write(folder + "max_freq", most);
}

void WriteCpu(const FakeTree& tree, int policy, const std::string& kilohertz) {
  const std::string folder =
      "/sys/devices/system/cpu/cpufreq/policy" + std::to_string(policy) + "/scaling_";
  tree.Write(folder + "cur_freq", kilohertz);
  tree.Write(folder + "min_freq", "115200");
  tree.Write(folder + "max_freq", "2201600");
}

// Zones in the order of the list; an empty value is a sensor that cannot be read.
void WriteZones(const FakeTree& tree,
                std::initializer_list<std::pair<const char*, const char*>> zones) {
  int number = 0;
  for (const auto& [type, value] : zones) {
    const std::string folder = "/sys/class/thermal/thermal_zone" + std::to_string(number++) + "/";
    tree.Write(folder + "type", type);
    if (*value == '\0') {
      tree.MakeUnreadable(folder + "temp");
    } else {
      tree.Write(folder + "temp", value);
    }
  }
}

void WriteCooling(const FakeTree& tree,
                  std::initializer_list<std::pair<const char*, const char*>> devices) {
  int number = 0;
  for (const auto& [type, state] : devices) {
    const std::string folder = "/sys/class/thermal/cooling_device" + std::to_string(number++) + "/";
    tree.Write(folder + "type", type);
    tree.Write(folder + "cur_state", state);
  }
}

void WriteOverCurrent(const FakeTree& tree, int hwmon, const std::string& first,
                      const std::string& second, const std::string& third) {
  const std::string chip = "/sys/class/hwmon/hwmon" + std::to_string(hwmon) + "/";
  tree.Write(chip + "name", "soctherm_oc");
  tree.Write(chip + "oc1_event_cnt", first);
  tree.Write(chip + "oc1_throt_en", "1");
  tree.Write(chip + "oc2_event_cnt", second);
  tree.Write(chip + "oc3_event_cnt", third);
}

void WriteModes(const FakeTree& tree, const std::string& modes, const std::string& active) {
  tree.Write("/etc/nvpmodel.conf", "# FUSE settings\n< PARAM TYPE=FILE NAME=CPU_ONLINE >\n" +
                                       modes + "\n< PM_CONFIG DEFAULT=0 >");
  tree.Write("/var/lib/nvpmodel/status", active);
}

// Sums that the driver of JetPack 5 and later adds to the channels of a chip.
void WriteSums(const FakeTree& tree, int hwmon) {
  const std::string chip = "/sys/class/hwmon/hwmon" + std::to_string(hwmon) + "/";
  tree.Write(chip + "in7_label", "sum of shunt voltages");
  tree.Write(chip + "in7_input", "1234");
  tree.Write(chip + "curr4_input", "504");
}

// JetPack 4: three chips, the third on the carrier.
void BuildTx2(const FakeTree& tree) {
  WriteBoard(tree, "quill", "tegra186");
  tree.AddIioChannel("0-0040", 0, 0, "VDD_SYS_GPU", 152);
  tree.AddIioChannel("0-0040", 0, 1, "VDD_SYS_SOC", 458);
  tree.AddIioChannel("0-0040", 0, 2, "VDD_4V0_WIFI", 19);
  tree.AddIioChannel("0-0041", 1, 0, "VDD_IN", 2190);
  tree.AddIioChannel("0-0041", 1, 1, "VDD_SYS_CPU", 305);
  tree.AddIioChannel("0-0041", 1, 2, "VDD_SYS_DDR", 420);
  tree.AddIioChannel("0-0042", 2, 0, "VDD_MUX", 4800);
  tree.AddIioChannel("0-0042", 2, 1, "VDD_5V0_IO_SYS", 1200);
  tree.AddIioChannel("0-0042", 2, 2, "VDD_3V3_SYS", 0);
  WriteDevfreq(tree, "17000000.gp10b", "1300500000", "1300500000", "1300500000");
  WriteCpu(tree, 0, "2000000");
  WriteCpu(tree, 1, "1000000");
  WriteZones(tree, {{"BCPU-therm", "42000"},
                    {"MCPU-therm", "42500"},
                    {"GPU-therm", "39500"},
                    {"PMIC-Die", "100000"},
                    {"thermal-fan-est", "41000"}});
  WriteCooling(tree, {{"pwm-fan", "3"}, {"gpu-balanced", "2"}});
  WriteModes(tree, "< POWER_MODEL ID=0 NAME=MAXN >\n< POWER_MODEL ID=1 NAME=MAXQ >", "pmode:0001");
}

// JetPack 5: the sum of two chips is the total.
void BuildAgxXavier(const FakeTree& tree) {
  WriteBoard(tree, "Jetson-AGX", "tegra194");
  tree.AddHwmonChannel(2, 1, "GPU", 19000, 100);
  tree.AddHwmonChannel(2, 2, "CPU", 19000, 200);
  tree.AddHwmonChannel(2, 3, "SOC", 19000, 50);
  tree.AddHwmonChannel(3, 1, "CV", 19000, 0);
  tree.AddHwmonChannel(3, 2, "VDDRQ", 19000, 30);
  tree.AddHwmonChannel(3, 3, "SYS5V", 19000, 120);
  WriteSums(tree, 2);
  WriteSums(tree, 3);
  WriteDevfreq(tree, "17000000.gv11b", "318750000", "114750000", "1377000000");
  WriteCpu(tree, 0, "1190400");
  WriteZones(tree, {{"CPU-therm", "36000"},
                    {"GPU-therm", "-256000"},
                    {"AUX-therm", "35500"},
                    {"Tboard_tegra", "34000"}});
  WriteModes(tree,
             "< POWER_MODEL ID=0 NAME=MAXN >\n< POWER_MODEL ID=2 NAME=MODE_15W >\n"
             "< POWER_MODEL NAME=MODE_30W_ALL ID=3 >",
             "pmode:0003 fmode:quiet");
}

// JetPack 4: the driver tells power itself.
void BuildXavierNx(const FakeTree& tree) {
  WriteBoard(tree, "NVIDIA Jetson Xavier NX Developer Kit", "tegra194");
  tree.AddIioChannel("7-0040", 0, 0, "VDD_IN", 4321);
  tree.AddIioChannel("7-0040", 0, 1, "VDD_CPU_GPU_CV", 1234);
  tree.AddIioChannel("7-0040", 0, 2, "VDD_SOC", 987);
  // Entries of the driver's folder that are no chips.
  tree.Write("/sys/bus/i2c/drivers/ina3221x/bind", "");
  tree.Write("/sys/bus/i2c/drivers/ina3221x/uevent", "");
  WriteDevfreq(tree, "17000000.gv11b", "1109250000", "114750000", "1109250000");
  WriteCpu(tree, 0, "1420800");
  WriteZones(tree, {{"CPU-therm", "45500"}, {"GPU-therm", "44000"}, {"PMIC-Die", "50000"}});
  // Nobody has set a mode, and the file is not there.
  tree.Write("/etc/nvpmodel.conf", "< POWER_MODEL ID=0 NAME=MODE_15W_2CORE >");
}

// JetPack 6: channels without connection, and a rail that hangs off another one.
void BuildAgxOrin(const FakeTree& tree) {
  WriteBoard(tree, "NVIDIA Jetson AGX Orin Developer Kit", "tegra234");
  tree.Write("/sys/class/hwmon/hwmon0/name", "pwmfan");
  tree.AddHwmonChannel(3, 1, "VDD_GPU_SOC", 19000, 200);
  tree.AddHwmonChannel(3, 2, "VDD_CPU_CV", 19000, 100);
  tree.AddHwmonChannel(3, 3, "VIN_SYS_5V0", 5000, 700);
  tree.AddHwmonChannel(4, 1, "NC", 24, 0);
  tree.AddHwmonChannel(4, 2, "VDDQ_VDD2_1V8AO", 5000, 90);
  tree.AddHwmonChannel(4, 3, "NC", 0, 0);
  WriteSums(tree, 3);
  WriteSums(tree, 4);
  WriteOverCurrent(tree, 5, "0", "15", "37");
  WriteDevfreq(tree, "17000000.gpu", "1300500000", "306000000", "1300500000");
  WriteDevfreq(tree, "15340000.vic", "115200000", "115200000", "729600000");
  WriteCpu(tree, 0, "2201600");
  WriteCpu(tree, 4, "1100800");
  WriteCpu(tree, 8, "1100800");
  WriteZones(tree, {{"cpu-thermal", "51687"},
                    {"gpu-thermal", "48500"},
                    {"cv0-thermal", ""},
                    {"cv1-thermal", "-256000"},
                    {"tj-thermal", "52000"}});
  WriteCooling(tree, {{"pwm-fan", "3"},
                      {"cpu-throttle-alert", "0"},
                      {"gpu-throttle-alert", "1"},
                      {"hot-surface-alert", "0"},
                      {"cpufreq-cpu0", "4"}});
  WriteModes(tree, "< POWER_MODEL ID=0 NAME=MAXN >\n< POWER_MODEL ID=2 NAME=MODE_30W >",
             "pmode:0000");
}

// JetPack 6, Orin NX and Orin Nano: one chip with the module's input.
void BuildOrinNano(const FakeTree& tree) {
  WriteBoard(tree, "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super", "tegra234");
  tree.AddHwmonChannel(1, 1, "VDD_IN", 19912, 328);
  tree.AddHwmonChannel(1, 2, "VDD_CPU_GPU_CV", 19904, 64);
  tree.AddHwmonChannel(1, 3, "VDD_SOC", 19896, -8);
  WriteSums(tree, 1);
  WriteOverCurrent(tree, 2, "0", "0", "not a number");
  WriteDevfreq(tree, "17000000.gpu", "1020000000", "1020000000", "1020000000");
  WriteCpu(tree, 0, "1728000");
  WriteZones(tree, {{"cpu-thermal", "42250"}, {"gpu-thermal", "43000"}, {"tj-thermal", "43000"}});
  WriteCooling(tree, {{"pwm-fan", "1"}, {"gpu-throttle-alert", "0"}});
  WriteModes(tree, "< POWER_MODEL ID=0 NAME=15W >\n< POWER_MODEL ID=2 NAME=MAXN_SUPER >",
             "pmode:0002");
}

// JetPack 7: the input has a chip of its own, and the GPU's rail is off at rest.
void BuildThor(const FakeTree& tree) {
  WriteBoard(tree, "NVIDIA Jetson AGX Thor Developer Kit", "tegra264");
  tree.AddHwmonChannel(6, 1, "VDD_GPU", 19700, -20);
  tree.AddHwmonChannel(6, 2, "VDD_CPU_SOC_MSS", 20000, 410);
  tree.AddHwmonChannel(6, 3, "VIN_SYS_5V0", 5000, 900);
  WriteSums(tree, 6);
  tree.Write("/sys/class/hwmon/hwmon10/name", "ina238");
  tree.Write("/sys/class/hwmon/hwmon10/label", "VIN");
  tree.Write("/sys/class/hwmon/hwmon10/in0_input", "3");
  tree.Write("/sys/class/hwmon/hwmon10/in1_input", "19968");
  tree.Write("/sys/class/hwmon/hwmon10/curr1_input", "1565");
  tree.Write("/sys/class/hwmon/hwmon10/power1_input", "31250000");
  WriteOverCurrent(tree, 5, "0", "8", "813");
  WriteDevfreq(tree, "gpu-gpc-0", "1575000000", "1575000000", "1575000000");
  WriteDevfreq(tree, "gpu-nvd-0", "900000000", "300000000", "1692000000");
  WriteCpu(tree, 0, "2601000");
  WriteZones(tree, {{"gpu-thermal", ""}, {"tj-thermal", "64500"}});
  WriteCooling(tree,
               {{"pwm-fan", "0"}, {"soc012-throttle-alert", "0"}, {"devfreq-gpu-gpc-0", "18"}});
  WriteModes(tree, "< POWER_MODEL ID=0 NAME=MAXN >\n< POWER_MODEL ID=1 NAME=120W >", "pmode:0001");
}

constexpr char kIn1[] = "/sys/class/hwmon/hwmon1/curr1_input";

}  // namespace

const std::vector<JetsonModule>& JetsonModules() {
  static const auto* const modules = new std::vector<JetsonModule>{
      {"Tx2",
       &BuildTx2,
       "VDD_IN",
       {{"VDD_SYS_GPU", 0.152},
        {"VDD_SYS_SOC", 0.458},
        {"VDD_4V0_WIFI", 0.019},
        {"VDD_IN", 2.19},
        {"VDD_SYS_CPU", 0.305},
        {"VDD_SYS_DDR", 0.42},
        {"VDD_MUX", 4.8},
        {"VDD_5V0_IO_SYS", 1.2},
        {"VDD_3V3_SYS", 0}},
       "/sys/bus/i2c/drivers/ina3221x/0-0041/iio:device1/in_power0_input",
       1e-3,
       "quill",
       "MAXQ",
       "fixed",
       1300.5e6,
       1300.5e6,
       1.5e9,
       {{"bcpu", 42}, {"mcpu", 42.5}, {"gpu", 39.5}},
       {},
       {}},
      {"AgxXavier",
       &BuildAgxXavier,
       "GPU+CPU+SOC+CV+VDDRQ+SYS5V",
       {{"GPU", 1.9},
        {"CPU", 3.8},
        {"SOC", 0.95},
        {"CV", 0},
        {"VDDRQ", 0.57},
        {"SYS5V", 2.28},
        {"GPU+CPU+SOC+CV+VDDRQ+SYS5V", 9.5}},
       "/sys/class/hwmon/hwmon3/curr1_input",  // of CV, which was 0
       19e-3,
       "Jetson-AGX",
       "MODE_30W_ALL",
       "dynamic",
       318.75e6,
       1377e6,
       1190.4e6,
       {{"cpu", 36}, {"aux", 35.5}},
       {},
       {}},
      {"XavierNx",
       &BuildXavierNx,
       "VDD_IN",
       {{"VDD_IN", 4.321}, {"VDD_CPU_GPU_CV", 1.234}, {"VDD_SOC", 0.987}},
       "/sys/bus/i2c/drivers/ina3221x/7-0040/iio:device0/in_power0_input",
       1e-3,
       "NVIDIA Jetson Xavier NX Developer Kit",
       "",
       "dynamic",
       1109.25e6,
       1109.25e6,
       1420.8e6,
       {{"cpu", 45.5}, {"gpu", 44}},
       {},
       {}},
      {"AgxOrin",
       &BuildAgxOrin,
       "VDD_GPU_SOC+VDD_CPU_CV+VIN_SYS_5V0",
       {{"VDD_GPU_SOC", 3.8},
        {"VDD_CPU_CV", 1.9},
        {"VIN_SYS_5V0", 3.5},
        {"VDDQ_VDD2_1V8AO", 0.45},
        {"VDD_GPU_SOC+VDD_CPU_CV+VIN_SYS_5V0", 9.2}},
       "/sys/class/hwmon/hwmon3/curr1_input",
       19e-3,
       "NVIDIA Jetson AGX Orin Developer Kit",
       "MAXN",
       "dynamic",
       1300.5e6,
       1300.5e6,
       1467733333.3333333,
       {{"cpu", 51.687}, {"gpu", 48.5}, {"tj", 52}},
       {{"cpu-throttle-alert", false}, {"gpu-throttle-alert", true}, {"hot-surface-alert", false}},
       {{"oc1", 0}, {"oc2", 15}, {"oc3", 37}}},
      {"OrinNano",
       &BuildOrinNano,
       "VDD_IN",
       {{"VDD_IN", 6.531136}, {"VDD_CPU_GPU_CV", 1.273856}, {"VDD_SOC", -0.159168}},
       kIn1,
       19.912e-3,
       "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super",
       "MAXN_SUPER",
       "fixed",
       1020e6,
       1020e6,
       1728e6,
       {{"cpu", 42.25}, {"gpu", 43}, {"tj", 43}},
       {{"gpu-throttle-alert", false}},
       {{"oc1", 0}, {"oc2", 0}}},
      {"Thor",
       &BuildThor,
       "VIN",
       {{"VDD_GPU", -0.394}, {"VDD_CPU_SOC_MSS", 8.2}, {"VIN_SYS_5V0", 4.5}, {"VIN", 31.25}},
       "/sys/class/hwmon/hwmon10/power1_input",
       1e-6,
       "NVIDIA Jetson AGX Thor Developer Kit",
       "120W",
       "fixed",
       1575e6,
       1575e6,
       2601e6,
       {{"tj", 64.5}},
       {{"soc012-throttle-alert", false}},
       {{"oc1", 0}, {"oc2", 8}, {"oc3", 813}}},
  };
  return *modules;
}

void BuildJetson(const std::string& name, const FakeTree& tree) {
  const std::vector<JetsonModule>& modules = JetsonModules();
  const auto module = std::find_if(modules.begin(), modules.end(),
                                   [&](const JetsonModule& one) { return one.name == name; });
  ASSERT_NE(module, modules.end()) << name;
  module->build(tree);
}

}  // namespace orbserve
