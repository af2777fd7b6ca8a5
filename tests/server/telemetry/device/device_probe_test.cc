// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/device/device_probe.h"

#include <dlfcn.h>

#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/telemetry/device/device_monitor.h"
#include "server/telemetry/metrics.h"
#include "tests/server/telemetry/sensors/fake_nvml.h"
#include "tests/server/telemetry/sensors/jetson_trees.h"

namespace orbserve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kNoNvml[] = "/no/libnvidia-ml.so.1";
const DeviceDescription kCpu = {"cpu", "Some Processor", "", ""};
const DeviceDescription kModuleGpu = {"cuda:0", "Orin", "", "0000:00:00.0"};

const DeviceCondition::Clock* ClockOf(const DeviceCondition& condition, const std::string& name) {
  for (const auto& clock : condition.clocks) {
    if (clock.clock == name) return &clock;
  }
  return nullptr;
}

class JetsonProbeTest : public ::testing::TestWithParam<JetsonModule> {};

TEST_P(JetsonProbeTest, ClocksTemperaturesThrottlingAndPowerModeAreRead) {
  const JetsonModule& module = GetParam();
  const FakeTree tree;
  module.build(tree);
  EXPECT_EQ(BoardName(tree.root()), module.board);
  const auto probes = FindDeviceProbes({kModuleGpu}, tree.root(), kNoNvml);
  ASSERT_THAT(probes, SizeIs(1));
  ASSERT_NE(probes[0], nullptr);
  const DeviceCondition condition = probes[0]();
  EXPECT_EQ(condition.power_mode, module.power_mode);
  EXPECT_EQ(condition.clock_mode, module.clock_mode);
  const DeviceCondition::Clock* const gpu = ClockOf(condition, "gpu");
  ASSERT_NE(gpu, nullptr);
  EXPECT_DOUBLE_EQ(gpu->hertz, module.gpu_hertz);
  EXPECT_DOUBLE_EQ(gpu->limit_hertz.value(), module.gpu_limit_hertz);
  const DeviceCondition::Clock* const cpu = ClockOf(condition, "cpu");
  ASSERT_NE(cpu, nullptr);
  EXPECT_DOUBLE_EQ(cpu->hertz, module.cpu_hertz);
  EXPECT_EQ(ClockOf(condition, "memory"), nullptr);
  std::map<std::string, double> celsius;
  for (const auto& one : condition.temperatures) celsius[one.sensor] = one.celsius;
  EXPECT_EQ(celsius, module.celsius);
  std::map<std::string, bool> throttled;
  for (const auto& one : condition.throttles) throttled[one.reason] = one.is_active;
  EXPECT_EQ(throttled, module.throttled);
  std::map<std::string, int> events;
  for (const auto& one : condition.throttle_events) {
    events[one.reason] = static_cast<int>(one.count);
  }
  EXPECT_EQ(events, module.throttle_events);
}

INSTANTIATE_TEST_SUITE_P(Modules, JetsonProbeTest, ::testing::ValuesIn(JetsonModules()),
                         [](const auto& module) { return module.param.name; });

TEST(DeviceProbeTest, AModuleDescribesItsFirstDeviceAlone) {
  const FakeTree tree;
  JetsonModules().front().build(tree);
  const auto probes =
      FindDeviceProbes({kCpu, {"cuda:1", "card", "", "0000:01:00.0"}}, tree.root(), kNoNvml);
  ASSERT_THAT(probes, SizeIs(2));
  EXPECT_NE(ClockOf(probes[0](), "gpu"), nullptr);
  EXPECT_EQ(probes[1], nullptr);
}

TEST(DeviceProbeTest, ThePowerModeMayChange) {
  const FakeTree tree;
  JetsonModules().front().build(tree);
  const auto probes = FindDeviceProbes({kModuleGpu}, tree.root(), kNoNvml);
  EXPECT_EQ(probes[0]().power_mode, "MAXQ");
  tree.Write("/var/lib/nvpmodel/status", "pmode:0000");
  EXPECT_EQ(probes[0]().power_mode, "MAXN");
  tree.Write("/var/lib/nvpmodel/status", "pmode:0009");  // a mode without a name
  EXPECT_EQ(probes[0]().power_mode, "");
}

TEST(DeviceProbeTest, TheMemoryClockOfAThorIsRead) {
  const FakeTree tree;
  JetsonModules().back().build(tree);
  tree.Write("/sys/class/devfreq/bwmgr/cur_freq", "4266000000");
  const DeviceCondition condition = FindDeviceProbes({kModuleGpu}, tree.root(), kNoNvml)[0]();
  const DeviceCondition::Clock* const memory = ClockOf(condition, "memory");
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->hertz, 4266e6);
  EXPECT_FALSE(memory->limit_hertz.has_value());
}

