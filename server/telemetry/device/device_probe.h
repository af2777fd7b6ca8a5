// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Clocks, temperatures, throttling and power mode of the devices, as far as a machine tells them.

#ifndef ORBSERVE_SERVER_TELEMETRY_DEVICE_DEVICE_PROBE_H_
#define ORBSERVE_SERVER_TELEMETRY_DEVICE_DEVICE_PROBE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "features/backend.h"
#include "server/telemetry/sensors/nvml_library.h"

namespace orbserve {

// Condition of a device at one moment. A value that cannot be read has no entry.
struct DeviceCondition {
  struct Clock {
    std::string clock;  // "gpu", "memory", "cpu"
    double hertz = 0;
    std::optional<double> limit_hertz;  // highest clock that is allowed now
  };
  struct Temperature {
    std::string sensor;  // "gpu", "cpu", "tj"
    double celsius = 0;
  };
  struct Throttle {
    std::string reason;  // "power_cap", "gpu-throttle-alert"
    bool is_active = false;
  };
  struct ThrottleEvents {
    std::string reason;  // "oc1"
    int64_t count = 0;   // since the machine started
  };

  std::string power_mode;  // of nvpmodel: "MAXN"; empty where there is none
  std::string clock_mode;  // "fixed", "dynamic"; empty where unknown
  std::vector<Clock> clocks;
  std::vector<Temperature> temperatures;
  std::vector<Throttle> throttles;
  std::vector<ThrottleEvents> throttle_events;
};

// Reads the sensors of one device, which takes as long as they do, up to some milliseconds. Used by
// one thread at a time.
using DeviceProbe = std::function<DeviceCondition()>;

// Name of the board: the model of the device tree, else the product's name; empty where unknown.
// `root`: before every path, for tests.
std::string BoardName(const std::string& root = "");

// The devices of this machine, without a backend: the boards of NVML (`library`) as "gpu:0", ... in
// its order, then the processor as "cpu".
std::vector<DeviceDescription> FindLocalDevices(const std::string& library = kNvmlLibraryName);

// Finds the probe of each device, in their order; null for a device of which nothing can be read. A
// Jetson's files describe its first device, because processor and GPU are one module. Other GPUs
// are asked through NVML (`library`), processors through files.
std::vector<DeviceProbe> FindDeviceProbes(const std::vector<DeviceDescription>& devices,
                                          const std::string& root = "",
                                          const std::string& library = kNvmlLibraryName);

// True on an NVIDIA Jetson module.
bool IsJetson(const std::string& root);
// A Jetson module, with its GPU: devfreq, cpufreq, thermal zones, throttle alerts, events of
// over-current, and the mode of nvpmodel.
DeviceCondition ReadJetson(const std::string& root);
// A machine's processors: cpufreq and their temperature.
DeviceCondition ReadProcessor(const std::string& root);
// The board at this PCI address; null where there is no such board.
DeviceProbe MakeNvmlProbe(std::shared_ptr<const NvmlLibrary> library,
                          const std::string& pci_bus_id);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_DEVICE_DEVICE_PROBE_H_
