// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_EXIT_CODE_H_
#define ORBSERVE_CLIENT_CLI_EXIT_CODE_H_

namespace orbserve::cli {

// What the program tells its caller.
enum ExitCode : int {
  kExitOk = 0,            // all done
  kExitFailed = 1,        // some input failed; the rest is done and kept. `health`: not serving
  kExitUsage = 2,         // wrong usage; nothing was done
  kExitUnreachable = 3,   // the server cannot be reached
  kExitInterrupted = 130  // SIGINT; what was done is kept
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_EXIT_CODE_H_
