// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/nvml_power_reader.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/errors.h"

namespace orbserve {
namespace {

class NvmlPowerReader final : public PowerReader {
 public:
  // The caller has asked the device whether it counts energy, and whether it `has_power`.
  NvmlPowerReader(std::shared_ptr<const NvmlLibrary> library, NvmlLibrary::Device device,
                  PowerRail rail, bool has_power)
      : library_(std::move(library)),
        device_(device),
        rail_(std::move(rail)),
        has_power_(has_power) {}

  const PowerRail& rail() const override { return rail_; }

  absl::StatusOr<PowerReading> Read() override {
    PowerReading reading;
    if (rail_.counts_energy) {
      ORBSERVE_ASSIGN_OR_RETURN(reading.energy_joules, library_->EnergyJoules(device_));
    }
    if (has_power_) {
      ORBSERVE_ASSIGN_OR_RETURN(reading.power_watts, library_->PowerWatts(device_));
    }
    return reading;
  }

 private:
  const std::shared_ptr<const NvmlLibrary> library_;
  const NvmlLibrary::Device device_;
  const PowerRail rail_;
  const bool has_power_;
};

absl::StatusOr<std::unique_ptr<PowerReader>> MakeReader(
    const std::shared_ptr<const NvmlLibrary>& library, const DeviceDescription& device) {
  ORBSERVE_ASSIGN_OR_RETURN(const NvmlLibrary::Device handle, library->DeviceAt(device.pci_bus_id));
  const absl::StatusOr<double> energy = library->EnergyJoules(handle);
  const absl::StatusOr<double> power = library->PowerWatts(handle);
  if (!energy.ok() && !power.ok()) {
    return MakeError(ErrorReason::kUnsupported,
                     absl::StrCat(energy.status().message(), "; ", power.status().message()));
  }
  PowerRail rail;
  rail.rail = device.device;
  rail.source = "nvml";
  rail.scope = "total";
  rail.counts_energy = energy.ok();
  rail.driver = library->DriverVersion();
  rail.model = device.name;
  rail.device = device.device;
  return std::make_unique<NvmlPowerReader>(library, handle, std::move(rail), power.ok());
}

}  // namespace

PowerReaders FindNvmlPowerReaders(const std::vector<DeviceDescription>& devices,
                                  const std::string& library) {
  PowerReaders found;
  const auto has_address = [](const DeviceDescription& device) {
    return !device.pci_bus_id.empty();
  };
  if (std::none_of(devices.begin(), devices.end(), has_address)) return found;
  const auto nvml = NvmlLibrary::Load(library);
  if (!nvml.ok()) {
    found.failures.emplace_back(nvml.status().message());
    return found;
  }
  for (const DeviceDescription& device : devices) {
    if (!has_address(device)) continue;
    auto reader = MakeReader(*nvml, device);
    if (reader.ok()) {
      found.readers.push_back(*std::move(reader));
    } else {
      found.failures.push_back(absl::StrCat(device.device, ": ", reader.status().message()));
    }
  }
  return found;
}

}  // namespace orbserve
