// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "server/telemetry/power/power_reader.h"

namespace orbserve {
namespace {

constexpr double kPerThousand = 1e-3;  // millijoules and milliwatts

// Since the driver was loaded. Counts in steps; boards before Volta do not have it.
absl::StatusOr<double> EnergyJoules(const NvmlLibrary& nvml, NvmlLibrary::Device board) {
  ORBSERVE_ASSIGN_OR_RETURN(
      const NvmlLibrary::Count millijoules,
      nvml.Query<NvmlLibrary::Count>("nvmlDeviceGetTotalEnergyConsumption", board));
  return static_cast<double>(millijoules) * kPerThousand;
}

// Mean of the last second on boards from Ampere on but GA100, else the power now.
absl::StatusOr<double> PowerWatts(const NvmlLibrary& nvml, NvmlLibrary::Device board) {
  ORBSERVE_ASSIGN_OR_RETURN(const unsigned milliwatts,
                            nvml.Query<unsigned>("nvmlDeviceGetPowerUsage", board));
  return milliwatts * kPerThousand;
}

absl::StatusOr<PowerReader> MakeReader(std::shared_ptr<const NvmlLibrary> nvml,
                                       const DeviceDescription& device) {
  ORBSERVE_ASSIGN_OR_RETURN(const NvmlLibrary::Device board, nvml->DeviceAt(device.pci_bus_id));
  const absl::StatusOr<double> energy = EnergyJoules(*nvml, board);
  const absl::StatusOr<double> power = PowerWatts(*nvml, board);
  if (!energy.ok() && !power.ok()) {
    return MakeError(ErrorReason::kUnsupported,
                     absl::StrCat(energy.status().message(), "; ", power.status().message()));
  }
  PowerRail rail = {.rail = device.device,
                    .source = "nvml",
                    .scope = "total",
                    .counts_energy = energy.ok(),
                    .driver = nvml->DriverVersion(),
                    .model = device.name,
                    .device = device.device};
  ReadPower read = [nvml = std::move(nvml), board, has_energy = energy.ok(),
                    has_power = power.ok()]() -> absl::StatusOr<PowerReading> {
    PowerReading reading;
    if (has_energy) {
      ORBSERVE_ASSIGN_OR_RETURN(reading.energy_joules, EnergyJoules(*nvml, board));
    }
    if (has_power) {
      ORBSERVE_ASSIGN_OR_RETURN(reading.power_watts, PowerWatts(*nvml, board));
    }
    return reading;
  };
  return PowerReader{std::move(rail), std::move(read)};
}

}  // namespace

PowerReaders FindNvmlPowerReaders(const std::vector<DeviceDescription>& devices,
                                  const std::string& library) {
  PowerReaders found;
  absl::StatusOr<std::shared_ptr<const NvmlLibrary>> nvml = nullptr;
  for (const DeviceDescription& device : devices) {
    if (device.pci_bus_id.empty()) continue;
    if (nvml.ok() && *nvml == nullptr) nvml = NvmlLibrary::Load(library);
    if (!nvml.ok()) {
      found.failures.emplace_back(nvml.status().message());
      return found;
    }
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
