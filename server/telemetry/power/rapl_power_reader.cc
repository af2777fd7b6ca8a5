// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "server/telemetry/power/power_reader.h"
#include "server/telemetry/sensors/sensor_file.h"

namespace orbserve {
namespace {

// A counter of microjoules that begins anew after its largest value.
ReadPower CounterOf(const std::string& zone) {
  return [zone, last = std::optional<int64_t>(),
          before = int64_t{0}]() mutable -> absl::StatusOr<PowerReading> {
    ORBSERVE_ASSIGN_OR_RETURN(const int64_t count, ReadNumber(zone + "/energy_uj"));
    if (last.has_value() && count < *last) {
      ORBSERVE_ASSIGN_OR_RETURN(const int64_t largest, ReadNumber(zone + "/max_energy_range_uj"));
      before += largest;
    }
    last = count;
    return PowerReading{.energy_joules = static_cast<double>(before + count) * 1e-6};
  };
}

}  // namespace

PowerReaders FindRaplPowerReaders(const std::string& device, const std::string& root) {
  const std::string folder = root + "/sys/class/powercap/";
  std::vector<PowerReader> zones;
  std::vector<std::string> total;
  // intel-rapl:0 and, in it, intel-rapl:0:1. What is named intel-rapl-mmio counts the same again.
  for (const std::string& zone : NamesIn(folder, "intel-rapl:")) {
    const std::string name = ReadWord(absl::StrCat(folder, zone, "/name"));
    if (name.empty()) continue;
    PowerRail rail = {.rail = name,
                      .source = "rapl",
                      .scope = absl::StartsWith(name, "package") ? "package" : name,
                      .counts_energy = true,
                      .driver = "intel-rapl"};
    if (const size_t end = zone.rfind(':'); end != zone.find(':')) {
      const std::string around = ReadWord(absl::StrCat(folder, zone.substr(0, end), "/name"));
      rail.rail = absl::StrCat(around, ":", name);
    }
    if (rail.scope == "package" || rail.scope == "dram") total.push_back(rail.rail);
    zones.push_back({std::move(rail), CounterOf(folder + zone)});
  }
  return KeepReadable(std::move(zones), total, device);
}

}  // namespace orbserve
