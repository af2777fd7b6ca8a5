// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/power_reader.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "features/errors.h"

namespace orbserve {
namespace {

void Append(PowerReaders more, PowerReaders& all) {
  std::move(more.readers.begin(), more.readers.end(), std::back_inserter(all.readers));
  std::move(more.failures.begin(), more.failures.end(), std::back_inserter(all.failures));
}

// Sensors of one source tell the same figures.
absl::StatusOr<PowerReading> SumOf(const std::vector<std::shared_ptr<ReadPower>>& parts) {
  PowerReading sum;
  for (const auto& read : parts) {
    ORBSERVE_ASSIGN_OR_RETURN(const PowerReading part, (*read)());
    if (part.power_watts) sum.power_watts = sum.power_watts.value_or(0) + *part.power_watts;
    if (part.energy_joules) sum.energy_joules = sum.energy_joules.value_or(0) + *part.energy_joules;
  }
  return sum;
}

}  // namespace

PowerReaders KeepReadable(std::vector<PowerReader> candidates,
                          const std::vector<std::string>& total, const std::string& device) {
  PowerReaders found;
  std::vector<std::shared_ptr<ReadPower>> parts;
  for (PowerReader& reader : candidates) {
    if (const absl::Status status = reader.read().status(); !status.ok()) {
      found.failures.push_back(absl::StrCat(reader.rail.rail, ": ", status.message()));
      continue;
    }
    if (std::find(total.begin(), total.end(), reader.rail.rail) != total.end()) {
      parts.push_back(std::make_shared<ReadPower>(std::move(reader.read)));
      reader.read = [read = parts.back()] { return (*read)(); };
      if (total.size() == 1) {
        reader.rail.scope = "total";
        reader.rail.device = device;
      }
    }
    found.readers.push_back(std::move(reader));
  }
  if (total.size() > 1 && parts.size() == total.size()) {
    PowerRail rail = found.readers.front().rail;
    rail.rail = absl::StrJoin(total, "+");
    rail.scope = "total";
    rail.device = device;
    found.readers.push_back({std::move(rail), [parts] { return SumOf(parts); }});
  }
  return found;
}

PowerReaders FindPowerReaders(const std::vector<DeviceDescription>& devices,
                              const std::string& root) {
  if (devices.empty()) return {};
  // A Jetson's module is one device with processor and GPU on it; NVML knows little of it.
  PowerReaders found = FindJetsonPowerReaders(devices.front().device, root);
  const auto is_known = [&found](const DeviceDescription& device) {
    return std::any_of(
        found.readers.begin(), found.readers.end(),
        [&device](const PowerReader& reader) { return reader.rail.device == device.device; });
  };
  std::vector<DeviceDescription> unknown;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(unknown),
               [&](const DeviceDescription& device) { return !is_known(device); });
  Append(FindNvmlPowerReaders(unknown), found);
  const auto cpu =
      std::find_if(unknown.begin(), unknown.end(),
                   [](const DeviceDescription& device) { return device.pci_bus_id.empty(); });
  if (cpu != unknown.end()) Append(FindRaplPowerReaders(cpu->device, root), found);
  return found;
}

}  // namespace orbserve
