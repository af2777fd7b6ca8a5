// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// This file asks the operating system about NVIDIA GPUs, and draws conclusions from its answer.

#ifndef ORBSERVE_CLIENT_CLI_DOCTOR_GPU_CHECK_H_
#define ORBSERVE_CLIENT_CLI_DOCTOR_GPU_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/doctor/driver_probe.h"
#include "client/cli/doctor/finding.h"

namespace orbserve::cli {

struct GpuState {
  int pci_devices = 0;                    // display controllers of NVIDIA on the PCI bus
  std::string jetson;                     // model of a Jetson; "" = none
  std::string driver_version;             // of the loaded kernel driver; "" = none is loaded
  std::vector<std::string> nodes;         // /dev/nvidia0, ...
  std::vector<std::string> closed_nodes;  // of these, those that this user may not open
};

// Reads the state below `root`, which is "/" except in tests.
GpuState ReadGpuState(const std::string& root);

// The finding for `state`. `driver`: how the driver's library does. `built`: this program has the
// CUDA backend. `started`: the CUDA backend's own answer; OK if it runs on a device. `device`: its
// description then.
Finding JudgeGpu(const GpuState& state, const DriverProbe& driver, bool built,
                 const absl::Status& started, const std::string& device);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_DOCTOR_GPU_CHECK_H_
