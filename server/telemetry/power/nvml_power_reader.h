// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_POWER_NVML_POWER_READER_H_
#define ORBSERVE_SERVER_TELEMETRY_POWER_NVML_POWER_READER_H_

#include <string>
#include <vector>

#include "server/telemetry/power/power_reader.h"
#include "server/telemetry/sensors/nvml_library.h"

namespace orbserve {

// One rail, of scope "total", for each device that has a PCI address and whose board answers a
// query: that for energy, else that for power. Jetsons up to Orin have the library and neither
// query. Devices are matched by address: CUDA's numbers are of another order, and
// CUDA_VISIBLE_DEVICES changes them.
PowerReaders FindNvmlPowerReaders(const std::vector<DeviceDescription>& devices,
                                  const std::string& library = kNvmlLibraryName);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_POWER_NVML_POWER_READER_H_
