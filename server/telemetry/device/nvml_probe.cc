// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/device/nvml_probe.h"

#include <array>
#include <utility>

namespace orbserve {
namespace {

struct Reason {
  const char* name;
  uint64_t bit;  // nvmlClocksThrottleReason*, nvml.h
};

// Reasons that hold clocks down. Rest and clocks that an operator has set are none.
constexpr std::array<Reason, 6> kReasons = {{{"power_cap", 0x4},
                                             {"hardware_slowdown", 0x8},
                                             {"sync_boost", 0x10},
                                             {"thermal_software", 0x20},
                                             {"thermal_hardware", 0x40},
                                             {"power_brake", 0x80}}};

class NvmlProbe final : public DeviceProbe {
 public:
  NvmlProbe(std::shared_ptr<const NvmlLibrary> library, NvmlLibrary::Device device)
      : library_(std::move(library)),
        device_(device),
        // Drivers that do not tell which reasons a board has are taken to have all.
        reasons_(library_->SupportedThrottleReasons(device).value_or(~uint64_t{0})) {}

  DeviceCondition Read() override {
    DeviceCondition condition;
    const auto add_clock = [&](const char* name, NvmlLibrary::Clock clock) {
      const absl::StatusOr<double> now = library_->ClockHertz(device_, clock);
      if (!now.ok()) return;
      DeviceCondition::Clock entry{name, *now, std::nullopt};
      if (const auto limit = library_->MaxClockHertz(device_, clock); limit.ok()) {
        entry.limit_hertz = *limit;
      }
      condition.clocks.push_back(std::move(entry));
    };
    add_clock("gpu", NvmlLibrary::Clock::kGraphics);
    add_clock("memory", NvmlLibrary::Clock::kMemory);
    if (const auto celsius = library_->TemperatureCelsius(device_); celsius.ok()) {
      condition.temperatures.push_back({"gpu", *celsius});
    }
    if (const auto celsius = library_->MemoryTemperatureCelsius(device_); celsius.ok()) {
      condition.temperatures.push_back({"memory", *celsius});
    }
    if (const auto active = library_->ThrottleReasons(device_); active.ok()) {
      for (const Reason& reason : kReasons) {
        if ((reasons_ & reason.bit) == 0) continue;
        condition.throttles.push_back({reason.name, (*active & reason.bit) != 0});
      }
    }
    return condition;
  }

 private:
  const std::shared_ptr<const NvmlLibrary> library_;
  const NvmlLibrary::Device device_;
  const uint64_t reasons_;  // that the board has
};

}  // namespace

std::unique_ptr<DeviceProbe> MakeNvmlProbe(std::shared_ptr<const NvmlLibrary> library,
                                           const std::string& pci_bus_id) {
  const absl::StatusOr<NvmlLibrary::Device> device = library->DeviceAt(pci_bus_id);
  if (!device.ok()) return nullptr;
  return std::make_unique<NvmlProbe>(std::move(library), *device);
}

}  // namespace orbserve
