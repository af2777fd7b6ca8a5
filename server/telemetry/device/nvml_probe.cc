// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "server/telemetry/device/device_probe.h"

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

using Device = NvmlLibrary::Device;

// nvmlFieldValue_t
struct FieldValue {
  unsigned field;
  unsigned scope;
  int64_t timestamp_us;
  int64_t latency_us;
  int type;
  NvmlLibrary::Result result;
  union {
    uint64_t bits;
    unsigned number;
  } value;
};
static_assert(sizeof(FieldValue) == 40);

// `clock`: nvmlClockType_t.
void AddBoardClock(const NvmlLibrary& nvml, Device board, const char* name, int clock,
                   DeviceCondition& condition) {
  constexpr double kHertzPerMegahertz = 1e6;
  const auto now = nvml.Query<unsigned>("nvmlDeviceGetClockInfo", board, clock);
  if (!now.ok()) return;
  condition.clocks.push_back({name, *now * kHertzPerMegahertz, std::nullopt});
  if (const auto most = nvml.Query<unsigned>("nvmlDeviceGetMaxClockInfo", board, clock);
      most.ok()) {
    condition.clocks.back().limit_hertz = *most * kHertzPerMegahertz;
  }
}

void AddTemperatures(const NvmlLibrary& nvml, Device board, DeviceCondition& condition) {
  constexpr int kGpu = 0;  // NVML_TEMPERATURE_GPU
  const auto celsius = nvml.Query<unsigned>("nvmlDeviceGetTemperature", board, kGpu);
  if (celsius.ok()) condition.temperatures.push_back({"gpu", static_cast<double>(*celsius)});
  FieldValue memory = {.field = 82};  // NVML_FI_DEV_MEMORY_TEMP
  if (nvml.Call("nvmlDeviceGetFieldValues", board, 1, &memory).ok() && memory.result == 0) {
    condition.temperatures.push_back({"memory", static_cast<double>(memory.value.number)});
  }
}

// `reasons`: bits of those that the board has.
void AddThrottles(const NvmlLibrary& nvml, Device board, uint64_t reasons,
                  DeviceCondition& condition) {
  const auto active =
      nvml.Query<NvmlLibrary::Count>("nvmlDeviceGetCurrentClocksThrottleReasons", board);
  if (!active.ok()) return;
  for (const Reason& reason : kReasons) {
    if ((reasons & reason.bit) == 0) continue;
    condition.throttles.push_back({reason.name, (*active & reason.bit) != 0});
  }
}

}  // namespace

DeviceProbe MakeNvmlProbe(std::shared_ptr<const NvmlLibrary> library,
                          const std::string& pci_bus_id) {
  const absl::StatusOr<Device> board = library->DeviceAt(pci_bus_id);
  if (!board.ok()) return nullptr;
  // Drivers that do not tell which reasons a board has are taken to have all.
  const uint64_t reasons =
      library->Query<NvmlLibrary::Count>("nvmlDeviceGetSupportedClocksThrottleReasons", *board)
          .value_or(~NvmlLibrary::Count{0});
  return [nvml = std::move(library), board = *board, reasons] {
    DeviceCondition condition;
    AddBoardClock(*nvml, board, "gpu", 0, condition);
    AddBoardClock(*nvml, board, "memory", 2, condition);
    AddTemperatures(*nvml, board, condition);
    AddThrottles(*nvml, board, reasons, condition);
    return condition;
  };
}

}  // namespace orbserve
