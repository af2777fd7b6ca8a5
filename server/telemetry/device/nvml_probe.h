// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_DEVICE_NVML_PROBE_H_
#define ORBSERVE_SERVER_TELEMETRY_DEVICE_NVML_PROBE_H_

#include <memory>
#include <string>

#include "server/telemetry/device/device_probe.h"
#include "server/telemetry/sensors/nvml_library.h"

namespace orbserve {

// Probe of the board at this PCI address; null where there is no such board.
std::unique_ptr<DeviceProbe> MakeNvmlProbe(std::shared_ptr<const NvmlLibrary> library,
                                           const std::string& pci_bus_id);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_DEVICE_NVML_PROBE_H_
