// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Rails of NVIDIA Jetson modules, measured by chips on their I2C buses.
//
// Three drivers are read: `ina3221x` (L4T to 32: JetPack 4), which tells milliwatts; the kernel's
// own `ina3221` (L4T from 34 on: JetPack 5 to 7), which tells millivolts and milliamperes; and
// `ina238`, which measures the input of a Thor in microwatts. Chips are found by the names of
// drivers and rails, because numbers of hwmon devices change from start to start.
//
// The figures exclude the carrier board, except for rails of the carrier and the input of a Thor.
// Current may be negative at rest: power is told as it is measured.

#ifndef ORBSERVE_SERVER_TELEMETRY_POWER_JETSON_POWER_READER_H_
#define ORBSERVE_SERVER_TELEMETRY_POWER_JETSON_POWER_READER_H_

#include <string>

#include "server/telemetry/power/power_reader.h"

namespace orbserve {

// Rails of the module and its total. The total, which has the scope "total", belongs to `device`:
// the rail of the module's input where there is one, else a sum that has no part twice. Rails have
// the scope "rail". A module whose rails are not known has no total, and neither has one of whose
// parts some cannot be read. `root`: before every path, for tests.
PowerReaders FindJetsonPowerReaders(const std::string& device, const std::string& root = "");

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_POWER_JETSON_POWER_READER_H_