TEST(DeviceProbeTest, AProcessorOfAPc) {
  const FakeTree tree;
  tree.Write("/sys/class/dmi/id/product_name", "PowerEdge R750");
  for (int i = 0; i < 2; ++i) {
    const std::string policy = "/sys/devices/system/cpu/cpufreq/policy" + std::to_string(i) + "/";
    tree.Write(policy + "scaling_cur_freq", std::to_string(1000000 * (i + 1)));
    tree.Write(policy + "scaling_min_freq", "800000");
    tree.Write(policy + "scaling_max_freq", "3500000");
    const std::string zone = "/sys/class/thermal/thermal_zone" + std::to_string(i) + "/";
    tree.Write(zone + "type", "x86_pkg_temp");
    tree.Write(zone + "temp", std::to_string(50000 + 1000 * i));
  }
  tree.Write("/sys/class/thermal/thermal_zone2/type", "iwlwifi_1");
  tree.Write("/sys/class/thermal/thermal_zone2/temp", "70000");
  EXPECT_EQ(BoardName(tree.root()), "PowerEdge R750");
  const DeviceCondition condition = FindDeviceProbes({kCpu}, tree.root(), kNoNvml)[0]();
  ASSERT_THAT(condition.clocks, SizeIs(1));
  EXPECT_EQ(condition.clocks[0].hertz, 1.5e9);
  EXPECT_EQ(condition.clocks[0].limit_hertz.value(), 3.5e9);
  ASSERT_THAT(condition.temperatures, SizeIs(1));
  EXPECT_EQ(condition.temperatures[0].celsius, 51);  // of the hotter package
  EXPECT_EQ(condition.clock_mode, "dynamic");
  EXPECT_THAT(condition.throttles, IsEmpty());
}

TEST(DeviceProbeTest, AProcessorOfAmd) {
  const FakeTree tree;
  tree.Write("/sys/class/hwmon/hwmon2/name", "k10temp");
  tree.Write("/sys/class/hwmon/hwmon2/temp1_input", "61250");
  const DeviceCondition condition = FindDeviceProbes({kCpu}, tree.root(), kNoNvml)[0]();
  ASSERT_THAT(condition.temperatures, SizeIs(1));
  EXPECT_EQ(condition.temperatures[0].celsius, 61.25);
}

// Holds the library open, so that its script lasts as long as the test.
class FakeNvml {
 public:
  explicit FakeNvml(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    script_ = reinterpret_cast<FakeNvmlScriptFunction>(dlsym(handle_, "fake_nvml_script"))();
    *script_ = {};
    FakeNvmlBoard& board = script_->boards[0];
    board.pci_bus_id = "0000:1b:00.0";
    board.clock_megahertz[0] = 1755;
    board.clock_megahertz[2] = 2619;
    board.max_clock_megahertz[0] = 1980;
    board.max_clock_megahertz[2] = 2619;
    board.celsius = 54;
    board.memory_celsius = 61;
    board.supported_throttle_reasons = 0xec;
    board.throttle_reasons = 0x4 | 0x1;
  }
  ~FakeNvml() { dlclose(handle_); }
  FakeNvmlBoard& board() { return script_->boards[0]; }

 private:
  void* const handle_;
  FakeNvmlScript* script_;
};

// The page of metrics of a board of NVML.
std::string PageOf(const char* library) {
  const std::vector<DeviceDescription> devices = {{"cuda:0", "Some Board", "", "0000:1b:00.0"}};
  const FakeTree tree;
  Metrics metrics({.version = "1", .devices = {{"cuda", "cuda:0"}}});
  const DeviceMonitor monitor("cuda", "Some Product", devices,
                              FindDeviceProbes(devices, tree.root(), library));
  metrics.AddSource([&monitor](MetricPage& page) { monitor.Collect(page); });
  return metrics.Render();
}

