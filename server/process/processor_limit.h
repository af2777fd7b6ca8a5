// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_PROCESS_PROCESSOR_LIMIT_H_
#define ORBSERVE_SERVER_PROCESS_PROCESSOR_LIMIT_H_

#include <string>

namespace orbserve {

// Processors that this process may use, > 0, maybe a fraction: those that it may run on, or less by
// the quotas of its cgroups and of their parents. `root`: where /proc and /sys lie, for tests.
double FindProcessorLimit(const std::string& root = "");

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_PROCESSOR_LIMIT_H_
