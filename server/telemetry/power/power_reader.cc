// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/power_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "server/telemetry/power/jetson_power_reader.h"
#include "server/telemetry/power/nvml_power_reader.h"
#include "server/telemetry/power/rapl_power_reader.h"

namespace orbserve {
namespace {

void Append(PowerReaders more, PowerReaders& all) {
  std::move(more.readers.begin(), more.readers.end(), std::back_inserter(all.readers));
  std::move(more.failures.begin(), more.failures.end(), std::back_inserter(all.failures));
}

}  // namespace

PowerReaders FindPowerReaders(const std::vector<DeviceDescription>& devices,
                              const std::string& root) {
  if (devices.empty()) return {};
  // A Jetson's module is one device with processor and GPU on it; NVML knows little of it.
  PowerReaders found = FindJetsonPowerReaders(devices.front().device, root);
  const auto is_known = [&found](const DeviceDescription& device) {
    return std::any_of(found.readers.begin(), found.readers.end(), [&device](const auto& reader) {
      return reader->rail().device == device.device;
    });
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
