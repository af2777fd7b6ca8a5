// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The seam between whatever measures power on a machine and what is made of it. A rail is one thing
// that is measured: a graphics card, the supply of a module, a processor package. A source (NVML)
// finds its rails once, at start, by asking each of them; a rail that does not answer there is left
// out, so that a figure is either measured or absent.

#ifndef ORBSERVE_SERVER_TELEMETRY_POWER_POWER_READER_H_
#define ORBSERVE_SERVER_TELEMETRY_POWER_POWER_READER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "features/backend.h"

namespace orbserve {

// A rail that is measured, and its source. The strings are values of metric labels.
struct PowerRail {
  std::string rail;    // unique in the process: "cuda:0", "VDD_IN", "package-0"
  std::string source;  // "nvml", "ina", "rapl"
  // This says what the figure covers. "total" = everything that is known of a device, one rail per
  // device; other figures are parts of a total or lie beside it, and must not be added to it.
  std::string scope;
  bool counts_energy = false;  // else power is integrated here
  std::string driver;          // its version
  std::string model;           // of the hardware
  // Set for totals: the device of the backend whose batches use this rail's energy
  // (DeviceDescription::device).
  std::string device;
};

// One look at a rail; at least one of the two is set.
struct PowerReading {
  std::optional<double> power_watts;    // now, or the mean over what the sensor averages
  std::optional<double> energy_joules;  // since an unknown beginning; may start over
};

// One rail. Used by one thread at a time.
class PowerReader {
 public:
  virtual ~PowerReader() = default;
  virtual const PowerRail& rail() const = 0;
  // Takes as long as the sensor does, microseconds to milliseconds. An error when it cannot be read
  // now: a later call may succeed.
  virtual absl::StatusOr<PowerReading> Read() = 0;
};

struct PowerReaders {
  std::vector<std::unique_ptr<PowerReader>> readers;  // those that answered
  std::vector<std::string> failures;                  // why others are missing, one text each
};

// The rails of this machine that say something about `devices`, of the sources whose queries work:
// the chips of a Jetson module, NVML, RAPL for the CPU. Each device has one total at most.
// `root`: before every path of sysfs, for tests.
PowerReaders FindPowerReaders(const std::vector<DeviceDescription>& devices,
                              const std::string& root = "");

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_POWER_POWER_READER_H_
