// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The program orbserve-server, apart from its main().

#ifndef ORBSERVE_SERVER_PROGRAM_H_
#define ORBSERVE_SERVER_PROGRAM_H_

#include "server/failover/failover_backend.h"

namespace orbserve {

// Serves until SIGTERM, SIGINT or the loss of a device, and returns or ends with the exit code: 0
// stopped as asked, with every accepted request answered; 1 could not start, or requests were cut
// at the end of the drain; 2 wrong usage or configuration; 3 a device was lost and the process must
// be started anew (within two seconds of the loss, without running destructors).
int RunServerProgram(int argc, char** argv, BackendWrapper wrap_backend = nullptr);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROGRAM_H_
