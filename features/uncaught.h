// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_FEATURES_UNCAUGHT_H_
#define ORBSERVE_FEATURES_UNCAUGHT_H_

namespace orbserve {

// From now on a thread that cannot be started ends the process with a line on standard error that
// names the limits, and with exit code 1. Every other exception that nothing catches aborts it, as
// without this call. `program`: its name, for the line; it must stay valid.
void ExplainMissingThreads(const char* program);

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_UNCAUGHT_H_
