// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/device/device_probe.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/telemetry/sensors/sensor_file.h"

namespace orbserve {

std::string BoardName(const std::string& root) {
  const std::string model = ReadWord(root + "/proc/device-tree/model");
  return model.empty() ? ReadWord(root + "/sys/class/dmi/id/product_name") : model;
}

std::vector<DeviceDescription> FindLocalDevices(const std::string& library) {
  std::vector<DeviceDescription> devices;
  if (const auto nvml = NvmlLibrary::Load(library); nvml.ok()) {
    for (NvmlLibrary::Board& board : (*nvml)->Boards()) {
      devices.push_back({absl::StrCat("gpu:", devices.size()), std::move(board.name), "",
                         std::move(board.pci_bus_id)});
    }
  }
  devices.push_back({"cpu", "", "", ""});
  return devices;
}

std::vector<DeviceProbe> FindDeviceProbes(const std::vector<DeviceDescription>& devices,
                                          const std::string& root, const std::string& library) {
  std::vector<DeviceProbe> probes;
  std::shared_ptr<const NvmlLibrary> nvml;  // null until it is needed, and where it is missing
  for (const DeviceDescription& device : devices) {
    if (probes.empty() && IsJetson(root)) {
      probes.push_back([root] { return ReadJetson(root); });
    } else if (device.pci_bus_id.empty()) {
      probes.push_back([root] { return ReadProcessor(root); });
    } else {
      if (nvml == nullptr) nvml = NvmlLibrary::Load(library).value_or(nullptr);
      probes.push_back(nvml == nullptr ? nullptr : MakeNvmlProbe(nvml, device.pci_bus_id));
    }
  }
  return probes;
}

}  // namespace orbserve
