// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/device/sysfs_probe.h"

#include <algorithm>
#include <array>
#include <deque>
#include <fstream>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "server/telemetry/sensors/sensor_file.h"

namespace orbserve {
namespace {

constexpr double kHertzPerKilohertz = 1e3;
constexpr double kDegreesPerUnit = 1e-3;
// Sensors that are switched off read -256 degrees.
constexpr double kLowestCelsius = -100;

// A clock, or several of one kind (the clusters of a processor), of which the mean is told.
class ClockFiles {
 public:
  ClockFiles(std::string clock, double hertz_per_unit)
      : clock_(std::move(clock)), hertz_per_unit_(hertz_per_unit) {}

  void Add(const std::string& current, const std::string& lowest, const std::string& highest) {
    files_.emplace_back(current, lowest, highest);
  }

  // Appends the clock if one of its files can be read.
  void Read(DeviceCondition& condition) {
    Mean current;
    Mean highest;
    bool is_known = false;
    bool is_fixed = true;
    for (Files& files : files_) {
      const absl::StatusOr<int64_t> now = files.current.Read();
      if (!now.ok()) continue;
      current.Add(*now);
      const absl::StatusOr<int64_t> most = files.highest.Read();
      if (!most.ok()) continue;
      highest.Add(*most);
      const absl::StatusOr<int64_t> least = files.lowest.Read();
      is_known = is_known || least.ok();
      is_fixed = is_fixed && least.ok() && *least == *most;
    }
    if (current.count == 0) return;
    DeviceCondition::Clock clock{clock_, current.value() * hertz_per_unit_, std::nullopt};
    if (highest.count == current.count) clock.limit_hertz = highest.value() * hertz_per_unit_;
    if (condition.clock_mode.empty() && is_known) {
      condition.clock_mode = is_fixed ? "fixed" : "dynamic";
    }
    condition.clocks.push_back(std::move(clock));
  }

 private:
  struct Files {
    Files(const std::string& now, const std::string& least, const std::string& most)
        : current(now), lowest(least), highest(most) {}
    SensorFile current, lowest, highest;
  };
  struct Mean {
    double sum = 0;
    int count = 0;
    void Add(int64_t unit) {
      sum += static_cast<double>(unit);
      ++count;
    }
    double value() const { return sum / count; }
  };

  const std::string clock_;
  const double hertz_per_unit_;
  std::deque<Files> files_;
};

// A file and the label of what it tells.
struct NamedFile {
  NamedFile(std::string label, const std::string& path) : name(std::move(label)), file(path) {}
  std::string name;
  SensorFile file;
};

class SysfsProbe final : public DeviceProbe {
 public:
  explicit SysfsProbe(std::string root) : root_(std::move(root)) {}

  void AddClock(ClockFiles clock) { clocks_.push_back(std::move(clock)); }
  void AddTemperature(std::string sensor, const std::string& path) {
    temperatures_.emplace_back(std::move(sensor), path);
  }
  void AddThrottle(std::string reason, const std::string& path) {
    throttles_.emplace_back(std::move(reason), path);
  }
  void AddThrottleEvents(std::string reason, const std::string& path) {
    events_.emplace_back(std::move(reason), path);
  }
  void SetPowerModes(std::map<int, std::string> names) { power_modes_ = std::move(names); }

  DeviceCondition Read() override {
    DeviceCondition condition;
    for (ClockFiles& clock : clocks_) clock.Read(condition);
    std::map<std::string, double> hottest;
    for (NamedFile& one : temperatures_) {
      const absl::StatusOr<int64_t> value = one.file.Read();
      if (!value.ok()) continue;
      const double celsius = static_cast<double>(*value) * kDegreesPerUnit;
      if (celsius < kLowestCelsius) continue;
      const auto [entry, is_new] = hottest.emplace(one.name, celsius);
      if (!is_new) entry->second = std::max(entry->second, celsius);
    }
    for (const auto& [sensor, celsius] : hottest) {
      condition.temperatures.push_back({sensor, celsius});
    }
    for (NamedFile& one : throttles_) {
      if (const auto state = one.file.Read(); state.ok()) {
        condition.throttles.push_back({one.name, *state > 0});
      }
    }
    for (NamedFile& one : events_) {
      if (const auto count = one.file.Read(); count.ok() && *count >= 0) {
        condition.throttle_events.push_back({one.name, *count});
      }
    }
    condition.power_mode = PowerMode();
    return condition;
  }

 private:
  // nvpmodel keeps the number of the active mode in this file: "pmode:0002 fmode:quiet".
  std::string PowerMode() const {
    if (power_modes_.empty()) return "";
    const std::string status = ReadWord(root_ + "/var/lib/nvpmodel/status");
    for (absl::string_view part : absl::StrSplit(status, ' ')) {
      int id = 0;
      if (!absl::ConsumePrefix(&part, "pmode:") || !absl::SimpleAtoi(part, &id)) continue;
      const auto name = power_modes_.find(id);
      return name == power_modes_.end() ? "" : name->second;
    }
    return "";
  }

