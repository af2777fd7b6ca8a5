// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// NVIDIA's management library, loaded at run time: it comes with the driver, not with the toolkit,
// and a machine without it must run the same program. The few functions used here are declared
// from the documented C interface, so that building needs no header of it either.

#ifndef ORBSERVE_SERVER_TELEMETRY_SENSORS_NVML_LIBRARY_H_
#define ORBSERVE_SERVER_TELEMETRY_SENSORS_NVML_LIBRARY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace orbserve {

inline constexpr char kNvmlLibraryName[] = "libnvidia-ml.so.1";

// Loaded and initialised. Thread-safe, as NVML is.
class NvmlLibrary {
 public:
  using Device = void*;  // NVML's opaque handle, valid while the library is

  // `path`: a file, or a name that the loader searches. UNIMPLEMENTED when the library is missing,
  // lacks a function that is needed, or does not initialise.
  static absl::StatusOr<std::shared_ptr<const NvmlLibrary>> Load(const std::string& path);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

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
  // Since the driver was loaded. Counts in steps; boards before Volta do not have it.
  absl::StatusOr<double> EnergyJoules(Device device) const;
  // Mean of the last second on boards from Ampere on but GA100, else the power now.
  absl::StatusOr<double> PowerWatts(Device device) const;

  enum class Clock { kGraphics = 0, kMemory = 2 };  // nvmlClockType_t
  absl::StatusOr<double> ClockHertz(Device device, Clock clock) const;
  absl::StatusOr<double> MaxClockHertz(Device device, Clock clock) const;
  absl::StatusOr<double> TemperatureCelsius(Device device) const;
  absl::StatusOr<double> MemoryTemperatureCelsius(Device device) const;
  // Bits nvmlClocksThrottleReason* of nvml.h: those that are active, and those that a board has.
  absl::StatusOr<uint64_t> ThrottleReasons(Device device) const;
  absl::StatusOr<uint64_t> SupportedThrottleReasons(Device device) const;

 private:
  // NVML's types: an enumeration is an int, memory and energy are unsigned long long.
  using Result = int;
  // nvmlFieldValue_t
  struct FieldValue {
    unsigned int field = 0;
    unsigned int scope = 0;
    int64_t timestamp_us = 0;
    int64_t latency_us = 0;
    int type = 0;
    Result result = 0;
    union {
      double real;
      uint64_t bits;
      unsigned int number;
    } value = {};
  };
  static_assert(sizeof(FieldValue) == 40);
  // nvmlPciInfo_t
  struct PciInfo {
    char short_bus_id[16] = {};
    unsigned int domain = 0;
    unsigned int bus = 0;
    unsigned int device = 0;
    unsigned int device_id = 0;
    unsigned int subsystem_id = 0;
    char bus_id[32] = {};
  };
  static_assert(sizeof(PciInfo) == 68);

  NvmlLibrary() = default;
  absl::Status Check(Result result, absl::string_view call) const;
  // Calls the function of this name, whose parameters have exactly the types of `arguments`.
  // UNSUPPORTED where the driver does not have it: drivers differ.
  template <typename... Arguments>
  absl::Status Call(const char* name, Arguments... arguments) const;
  // As Call(), with the address of a Value, the result, as the last argument.
  template <typename Value, typename... Arguments>
  absl::StatusOr<Value> Query(const char* name, Arguments... arguments) const;

  void* handle_ = nullptr;
  bool initialised_ = false;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_SENSORS_NVML_LIBRARY_H_
