// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_DEVICE_SYSFS_PROBE_H_
#define ORBSERVE_SERVER_TELEMETRY_DEVICE_SYSFS_PROBE_H_

#include <memory>
#include <string>

#include "server/telemetry/device/device_probe.h"

namespace orbserve {

// True on an NVIDIA Jetson module.
bool IsJetson(const std::string& root);

// Probe of a Jetson module, with its GPU: devfreq, cpufreq, thermal zones, throttle alerts, events
// of over-current, and the mode of nvpmodel.
std::unique_ptr<DeviceProbe> MakeJetsonProbe(const std::string& root);

// Probe of a machine's processors: cpufreq and their temperature.
std::unique_ptr<DeviceProbe> MakeProcessorProbe(const std::string& root);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_DEVICE_SYSFS_PROBE_H_
