// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_EXIT_CODE_H_
#define ORBSERVE_CLIENT_CLI_EXIT_CODE_H_

namespace orbserve::cli {

// Exit codes of the program.
enum ExitCode : int {
  kExitOk = 0,            // everything is done
  kExitFailed = 1,        // some input failed, the others are done; `health`: not serving
  kExitUsage = 2,         // wrong usage; no image was sent
  kExitUnreachable = 3,   // the server cannot be reached
  kExitInterrupted = 130  // SIGINT or SIGTERM; finished outputs are kept
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_EXIT_CODE_H_
