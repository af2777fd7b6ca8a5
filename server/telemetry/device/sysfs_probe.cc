// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/telemetry/device/device_probe.h"
#include "server/telemetry/sensors/sensor_file.h"

namespace orbserve {
namespace {

// A clock, or several of one kind (the clusters of a processor), of which the mean is told.
struct ClockFiles {
  std::string clock;
  double hertz_per_unit = 1;
  std::vector<std::string> paths = {};  // of the files, but for "cur_freq", "min_freq", "max_freq"
};

// A file and the label of what it tells.
struct NamedFile {
  std::string name;
  std::string path;
};

// The files of a device.
struct DeviceFiles {
  std::vector<ClockFiles> clocks;
  // Of each sensor; the hottest is told.
  std::map<std::string, std::vector<std::string>> temperatures;
  std::vector<NamedFile> throttles;
  std::vector<NamedFile> throttle_events;
  std::map<int, std::string> power_modes;  // names of nvpmodel's modes, by number
  std::string power_mode_path;
};

// Appends the clock if one of its files can be read.
void AddClock(const ClockFiles& files, DeviceCondition& condition) {
  double current = 0;
  double highest = 0;
  int clocks = 0;
  int limits = 0;
  bool is_known = false;
  bool is_fixed = true;
  for (const std::string& path : files.paths) {
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
  condition.clocks.push_back({files.clock, current / clocks * files.hertz_per_unit, std::nullopt});
  if (limits == clocks) {
    condition.clocks.back().limit_hertz = highest / limits * files.hertz_per_unit;
  }
  if (condition.clock_mode.empty() && is_known) {
    condition.clock_mode = is_fixed ? "fixed" : "dynamic";
  }
}

// nvpmodel keeps the number of the active mode in this file: "pmode:0002 fmode:quiet".
std::string PowerModeOf(const DeviceFiles& files) {
  const std::string status = ReadWord(files.power_mode_path);
  for (absl::string_view part : absl::StrSplit(status, ' ')) {
    int id = 0;
    if (!absl::ConsumePrefix(&part, "pmode:") || !absl::SimpleAtoi(part, &id)) continue;
    const auto name = files.power_modes.find(id);
    return name == files.power_modes.end() ? "" : name->second;
  }
  return "";
}

DeviceCondition ConditionOf(const DeviceFiles& files) {
  constexpr double kDegreesPerUnit = 1e-3;
  constexpr double kOffCelsius = -100;  // sensors that are switched off read -256 degrees
  DeviceCondition condition;
  for (const ClockFiles& clock : files.clocks) AddClock(clock, condition);
  for (const auto& [sensor, paths] : files.temperatures) {
    double hottest = kOffCelsius;
    for (const std::string& path : paths) {
      const absl::StatusOr<int64_t> value = ReadNumber(path);
      if (value.ok()) hottest = std::max(hottest, static_cast<double>(*value) * kDegreesPerUnit);
    }
    if (hottest > kOffCelsius) condition.temperatures.push_back({sensor, hottest});
  }
  for (const NamedFile& file : files.throttles) {
    const auto state = ReadNumber(file.path);
    if (state.ok()) condition.throttles.push_back({file.name, *state > 0});
  }
  for (const NamedFile& file : files.throttle_events) {
    const auto count = ReadNumber(file.path);
    if (count.ok() && *count >= 0) condition.throttle_events.push_back({file.name, *count});
  }
  condition.power_mode = PowerModeOf(files);
  return condition;
}

// The names of nvpmodel's modes: lines "< POWER_MODEL ID=2 NAME=MAXN >", attributes in any order.
std::map<int, std::string> ReadPowerModes(const std::string& path) {
  std::map<int, std::string> names;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t<>\r"), absl::SkipEmpty());
    if (words.empty() || words[0] != "POWER_MODEL") continue;
    int id = -1;
    std::string name;
    for (absl::string_view word : words) {
      if (absl::ConsumePrefix(&word, "ID=")) {
        if (!absl::SimpleAtoi(word, &id)) id = -1;
      } else if (absl::ConsumePrefix(&word, "NAME=")) {
        name = std::string(word);
      }
    }
    if (id >= 0 && !name.empty()) names.emplace(id, std::move(name));
  }
  return names;
}

ClockFiles ProcessorClock(const std::string& root) {
  ClockFiles clock = {.clock = "cpu", .hertz_per_unit = 1e3};
  for (const std::string& policy : FoldersIn(root + "/sys/devices/system/cpu/cpufreq/", "policy")) {
    clock.paths.push_back(policy + "scaling_");
  }
  return clock;
}

// JetPack 4 and 5 name a GPU by its chip, later ones "17000000.gpu" and "gpu-gpc-0". "gpu-nvd-0" is
// the video decoder of a Thor.
bool IsGpu(const std::string& path) {
  constexpr std::array<absl::string_view, 6> kNames = {".gpu",   "gpu-gpc", ".gm20b",
                                                       ".gp10b", ".gv11b",  ".ga10b"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&path](absl::string_view part) { return absl::StrContains(path, part); });
}

void AddDevfreqClocks(const std::string& root, DeviceFiles& files) {
  ClockFiles gpu = {.clock = "gpu"};
  ClockFiles memory = {.clock = "memory"};
  for (const std::string& path : FoldersIn(root + "/sys/class/devfreq/", "")) {
    if (IsGpu(path)) gpu.paths.push_back(path);
    if (absl::EndsWith(path, "/bwmgr/")) memory.paths.push_back(path);
  }
  files.clocks = {std::move(gpu), std::move(memory)};
}

// The name of the sensor and the file of each thermal zone.
std::vector<NamedFile> ThermalZones(const std::string& root) {
  std::vector<NamedFile> zones;
  for (const std::string& zone : FoldersIn(root + "/sys/class/thermal/", "thermal_zone")) {
    zones.push_back({absl::AsciiStrToLower(ReadWord(zone + "type")), zone + "temp"});
  }
  return zones;
}

// Other zones ("PMIC-Die" with its constant value, the estimate for the fan, network cards) end
// differently.
void AddModuleTemperatures(const std::string& root, DeviceFiles& files) {
  for (const NamedFile& zone : ThermalZones(root)) {
    absl::string_view sensor = zone.name;
    if (absl::ConsumeSuffix(&sensor, "-thermal") || absl::ConsumeSuffix(&sensor, "-therm")) {
      files.temperatures[std::string(sensor)].push_back(zone.path);
    }
  }
}

// Only alerts say that clocks are held down. Other cooling devices are fans, or caps of the clock
// that move all the time.
void AddThrottleAlerts(const std::string& root, DeviceFiles& files) {
  for (const std::string& device : FoldersIn(root + "/sys/class/thermal/", "cooling_device")) {
    std::string type = ReadWord(device + "type");
    if (absl::EndsWith(type, "-alert")) {
      files.throttles.push_back({std::move(type), device + "cur_state"});
    }
  }
}

void AddOverCurrentEvents(const std::string& root, DeviceFiles& files) {
  for (const std::string& chip : FoldersIn(root + "/sys/class/hwmon/", "hwmon")) {
    if (ReadWord(chip + "name") != "soctherm_oc") continue;
    for (const std::string& file : NamesIn(chip, "oc")) {
      absl::string_view reason = file;
      if (absl::ConsumeSuffix(&reason, "_event_cnt")) {
        files.throttle_events.push_back({std::string(reason), chip + file});
      }
    }
  }
}

DeviceProbe ProbeOf(DeviceFiles files) {
  return [files = std::move(files)] { return ConditionOf(files); };
}

}  // namespace

