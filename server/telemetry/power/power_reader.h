// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The seam between whatever measures power on a machine and what is made of it. A rail is one thing
// that is measured: a graphics card, the supply of a module, a processor package. A source (NVML)
// finds its rails once, at start, by asking each of them; a rail that does not answer there is left
// out, so that a figure is either measured or absent.

#ifndef ORBSERVE_SERVER_TELEMETRY_POWER_POWER_READER_H_
#define ORBSERVE_SERVER_TELEMETRY_POWER_POWER_READER_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "features/backend.h"
#include "server/telemetry/sensors/nvml_library.h"

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

// Takes as long as the sensor does, microseconds to milliseconds. An error when it cannot be read
// now: a later call may succeed. Used by one thread at a time.
using ReadPower = std::function<absl::StatusOr<PowerReading>()>;

struct PowerReader {
  PowerRail rail;
  ReadPower read;
};

struct PowerReaders {
  std::vector<PowerReader> readers;   // those that answered
  std::vector<std::string> failures;  // why others are missing, one text each
};

// The rails of this machine that say something about `devices`, of the sources whose queries work:
// the chips of a Jetson module, NVML, RAPL for the CPU. Each device has one total at most.
// `root`: before every path of sysfs, for tests.
PowerReaders FindPowerReaders(const std::vector<DeviceDescription>& devices,
                              const std::string& root = "");

// The sources.

// Rails of an NVIDIA Jetson module and its total, which belongs to `device`: the rail of the
// module's input where there is one, else a sum that has no part twice. A module whose rails are
// not known has no total, and neither has one of whose parts some cannot be read. Other rails have
// the scope "rail". Power is told as it is measured: current may be negative at rest.
PowerReaders FindJetsonPowerReaders(const std::string& device, const std::string& root = "");

// Energy counters of x86 processors (RAPL: Intel since Sandy Bridge, AMD Zen) by the kernel's
// powercap files: the packages, what lies in them, and their total, the packages and their memory,
// which belongs to `device`. A counter that wraps goes on here as if it had not, provided that it
// is read more often than it wraps (15 minutes at least). Since Linux 5.10 only root reads them
// (CVE-2020-8694); docs/metrics.md says what an operator can do.
PowerReaders FindRaplPowerReaders(const std::string& device, const std::string& root = "");

// One rail, of scope "total", for each device that has a PCI address and whose board answers a
// query: that for energy, else that for power. Jetsons up to Orin have the library and neither
// query. Devices are matched by address: CUDA's numbers are of another order, and
// CUDA_VISIBLE_DEVICES changes them.
PowerReaders FindNvmlPowerReaders(const std::vector<DeviceDescription>& devices,
                                  const std::string& library = kNvmlLibraryName);

// For the sources: reads each candidate once and keeps those that answer. If all of `total`, names
// of rails, do, their sum is the total of `device`, and reads them anew; a single one is the total
// itself.
PowerReaders KeepReadable(std::vector<PowerReader> candidates,
                          const std::vector<std::string>& total, const std::string& device);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_POWER_POWER_READER_H_
