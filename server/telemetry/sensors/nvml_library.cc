// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/sensors/nvml_library.h"

#include <dlfcn.h>

#include <array>

#include "absl/strings/str_cat.h"
#include "features/errors.h"

namespace orbserve {
namespace {

constexpr int kSuccess = 0;            // NVML_SUCCESS
constexpr size_t kNameLength = 96;     // NVML_DEVICE_NAME_V2_BUFFER_SIZE
constexpr size_t kVersionLength = 80;  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
constexpr double kUnitsPerOne = 1e3;   // millijoules and milliwatts
constexpr double kHertzPerUnit = 1e6;
constexpr int kTemperatureOfGpu = 0;         // NVML_TEMPERATURE_GPU
constexpr unsigned kMemoryTemperature = 82;  // NVML_FI_DEV_MEMORY_TEMP
using Count = unsigned long long;            // NOLINT(google-runtime-int): NVML's type

absl::Status Unsupported(absl::string_view message) {
  return MakeError(ErrorReason::kUnsupported, message);
}

template <typename Function>
void Find(void* handle, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const NvmlLibrary>> NvmlLibrary::Load(const std::string& path) {
  const std::shared_ptr<NvmlLibrary> library(new NvmlLibrary);
  library->handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library->handle_ == nullptr) {
    const char* const reason = dlerror();
    return Unsupported(
        absl::StrCat("NVML is not there: ", reason == nullptr ? "no reason given" : reason));
  }
  Functions& functions = library->functions_;
  void* const handle = library->handle_;
  Find(handle, "nvmlInit_v2", &functions.init);
  Find(handle, "nvmlShutdown", &functions.shutdown);
  Find(handle, "nvmlDeviceGetHandleByPciBusId_v2", &functions.device_by_pci_bus_id);
  Find(handle, "nvmlDeviceGetCount_v2", &functions.device_count);
  Find(handle, "nvmlDeviceGetHandleByIndex_v2", &functions.device_by_index);
  Find(handle, "nvmlDeviceGetPciInfo_v3", &functions.pci_info);
  Find(handle, "nvmlDeviceGetName", &functions.device_name);
  Find(handle, "nvmlErrorString", &functions.error_string);
  Find(handle, "nvmlSystemGetDriverVersion", &functions.driver_version);
  Find(handle, "nvmlDeviceGetTotalEnergyConsumption", &functions.total_energy);
  Find(handle, "nvmlDeviceGetPowerUsage", &functions.power_usage);
  Find(handle, "nvmlDeviceGetClockInfo", &functions.clock);
  Find(handle, "nvmlDeviceGetMaxClockInfo", &functions.max_clock);
  Find(handle, "nvmlDeviceGetTemperature", &functions.temperature);
  Find(handle, "nvmlDeviceGetFieldValues", &functions.field_values);
  Find(handle, "nvmlDeviceGetCurrentClocksThrottleReasons", &functions.throttle_reasons);
  Find(handle, "nvmlDeviceGetSupportedClocksThrottleReasons",
       &functions.supported_throttle_reasons);
  if (functions.init == nullptr || functions.shutdown == nullptr ||
      functions.device_by_pci_bus_id == nullptr) {
    return Unsupported(absl::StrCat(path, " lacks functions of NVML's interface version 2"));
  }
  if (const absl::Status status = library->Check(functions.init(), "nvmlInit_v2"); !status.ok()) {
    return status;
  }
  library->initialised_ = true;
  return library;
}

NvmlLibrary::~NvmlLibrary() {
  if (initialised_) functions_.shutdown();
  if (handle_ != nullptr) dlclose(handle_);
}

absl::Status NvmlLibrary::Check(Result result, absl::string_view call) const {
  if (result == kSuccess) return absl::OkStatus();
  const char* const text =
      functions_.error_string == nullptr ? nullptr : functions_.error_string(result);
  return Unsupported(
      absl::StrCat(call, ": ", text == nullptr ? "unknown error" : text, " (", result, ")"));
}

std::string NvmlLibrary::DriverVersion() const {
  std::array<char, kVersionLength> version = {};
  if (functions_.driver_version == nullptr ||
      functions_.driver_version(version.data(), version.size()) != kSuccess) {
    return "";
  }
  version.back() = '\0';
  return version.data();
}

absl::StatusOr<NvmlLibrary::Device> NvmlLibrary::DeviceAt(const std::string& pci_bus_id) const {
  Device device = nullptr;
  ORBSERVE_RETURN_IF_ERROR(Check(functions_.device_by_pci_bus_id(pci_bus_id.c_str(), &device),
                                 "nvmlDeviceGetHandleByPciBusId_v2"));
  return device;
}

std::vector<NvmlLibrary::Board> NvmlLibrary::Boards() const {
  std::vector<Board> boards;
  unsigned count = 0;
  if (functions_.device_count == nullptr || functions_.device_by_index == nullptr ||
      functions_.pci_info == nullptr || functions_.device_count(&count) != kSuccess) {
    return boards;
  }
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    PciInfo info;
    if (functions_.device_by_index(i, &device) != kSuccess ||
        functions_.pci_info(device, &info) != kSuccess) {
      continue;
    }
    info.bus_id[sizeof(info.bus_id) - 1] = '\0';
    std::array<char, kNameLength> name = {};
    if (functions_.device_name == nullptr ||
        functions_.device_name(device, name.data(), name.size()) != kSuccess) {
      name = {};
    }
    name.back() = '\0';
    boards.push_back({name.data(), info.bus_id});
  }
  return boards;
}

template <typename Value, typename Function, typename... Arguments>
absl::StatusOr<Value> NvmlLibrary::Query(absl::string_view call, Function function,
                                         Arguments... arguments) const {
  if (function == nullptr) return Unsupported(absl::StrCat(call, ": this driver does not have it"));
  Value value = 0;
  ORBSERVE_RETURN_IF_ERROR(Check(function(arguments..., &value), call));
  return value;
}

absl::StatusOr<double> NvmlLibrary::EnergyJoules(Device device) const {
  ORBSERVE_ASSIGN_OR_RETURN(
      const Count millijoules,
      Query<Count>("nvmlDeviceGetTotalEnergyConsumption", functions_.total_energy, device));
  return static_cast<double>(millijoules) / kUnitsPerOne;
}

absl::StatusOr<double> NvmlLibrary::PowerWatts(Device device) const {
  ORBSERVE_ASSIGN_OR_RETURN(
      const unsigned milliwatts,
      Query<unsigned>("nvmlDeviceGetPowerUsage", functions_.power_usage, device));
  return milliwatts / kUnitsPerOne;
}

absl::StatusOr<double> NvmlLibrary::ClockHertz(Device device, Clock clock) const {
  ORBSERVE_ASSIGN_OR_RETURN(
      const unsigned megahertz,
      Query<unsigned>("nvmlDeviceGetClockInfo", functions_.clock, device, static_cast<int>(clock)));
  return megahertz * kHertzPerUnit;
}

absl::StatusOr<double> NvmlLibrary::MaxClockHertz(Device device, Clock clock) const {
  ORBSERVE_ASSIGN_OR_RETURN(const unsigned megahertz,
                            Query<unsigned>("nvmlDeviceGetMaxClockInfo", functions_.max_clock,
                                            device, static_cast<int>(clock)));
  return megahertz * kHertzPerUnit;
}

absl::StatusOr<double> NvmlLibrary::TemperatureCelsius(Device device) const {
  ORBSERVE_ASSIGN_OR_RETURN(const unsigned celsius,
                            Query<unsigned>("nvmlDeviceGetTemperature", functions_.temperature,
                                            device, kTemperatureOfGpu));
  return celsius;
}

absl::StatusOr<double> NvmlLibrary::MemoryTemperatureCelsius(Device device) const {
  constexpr absl::string_view kCall = "nvmlDeviceGetFieldValues";
  if (functions_.field_values == nullptr) {
    return Unsupported(absl::StrCat(kCall, ": this driver does not have it"));
  }
  FieldValue field;
  field.field = kMemoryTemperature;
  ORBSERVE_RETURN_IF_ERROR(Check(functions_.field_values(device, 1, &field), kCall));
  ORBSERVE_RETURN_IF_ERROR(Check(field.result, kCall));
  return field.value.number;
}

absl::StatusOr<uint64_t> NvmlLibrary::ThrottleReasons(Device device) const {
  return Query<Count>("nvmlDeviceGetCurrentClocksThrottleReasons", functions_.throttle_reasons,
                      device);
}

absl::StatusOr<uint64_t> NvmlLibrary::SupportedThrottleReasons(Device device) const {
  return Query<Count>("nvmlDeviceGetSupportedClocksThrottleReasons",
                      functions_.supported_throttle_reasons, device);
}

}  // namespace orbserve
