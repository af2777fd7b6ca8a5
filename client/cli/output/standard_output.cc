// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/standard_output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "client/cli/output/terminal_text.h"

namespace orbserve::cli {

namespace {

void Print(absl::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace

void PrintText(absl::string_view text) {
  static const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  is_terminal ? PrintTable(text) : Print(text);
}

void PrintTable(absl::string_view text) { Print(TerminalText(text)); }

void PrintControl(absl::string_view sequence) { Print(sequence); }

void PrintLine(absl::string_view line) {
  PrintText(line);
  std::fputc('\n', stdout);
}

absl::Status FlushStandardOutput() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return absl::OkStatus();
  // The stream remembers that an earlier write failed, but not why.
  const char* reason = errno != 0 ? std::strerror(errno) : "a write failed";
  return absl::DataLossError(absl::StrCat("standard output is not complete: ", reason));
}

}  // namespace orbserve::cli
