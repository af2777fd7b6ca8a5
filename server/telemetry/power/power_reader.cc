// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/power_reader.h"

#include "server/telemetry/power/nvml_power_reader.h"

namespace orbserve {

PowerReaders FindPowerReaders(const std::vector<DeviceDescription>& devices) {
  return FindNvmlPowerReaders(devices);
}

}  // namespace orbserve
