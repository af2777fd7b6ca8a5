// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_SERVER_INFO_H_
#define ORBSERVE_SERVER_RPC_SERVER_INFO_H_

#include "absl/strings/string_view.h"
#include "features/backend.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/config/config.pb.h"
#include "server/config/derived_limits.h"
#include "server/telemetry/device/device_monitor.h"
#include "server/telemetry/power/power_monitor.h"

namespace orbserve {

// Makes the limits that clients are told, of a complete configuration.
v1::ServerLimits MakeServerLimits(const server::Config& config, const DerivedLimits& derived);

// Makes the answer to GetServerInfo: the version, the backends of this build and the one in use,
// the presets, and the limits of a complete configuration. `power_source`: see
// PowerMonitor::source().
v1::GetServerInfoResponse MakeServerInfo(const server::Config& config, const DerivedLimits& derived,
                                         const FeatureBackend& backend,
                                         absl::string_view power_source);

// Adds what changes while the server runs: the condition of its devices, power and energy, and the
// JPEG frames of every decoder.
void AddConditions(const DeviceMonitor& devices, const PowerMonitor& power,
                   v1::GetServerInfoResponse* info);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_SERVER_INFO_H_
