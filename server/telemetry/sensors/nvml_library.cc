// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/sensors/nvml_library.h"

#include <dlfcn.h>

#include <array>

#include "absl/strings/str_cat.h"
#include "features/errors.h"

namespace orbserve {
namespace {

constexpr int kSuccess = 0;              // NVML_SUCCESS
constexpr unsigned kNameLength = 96;     // NVML_DEVICE_NAME_V2_BUFFER_SIZE
constexpr unsigned kVersionLength = 80;  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
constexpr double kUnitsPerOne = 1e3;     // millijoules and milliwatts
constexpr double kHertzPerUnit = 1e6;
constexpr int kTemperatureOfGpu = 0;         // NVML_TEMPERATURE_GPU
constexpr unsigned kMemoryTemperature = 82;  // NVML_FI_DEV_MEMORY_TEMP
using Count = unsigned long long;            // NOLINT(google-runtime-int): NVML's type

absl::Status Unsupported(absl::string_view message) {
  return MakeError(ErrorReason::kUnsupported, message);
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
  ORBSERVE_RETURN_IF_ERROR(library->Call("nvmlInit_v2"));
  library->initialised_ = true;
  return library;
}

NvmlLibrary::~NvmlLibrary() {
  if (initialised_) Call("nvmlShutdown").IgnoreError();
  if (handle_ != nullptr) dlclose(handle_);
}

absl::Status NvmlLibrary::Check(Result result, absl::string_view call) const {
  if (result == kSuccess) return absl::OkStatus();
  const auto error_string =
      reinterpret_cast<const char* (*)(Result)>(dlsym(handle_, "nvmlErrorString"));
  const char* const text = error_string == nullptr ? nullptr : error_string(result);
  return Unsupported(
      absl::StrCat(call, ": ", text == nullptr ? "unknown error" : text, " (", result, ")"));
}

template <typename... Arguments>
absl::Status NvmlLibrary::Call(const char* name, Arguments... arguments) const {
  const auto function = reinterpret_cast<Result (*)(Arguments...)>(dlsym(handle_, name));
  if (function == nullptr) return Unsupported(absl::StrCat(name, ": this driver does not have it"));
  return Check(function(arguments...), name);
}

template <typename Value, typename... Arguments>
absl::StatusOr<Value> NvmlLibrary::Query(const char* name, Arguments... arguments) const {
  Value value{};
  ORBSERVE_RETURN_IF_ERROR(Call(name, arguments..., &value));
  return value;
}

std::string NvmlLibrary::DriverVersion() const {
  std::array<char, kVersionLength> version = {};
  if (!Call("nvmlSystemGetDriverVersion", version.data(), kVersionLength).ok()) return "";
  version.back() = '\0';
  return version.data();
}

absl::StatusOr<NvmlLibrary::Device> NvmlLibrary::DeviceAt(const std::string& pci_bus_id) const {
  return Query<Device>("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str());
}

std::vector<NvmlLibrary::Board> NvmlLibrary::Boards() const {
  std::vector<Board> boards;
  const unsigned count = Query<unsigned>("nvmlDeviceGetCount_v2").value_or(0);
  for (unsigned i = 0; i < count; ++i) {
    const absl::StatusOr<Device> device = Query<Device>("nvmlDeviceGetHandleByIndex_v2", i);
    if (!device.ok()) continue;
    absl::StatusOr<PciInfo> info = Query<PciInfo>("nvmlDeviceGetPciInfo_v3", *device);
    if (!info.ok()) continue;
    info->bus_id[sizeof(info->bus_id) - 1] = '\0';
    std::array<char, kNameLength> name = {};
    if (!Call("nvmlDeviceGetName", *device, name.data(), kNameLength).ok()) name = {};
    name.back() = '\0';
    boards.push_back({name.data(), info->bus_id});
  }
  return boards;
}

absl::StatusOr<double> NvmlLibrary::EnergyJoules(Device device) const {
  ORBSERVE_ASSIGN_OR_RETURN(const Count millijoules,
                            Query<Count>("nvmlDeviceGetTotalEnergyConsumption", device));
  return static_cast<double>(millijoules) / kUnitsPerOne;
}

absl::StatusOr<double> NvmlLibrary::PowerWatts(Device device) const {
  ORBSERVE_ASSIGN_OR_RETURN(const unsigned milliwatts,
                            Query<unsigned>("nvmlDeviceGetPowerUsage", device));
  return milliwatts / kUnitsPerOne;
}

absl::StatusOr<double> NvmlLibrary::ClockHertz(Device device, Clock clock) const {
  ORBSERVE_ASSIGN_OR_RETURN(
      const unsigned megahertz,
      Query<unsigned>("nvmlDeviceGetClockInfo", device, static_cast<int>(clock)));
  return megahertz * kHertzPerUnit;
}

absl::StatusOr<double> NvmlLibrary::MaxClockHertz(Device device, Clock clock) const {
  ORBSERVE_ASSIGN_OR_RETURN(
      const unsigned megahertz,
      Query<unsigned>("nvmlDeviceGetMaxClockInfo", device, static_cast<int>(clock)));
  return megahertz * kHertzPerUnit;
}

absl::StatusOr<double> NvmlLibrary::TemperatureCelsius(Device device) const {
  ORBSERVE_ASSIGN_OR_RETURN(const unsigned celsius,
                            Query<unsigned>("nvmlDeviceGetTemperature", device, kTemperatureOfGpu));
  return celsius;
}

absl::StatusOr<double> NvmlLibrary::MemoryTemperatureCelsius(Device device) const {
  constexpr char kCall[] = "nvmlDeviceGetFieldValues";
  FieldValue field;
  field.field = kMemoryTemperature;
  ORBSERVE_RETURN_IF_ERROR(Call(kCall, device, 1, &field));
  ORBSERVE_RETURN_IF_ERROR(Check(field.result, kCall));
  return field.value.number;
}

absl::StatusOr<uint64_t> NvmlLibrary::ThrottleReasons(Device device) const {
  return Query<Count>("nvmlDeviceGetCurrentClocksThrottleReasons", device);
}

absl::StatusOr<uint64_t> NvmlLibrary::SupportedThrottleReasons(Device device) const {
  return Query<Count>("nvmlDeviceGetSupportedClocksThrottleReasons", device);
}

}  // namespace orbserve
