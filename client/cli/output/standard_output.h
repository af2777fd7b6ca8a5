// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Results on standard output. Messages for people go to standard error (console.h).

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_STANDARD_OUTPUT_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_STANDARD_OUTPUT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace orbserve::cli {

// Writes data: as it is into a file or a pipe, as TerminalText() on a terminal.
void PrintText(absl::string_view text);

// Writes data and a line break.
void PrintLine(absl::string_view line);

// Writes a text for people, as TerminalText().
void PrintTable(absl::string_view text);

// Writes a sequence that controls the terminal.
void PrintControl(absl::string_view sequence);

// Flushes standard output. DATA_LOSS: some of the output of this process could not be written, for
// example because a disk is full.
absl::Status FlushStandardOutput();

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_STANDARD_OUTPUT_H_