TEST(DeviceMonitorTest, ABoardOfNvmlHasAllItsSeries) {
  FakeNvml nvml(ORBSERVE_FAKE_NVML);
  const std::string page = PageOf(ORBSERVE_FAKE_NVML);
  EXPECT_THAT(
      page,
      AllOf(HasSubstr("orbserve_device_info{backend=\"cuda\",device=\"cuda:0\","
                      "model=\"Some Board\",board=\"Some Product\",power_mode=\"\",clocks=\"\"} 1"),
            HasSubstr("orbserve_device_clock_hertz{device=\"cuda:0\",clock=\"gpu\"} 1755000000"),
            HasSubstr("orbserve_device_clock_hertz{device=\"cuda:0\",clock=\"memory\"} 2619000000"),
            HasSubstr("clock_limit_hertz{device=\"cuda:0\",clock=\"gpu\"} 1980000000"),
            HasSubstr("temperature_celsius{device=\"cuda:0\",sensor=\"gpu\"} 54"),
            HasSubstr("temperature_celsius{device=\"cuda:0\",sensor=\"memory\"} 61"),
            HasSubstr("throttled{device=\"cuda:0\",reason=\"power_cap\"} 1"),
            HasSubstr("throttled{device=\"cuda:0\",reason=\"thermal_hardware\"} 0"),
            Not(HasSubstr("sync_boost")), Not(HasSubstr("throttle_events"))));
}

TEST(LocalDevicesTest, BoardsComeFirstThenTheProcessor) {
  FakeNvml nvml(ORBSERVE_FAKE_NVML);
  const auto devices = FindLocalDevices(ORBSERVE_FAKE_NVML);
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[0].device, "gpu:0");
  EXPECT_EQ(devices[0].name, "Some Board");
  EXPECT_EQ(devices[0].pci_bus_id, "0000:1b:00.0");
  EXPECT_EQ(devices[1].device, "cpu");
  EXPECT_THAT(FindLocalDevices(kNoNvml), SizeIs(1));
}

// Orin answers so: the library is there, and no query works.
TEST(DeviceMonitorTest, WhatIsNotSupportedIsAbsent) {
  FakeNvml nvml(ORBSERVE_FAKE_NVML);
  nvml.board().condition_result = kNvmlNotSupported;
  const std::string page = PageOf(ORBSERVE_FAKE_NVML);
  EXPECT_THAT(page, HasSubstr("orbserve_device_info{"));
  EXPECT_THAT(page, Not(HasSubstr("orbserve_device_clock")));
  EXPECT_THAT(page, Not(HasSubstr("celsius")));
  EXPECT_THAT(page, Not(HasSubstr("throttled")));
}

TEST(DeviceMonitorTest, ABoardWithoutASensorInItsMemory) {
  FakeNvml nvml(ORBSERVE_FAKE_NVML);
  nvml.board().memory_celsius_result = kNvmlNotSupported;
  const std::string page = PageOf(ORBSERVE_FAKE_NVML);
  EXPECT_THAT(page, AllOf(HasSubstr("sensor=\"gpu\"} 54"), Not(HasSubstr("sensor=\"memory\""))));
}

TEST(DeviceMonitorTest, AnOldDriverLacksSomeQueries) {
  FakeNvml nvml(ORBSERVE_FAKE_NVML_OLD);
  const std::string page = PageOf(ORBSERVE_FAKE_NVML_OLD);
  EXPECT_THAT(page, AllOf(HasSubstr("sensor=\"gpu\"} 54"), Not(HasSubstr("sensor=\"memory\"")),
                          HasSubstr("reason=\"sync_boost\"} 0")));
}

TEST(DeviceMonitorTest, AnOldConditionIsNotShown) {
  SteadyTime now = SteadyTime() + std::chrono::hours(1);
  const DeviceProbe probe = [reads = 0]() mutable {
    DeviceCondition condition;
    condition.temperatures.push_back({"gpu", 40.0 + reads++});
    return condition;
  };
  DeviceMonitor monitor("cuda", "", {{"cuda:0", "card", "", ""}}, {probe}, [&now] { return now; });
  EXPECT_EQ(monitor.ConditionOf("cuda:0")->temperatures[0].celsius, 40);
  EXPECT_FALSE(monitor.ConditionOf("cuda:1").has_value());
  now += std::chrono::seconds(6);
  EXPECT_FALSE(monitor.ConditionOf("cuda:0").has_value());
  monitor.Poll();
  EXPECT_EQ(monitor.ConditionOf("cuda:0")->temperatures[0].celsius, 41);
}

TEST(DeviceMonitorTest, ADeviceWithoutProbeHasItsInfoAlone) {
  Metrics metrics({.version = "1", .devices = {{"cuda", "cuda:0"}}});
  const DeviceMonitor monitor("cuda", "", {{"cuda:0", "card", "", ""}}, {});
  metrics.AddSource([&monitor](MetricPage& page) { monitor.Collect(page); });
  const std::string page = metrics.Render();
  EXPECT_THAT(page, HasSubstr("orbserve_device_info{"));
  EXPECT_THAT(page, Not(HasSubstr("orbserve_device_throttled")));
}

}  // namespace
}  // namespace orbserve
