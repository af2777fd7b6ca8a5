// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/nvml_library.h"

#include <dlfcn.h>

#include <array>

#include "absl/strings/str_cat.h"
#include "features/errors.h"

namespace orbserve {
namespace {

constexpr int kSuccess = 0;            // NVML_SUCCESS
constexpr size_t kVersionLength = 80;  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
constexpr double kUnitsPerOne = 1e3;   // millijoules and milliwatts

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
  Find(handle, "nvmlErrorString", &functions.error_string);
  Find(handle, "nvmlSystemGetDriverVersion", &functions.driver_version);
  Find(handle, "nvmlDeviceGetTotalEnergyConsumption", &functions.total_energy);
  Find(handle, "nvmlDeviceGetPowerUsage", &functions.power_usage);
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

absl::StatusOr<double> NvmlLibrary::EnergyJoules(Device device) const {
  if (functions_.total_energy == nullptr) {
    return Unsupported("nvmlDeviceGetTotalEnergyConsumption: this driver does not have it");
  }
  unsigned long long millijoules = 0;  // NOLINT(google-runtime-int)
  ORBSERVE_RETURN_IF_ERROR(
      Check(functions_.total_energy(device, &millijoules), "nvmlDeviceGetTotalEnergyConsumption"));
  return static_cast<double>(millijoules) / kUnitsPerOne;
}

absl::StatusOr<double> NvmlLibrary::PowerWatts(Device device) const {
  if (functions_.power_usage == nullptr) {
    return Unsupported("nvmlDeviceGetPowerUsage: this driver does not have it");
  }
  unsigned int milliwatts = 0;
  ORBSERVE_RETURN_IF_ERROR(
      Check(functions_.power_usage(device, &milliwatts), "nvmlDeviceGetPowerUsage"));
  return static_cast<double>(milliwatts) / kUnitsPerOne;
}

}  // namespace orbserve
