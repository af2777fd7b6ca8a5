// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/rapl_power_reader.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "features/errors.h"
#include "server/telemetry/power/power_sensor.h"
#include "server/telemetry/sensors/sensor_file.h"

namespace orbserve {
namespace {

// A counter of microjoules that begins anew after its largest value.
class CounterSensor final : public PowerSensor {
 public:
  explicit CounterSensor(const std::string& zone)
      : counter_(zone + "/energy_uj"), largest_(zone + "/max_energy_range_uj") {}

 private:
  absl::StatusOr<PowerReading> Measure() override {
    ORBSERVE_ASSIGN_OR_RETURN(const int64_t count, counter_.Read());
    if (last_.has_value() && count < *last_) {
      ORBSERVE_ASSIGN_OR_RETURN(const int64_t largest, largest_.Read());
      before_ += largest;
    }
    last_ = count;
    return PowerReading{.energy_joules = static_cast<double>(before_ + count) * 1e-6};
  }

  SensorFile counter_;
  SensorFile largest_;
  std::optional<int64_t> last_;
  int64_t before_ = 0;  // microjoules of the rounds that are over
};

struct Zone {
  std::string rail;
  std::string scope;  // "package", "core", "uncore", "dram", "psys"
  std::shared_ptr<PowerSensor> sensor;
  bool is_readable = false;
};

// "package-0" is a package, "dram" lies in one.
std::string ScopeOf(const std::string& name) {
  return absl::StartsWith(name, "package") ? "package" : name;
}

}  // namespace

PowerReaders FindRaplPowerReaders(const std::string& device, const std::string& root) {
  PowerReaders found;
  const std::string folder = absl::StrCat(root, "/sys/class/powercap/");
  std::vector<Zone> zones;
  // intel-rapl:0 and, in it, intel-rapl:0:1. What is named intel-rapl-mmio counts the same again.
  for (const std::string& name : NamesIn(folder, "intel-rapl:")) {
    const std::string path = folder + name;
    const std::string own_name = ReadWord(path + "/name");
    if (own_name.empty()) continue;
    const size_t first_colon = name.find(':');
    const size_t second_colon = name.find(':', first_colon + 1);
    const bool is_inside = second_colon != std::string::npos;
    const std::string around =
        is_inside ? ReadWord(absl::StrCat(folder, name.substr(0, second_colon), "/name")) : "";
    Zone zone;
    zone.rail = is_inside ? absl::StrCat(around, ":", own_name) : own_name;
    zone.scope = ScopeOf(own_name);
    zone.sensor = std::make_shared<CounterSensor>(path);
    const absl::Status status = zone.sensor->Read().status();
    zone.is_readable = status.ok();
    if (!status.ok()) found.failures.push_back(absl::StrCat(zone.rail, ": ", status.message()));
    zones.push_back(std::move(zone));
  }

  std::vector<std::shared_ptr<PowerSensor>> parts;  // of the total
  std::vector<std::string> part_names;
  bool is_whole = true;
  for (const Zone& zone : zones) {
    if (zone.scope != "package" && zone.scope != "dram") continue;
    parts.push_back(zone.sensor);
    part_names.push_back(zone.rail);
    is_whole = is_whole && zone.is_readable;
  }
  const bool is_one_rail = is_whole && parts.size() == 1;
  const auto add = [&](std::string name, std::string scope,
                       std::vector<std::shared_ptr<PowerSensor>> sensors) {
    PowerRail rail;
    rail.rail = std::move(name);
    rail.source = "rapl";
    rail.counts_energy = true;
    rail.driver = "intel-rapl";
    rail.scope = std::move(scope);
    if (rail.scope == "total") rail.device = device;
    found.readers.push_back(MakeSumReader(std::move(rail), std::move(sensors)));
  };
  for (const Zone& zone : zones) {
    if (!zone.is_readable) continue;
    const bool is_total = is_one_rail && zone.sensor == parts.front();
    add(zone.rail, is_total ? "total" : zone.scope, {zone.sensor});
  }
  if (is_whole && parts.size() > 1) add(absl::StrJoin(part_names, "+"), "total", parts);
  return found;
}

}  // namespace orbserve