  const std::string root_;
  std::deque<ClockFiles> clocks_;
  std::deque<NamedFile> temperatures_;  // those of one name are told as the hottest
  std::deque<NamedFile> throttles_;
  std::deque<NamedFile> events_;
  std::map<int, std::string> power_modes_;  // by number
};

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

// Adds the mean clock of the processors' clusters.
void AddProcessorClock(const std::string& root, SysfsProbe& probe) {
  ClockFiles clock("cpu", kHertzPerKilohertz);
  const std::string folder = root + "/sys/devices/system/cpu/cpufreq/";
  for (const std::string& policy : NamesIn(folder, "policy")) {
    const std::string path = absl::StrCat(folder, policy, "/scaling_");
    clock.Add(path + "cur_freq", path + "min_freq", path + "max_freq");
  }
  probe.AddClock(std::move(clock));
}

void AddDevfreqClocks(const std::string& root, SysfsProbe& probe) {
  const std::string folder = root + "/sys/class/devfreq/";
  // JetPack 4 and 5 name a GPU by its chip, later ones "17000000.gpu" and "gpu-gpc-0". "gpu-nvd-0"
  // is the video decoder of a Thor.
  const auto is_gpu = [](absl::string_view name) {
    constexpr std::array<absl::string_view, 6> kNames = {".gpu",   "gpu-gpc", ".gm20b",
                                                         ".gp10b", ".gv11b",  ".ga10b"};
    return std::any_of(kNames.begin(), kNames.end(),
                       [name](absl::string_view part) { return absl::StrContains(name, part); });
  };
  ClockFiles gpu("gpu", 1);
  ClockFiles memory("memory", 1);
  for (const std::string& name : NamesIn(folder, "")) {
    const std::string path = absl::StrCat(folder, name, "/");
    const auto add = [&path](ClockFiles& clock) {
      clock.Add(path + "cur_freq", path + "min_freq", path + "max_freq");
    };
    if (is_gpu(name)) add(gpu);
    if (name == "bwmgr") add(memory);
  }
  probe.AddClock(std::move(gpu));
  probe.AddClock(std::move(memory));
}

// Calls `take(sensor, path)` for each thermal zone. Other zones ("PMIC-Die" with its constant
// value, the estimate for the fan, network cards) end differently.
template <typename Take>
void ForEachZone(const std::string& root, const Take& take) {
  const std::string folder = root + "/sys/class/thermal/";
  for (const std::string& zone : NamesIn(folder, "thermal_zone")) {
    const std::string path = absl::StrCat(folder, zone, "/");
    take(absl::AsciiStrToLower(ReadWord(path + "type")), path + "temp");
  }
}

void AddModuleTemperatures(const std::string& root, SysfsProbe& probe) {
  ForEachZone(root, [&probe](const std::string& type, const std::string& path) {
    absl::string_view sensor = type;
    if (!absl::ConsumeSuffix(&sensor, "-thermal") && !absl::ConsumeSuffix(&sensor, "-therm"))
      return;
    probe.AddTemperature(std::string(sensor), path);
  });
}

// Only alerts say that clocks are held down. Other cooling devices are fans, or caps of the clock
// that move all the time.
void AddThrottleAlerts(const std::string& root, SysfsProbe& probe) {
  const std::string folder = root + "/sys/class/thermal/";
  for (const std::string& name : NamesIn(folder, "cooling_device")) {
    const std::string path = absl::StrCat(folder, name, "/");
    std::string type = ReadWord(path + "type");
    if (absl::EndsWith(type, "-alert")) probe.AddThrottle(std::move(type), path + "cur_state");
  }
}

void AddOverCurrentEvents(const std::string& root, SysfsProbe& probe) {
  const std::string folder = root + "/sys/class/hwmon/";
  for (const std::string& name : NamesIn(folder, "hwmon")) {
    const std::string chip = absl::StrCat(folder, name, "/");
    if (ReadWord(chip + "name") != "soctherm_oc") continue;
    for (const std::string& file : NamesIn(chip, "oc")) {
      absl::string_view reason = file;
      if (absl::ConsumeSuffix(&reason, "_event_cnt")) {
        probe.AddThrottleEvents(std::string(reason), chip + file);
      }
    }
  }
}

}  // namespace

bool IsJetson(const std::string& root) {
  return absl::StrContains(ReadWord(root + "/proc/device-tree/compatible"), "nvidia,tegra");
}

std::unique_ptr<DeviceProbe> MakeJetsonProbe(const std::string& root) {
  auto probe = std::make_unique<SysfsProbe>(root);
  AddDevfreqClocks(root, *probe);
  AddProcessorClock(root, *probe);
  AddModuleTemperatures(root, *probe);
  AddThrottleAlerts(root, *probe);
  AddOverCurrentEvents(root, *probe);
  probe->SetPowerModes(ReadPowerModes(root + "/etc/nvpmodel.conf"));
  return probe;
}

std::unique_ptr<DeviceProbe> MakeProcessorProbe(const std::string& root) {
  auto probe = std::make_unique<SysfsProbe>(root);
  AddProcessorClock(root, *probe);
  ForEachZone(root, [&probe](const std::string& type, const std::string& path) {
    if (type == "x86_pkg_temp" || type == "cpu-thermal" || type == "cpu_thermal") {
      probe->AddTemperature("cpu", path);
    }
  });
  const std::string folder = root + "/sys/class/hwmon/";
  for (const std::string& name : NamesIn(folder, "hwmon")) {
    const std::string chip = absl::StrCat(folder, name, "/");
    if (ReadWord(chip + "name") == "k10temp") probe->AddTemperature("cpu", chip + "temp1_input");
  }
  return probe;
}

}  // namespace orbserve
