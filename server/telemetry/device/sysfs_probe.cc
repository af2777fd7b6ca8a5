// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/telemetry/device/device_probe.h"
#include "server/telemetry/sensors/sensor_file.h"

namespace orbserve {
namespace {

// Tells a clock, or the mean of several of one kind (the clusters of a processor). `paths`: of
// their files, but for "cur_freq", "min_freq" and "max_freq". Does nothing if none can be read.
void AddClock(const char* name, const std::vector<std::string>& paths, double hertz_per_unit,
              DeviceCondition& condition) {
  double current = 0;
  double highest = 0;
  int clocks = 0;
  int limits = 0;
  bool is_known = false;
  bool is_fixed = true;
  for (const std::string& path : paths) {
    const absl::StatusOr<int64_t> now = ReadNumber(path + "cur_freq");
    if (!now.ok()) continue;
    current += static_cast<double>(*now);
    ++clocks;
    const absl::StatusOr<int64_t> most = ReadNumber(path + "max_freq");
    if (!most.ok()) continue;
    highest += static_cast<double>(*most);
    ++limits;
    const absl::StatusOr<int64_t> least = ReadNumber(path + "min_freq");
    is_known = is_known || least.ok();
    is_fixed = is_fixed && least.ok() && *least == *most;
  }
  if (clocks == 0) return;
  condition.clocks.push_back({name, current / clocks * hertz_per_unit, std::nullopt});
  if (limits == clocks) condition.clocks.back().limit_hertz = highest / limits * hertz_per_unit;
  if (condition.clock_mode.empty() && is_known) {
    condition.clock_mode = is_fixed ? "fixed" : "dynamic";
  }
}

void AddProcessorClock(const std::string& root, DeviceCondition& condition) {
  std::vector<std::string> policies =
      FoldersIn(root + "/sys/devices/system/cpu/cpufreq/", "policy");
  for (std::string& policy : policies) policy += "scaling_";
  AddClock("cpu", policies, 1e3, condition);
}

// JetPack 4 and 5 name a GPU by its chip, later ones "17000000.gpu" and "gpu-gpc-0". "gpu-nvd-0" is
// the video decoder of a Thor.
bool IsGpu(const std::string& path) {
  constexpr std::array<absl::string_view, 6> kNames = {".gpu",   "gpu-gpc", ".gm20b",
                                                       ".gp10b", ".gv11b",  ".ga10b"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&path](absl::string_view part) { return absl::StrContains(path, part); });
}

void AddDevfreqClocks(const std::string& root, DeviceCondition& condition) {
  std::vector<std::string> gpus;
  std::vector<std::string> memories;
  for (const std::string& path : FoldersIn(root + "/sys/class/devfreq/", "")) {
    if (IsGpu(path)) gpus.push_back(path);
    if (absl::EndsWith(path, "/bwmgr/")) memories.push_back(path);
  }
  AddClock("gpu", gpus, 1, condition);
  AddClock("memory", memories, 1, condition);
}

// Tells the temperature in a file, or the hottest of a sensor's files.
void AddTemperature(absl::string_view sensor, const std::string& path, DeviceCondition& condition) {
  constexpr int64_t kOffMillidegrees = -100'000;  // sensors that are switched off read -256 degrees
  const absl::StatusOr<int64_t> value = ReadNumber(path);
  if (!value.ok() || *value <= kOffMillidegrees) return;
  const double celsius = static_cast<double>(*value) * 1e-3;
  auto& all = condition.temperatures;
  const auto known = std::lower_bound(all.begin(), all.end(), sensor,
                                      [](const auto& one, auto name) { return one.sensor < name; });
  if (known == all.end() || known->sensor != sensor) {
    all.insert(known, {std::string(sensor), celsius});
  } else {
    known->celsius = std::max(known->celsius, celsius);
  }
}

// Calls `tell(sensor, path)` with the name of the sensor and the file of each thermal zone.
template <typename Tell>
void ForEachThermalZone(const std::string& root, Tell tell) {
  for (const std::string& zone : FoldersIn(root + "/sys/class/thermal/", "thermal_zone")) {
    tell(absl::AsciiStrToLower(ReadWord(zone + "type")), zone + "temp");
  }
}

// Only alerts say that clocks are held down. Other cooling devices are fans, or caps of the clock
// that move all the time.
void AddThrottleAlerts(const std::string& root, DeviceCondition& condition) {
  for (const std::string& device : FoldersIn(root + "/sys/class/thermal/", "cooling_device")) {
    const std::string type = ReadWord(device + "type");
    if (!absl::EndsWith(type, "-alert")) continue;
    const auto state = ReadNumber(device + "cur_state");
    if (state.ok()) condition.throttles.push_back({type, *state > 0});
  }
}

void AddOverCurrentEvents(const std::string& root, DeviceCondition& condition) {
  for (const std::string& chip : FoldersIn(root + "/sys/class/hwmon/", "hwmon")) {
    if (ReadWord(chip + "name") != "soctherm_oc") continue;
    for (const std::string& file : NamesIn(chip, "oc")) {
      absl::string_view reason = file;
      if (!absl::ConsumeSuffix(&reason, "_event_cnt")) continue;
      const auto count = ReadNumber(chip + file);
      if (count.ok() && *count >= 0) {
        condition.throttle_events.push_back({std::string(reason), *count});
      }
    }
  }
}

// nvpmodel keeps the number of the active mode in a file, "pmode:0002 fmode:quiet", and the names
// in another: lines "< POWER_MODEL ID=2 NAME=MAXN >", attributes in any order.
std::string PowerMode(const std::string& root) {
  int active = -1;
  const std::string status = ReadWord(root + "/var/lib/nvpmodel/status");
  for (absl::string_view part : absl::StrSplit(status, ' ')) {
    if (absl::ConsumePrefix(&part, "pmode:") && absl::SimpleAtoi(part, &active)) break;
  }
  std::ifstream file(root + "/etc/nvpmodel.conf");
  for (std::string line; std::getline(file, line);) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t<>\r"), absl::SkipEmpty());
    if (words.empty() || words[0] != "POWER_MODEL") continue;
    int id = -1;
    absl::string_view name;
    for (absl::string_view word : words) {
      if (absl::ConsumePrefix(&word, "NAME=")) name = word;
      if (absl::ConsumePrefix(&word, "ID=") && !absl::SimpleAtoi(word, &id)) id = -1;
    }
    if (id >= 0 && id == active && !name.empty()) return std::string(name);
  }
  return "";
}

}  // namespace

