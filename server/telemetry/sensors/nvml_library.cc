// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/sensors/nvml_library.h"

#include "absl/strings/str_cat.h"

namespace orbserve {
namespace {

// nvmlPciInfo_t
struct PciInfo {
  char short_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

absl::Status UnsupportedByNvml(const std::string& message) {
  return MakeError(ErrorReason::kUnsupported, message);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const NvmlLibrary>> NvmlLibrary::Load(const std::string& path) {
  const std::shared_ptr<NvmlLibrary> library(new NvmlLibrary);
  library->handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library->handle_ == nullptr) {
    const char* const reason = dlerror();
    return UnsupportedByNvml(
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

absl::Status NvmlLibrary::Missing(const char* function) {
  return UnsupportedByNvml(absl::StrCat(function, ": this driver does not have it"));
}

absl::Status NvmlLibrary::Check(Result result, const char* call) const {
  if (result == 0) return absl::OkStatus();
  const auto error_string =
      reinterpret_cast<const char* (*)(Result)>(dlsym(handle_, "nvmlErrorString"));
  const char* const text = error_string == nullptr ? nullptr : error_string(result);
  return UnsupportedByNvml(
      absl::StrCat(call, ": ", text == nullptr ? "unknown error" : text, " (", result, ")"));
}

std::string NvmlLibrary::DriverVersion() const {
  char version[80] = {};  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
  return Call("nvmlSystemGetDriverVersion", &version[0], 79U).ok() ? version : "";
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
    char name[96] = {};  // NVML_DEVICE_NAME_V2_BUFFER_SIZE
    if (!Call("nvmlDeviceGetName", *device, &name[0], 95U).ok()) name[0] = '\0';
    boards.push_back({name, info->bus_id});
  }
  return boards;
}

}  // namespace orbserve