bool IsJetson(const std::string& root) {
  return absl::StrContains(ReadWord(root + "/proc/device-tree/compatible"), "nvidia,tegra");
}

DeviceProbe MakeJetsonProbe(const std::string& root) {
  DeviceFiles files;
  AddDevfreqClocks(root, files);
  files.clocks.push_back(ProcessorClock(root));
  AddModuleTemperatures(root, files);
  AddThrottleAlerts(root, files);
  AddOverCurrentEvents(root, files);
  files.power_modes = ReadPowerModes(root + "/etc/nvpmodel.conf");
  files.power_mode_path = root + "/var/lib/nvpmodel/status";
  return ProbeOf(std::move(files));
}

DeviceProbe MakeProcessorProbe(const std::string& root) {
  DeviceFiles files;
  files.clocks.push_back(ProcessorClock(root));
  std::vector<std::string>& temperatures = files.temperatures["cpu"];
  for (const NamedFile& zone : ThermalZones(root)) {
    if (zone.name == "x86_pkg_temp" || zone.name == "cpu-thermal" || zone.name == "cpu_thermal") {
      temperatures.push_back(zone.path);
    }
  }
  for (const std::string& chip : FoldersIn(root + "/sys/class/hwmon/", "hwmon")) {
    if (ReadWord(chip + "name") == "k10temp") temperatures.push_back(chip + "temp1_input");
  }
  return ProbeOf(std::move(files));
}

}  // namespace orbserve