bool IsJetson(const std::string& root) {
  return absl::StrContains(ReadWord(root + "/proc/device-tree/compatible"), "nvidia,tegra");
}

DeviceCondition ReadJetson(const std::string& root) {
  DeviceCondition condition;
  AddDevfreqClocks(root, condition);
  AddProcessorClock(root, condition);
  // Other zones ("PMIC-Die" with its constant value, the estimate for the fan, network cards) end
  // differently.
  ForEachThermalZone(root, [&](absl::string_view sensor, const std::string& path) {
    if (absl::ConsumeSuffix(&sensor, "-thermal") || absl::ConsumeSuffix(&sensor, "-therm")) {
      AddTemperature(sensor, path, condition);
    }
  });
  AddThrottleAlerts(root, condition);
  AddOverCurrentEvents(root, condition);
  condition.power_mode = PowerMode(root);
  return condition;
}

DeviceCondition ReadProcessor(const std::string& root) {
  DeviceCondition condition;
  AddProcessorClock(root, condition);
  ForEachThermalZone(root, [&](absl::string_view sensor, const std::string& path) {
    if (sensor == "x86_pkg_temp" || sensor == "cpu-thermal" || sensor == "cpu_thermal") {
      AddTemperature("cpu", path, condition);
    }
  });
  for (const std::string& chip : FoldersIn(root + "/sys/class/hwmon/", "hwmon")) {
    if (ReadWord(chip + "name") == "k10temp") {
      AddTemperature("cpu", chip + "temp1_input", condition);
    }
  }
  return condition;
}

}  // namespace orbserve
