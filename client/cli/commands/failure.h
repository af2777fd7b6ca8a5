// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Errors that end a command: their text and their exit code.

#ifndef ORBSERVE_CLIENT_CLI_COMMANDS_FAILURE_H_
#define ORBSERVE_CLIENT_CLI_COMMANDS_FAILURE_H_

#include <string>

#include "absl/status/status.h"
#include "client/cli/output/console.h"

namespace orbserve::cli {

// "REASON: message" of a status; the name of its code when it has no message.
std::string ErrorText(const absl::Status& status);

// Exit code for an error that ends a command.
int ExitCodeOf(const absl::Status& status);

// Prints the error and returns ExitCodeOf(status). `status` does not come from a call that carries
// an image or a reference; FailCall handles those.
int Fail(Console* console, const absl::Status& status);

// Prints the error of a call that carries an image or a reference and returns its exit code. In
// such a call INVALID_ARGUMENT and UNIMPLEMENTED may refer to the image. It is wrong usage only if
// the reason is BAD_OPTIONS.
int FailCall(Console* console, const absl::Status& status);

// Exit code of FailCall, for an error that is printed otherwise.
int ExitCodeOfCall(const absl::Status& status);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_COMMANDS_FAILURE_H_
