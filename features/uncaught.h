// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_FEATURES_UNCAUGHT_H_
#define ORBSERVE_FEATURES_UNCAUGHT_H_

namespace orbserve {

// From now on a thread that cannot be started ends the process with exit code 1, after `tell` was
// called with that code and a text that names the limits. Every other exception that nothing
// catches aborts it, as without this call.
void ExplainMissingThreads(void (*tell)(int exit_code, const char* message));

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_UNCAUGHT_H_
