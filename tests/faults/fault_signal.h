// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_FAULTS_FAULT_SIGNAL_H_
#define ORBSERVE_TESTS_FAULTS_FAULT_SIGNAL_H_

#include <signal.h>

namespace orbserve {

// Asks the server with faults for its fault. The server itself uses SIGRTMIN and ignores SIGUSR1.
inline int FaultSignal() { return SIGRTMIN + 1; }

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_FAULTS_FAULT_SIGNAL_H_
