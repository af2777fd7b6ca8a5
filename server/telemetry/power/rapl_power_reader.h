// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Energy counters of x86 processors (RAPL: Intel since Sandy Bridge, AMD Zen) by the kernel's
// powercap files. Since Linux 5.10 only root reads them (CVE-2020-8694); docs/metrics.md says what
// an operator can do.

#ifndef ORBSERVE_SERVER_TELEMETRY_POWER_RAPL_POWER_READER_H_
#define ORBSERVE_SERVER_TELEMETRY_POWER_RAPL_POWER_READER_H_

#include <string>

#include "server/telemetry/power/power_reader.h"

namespace orbserve {

// Rails of the processors' packages and of what lies in them, and their total, the packages and
// their memory, which has the scope "total" and belongs to `device`. A counter that wraps goes on
// here as if it had not, provided that it is read more often than it wraps (15 minutes at least).
// `root`: before every path, for tests.
PowerReaders FindRaplPowerReaders(const std::string& device, const std::string& root = "");

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_POWER_RAPL_POWER_READER_H_
