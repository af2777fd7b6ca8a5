// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// NVIDIA's management library, loaded at run time: it comes with the driver, not with the toolkit,
// and a machine without it must run the same program. Its functions are called by their names, with
// the types of the documented C interface, so that building needs no header of it either.

#ifndef ORBSERVE_SERVER_TELEMETRY_SENSORS_NVML_LIBRARY_H_
#define ORBSERVE_SERVER_TELEMETRY_SENSORS_NVML_LIBRARY_H_

#include <dlfcn.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/errors.h"

namespace orbserve {

inline constexpr char kNvmlLibraryName[] = "libnvidia-ml.so.1";

// Loaded and initialised. Thread-safe, as NVML is.
class NvmlLibrary {
 public:
  using Device = void*;              // NVML's opaque handle, valid while the library is
  using Count = unsigned long long;  // NOLINT(google-runtime-int): NVML's type of many bits
  using Result = int;                // nvmlReturn_t; NVML's enumerations are ints

  // `path`: a file, or a name that the loader searches. UNIMPLEMENTED when the library is missing,
  // lacks a function that is needed, or does not initialise.
  static absl::StatusOr<std::shared_ptr<const NvmlLibrary>> Load(const std::string& path);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  // Calls the function of this name, whose parameters have exactly the types of `arguments`.
  // UNSUPPORTED where the driver does not have it: drivers differ.
  template <typename... Arguments>
  absl::Status Call(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<Result (*)(Arguments...)>(dlsym(handle_, name));
    return function == nullptr ? Missing(name) : Check(function(arguments...), name);
  }
  // As Call(), with the address of a Value, the result, as the last argument.
  template <typename Value, typename... Arguments>
  absl::StatusOr<Value> Query(const char* name, Arguments... arguments) const {
    Value value{};
    ORBSERVE_RETURN_IF_ERROR(Call(name, arguments..., &value));
    return value;
  }
  // OK, or UNSUPPORTED with what NVML calls this result of `call`.
  absl::Status Check(Result result, const char* call) const;

  // "580.95.05"; empty when NVML does not tell.
  std::string DriverVersion() const;
  // `pci_bus_id`: "0000:1b:00.0", domain, bus, device and function in hexadecimal.
  absl::StatusOr<Device> DeviceAt(const std::string& pci_bus_id) const;
  struct Board {
    std::string name;        // "NVIDIA H100 80GB HBM3"
    std::string pci_bus_id;  // for DeviceAt()
  };
  // The boards of this machine, in NVML's order; those that do not tell their address are left out.
  std::vector<Board> Boards() const;

 private:
  NvmlLibrary() = default;
  static absl::Status Missing(const char* function);

  void* handle_ = nullptr;
  bool initialised_ = false;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_SENSORS_NVML_LIBRARY_H_
