// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/failure.h"

#include "client/cli/exit_code.h"
#include "orbserve/client.h"

namespace orbserve::cli {

std::string ErrorText(const absl::Status& status) {
  if (!status.message().empty()) return std::string(status.message());
  return absl::StatusCodeToString(status.code());
}

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
      return kExitUsage;
    case absl::StatusCode::kUnavailable:
      return kExitUnreachable;
    default:
      return kExitFailed;
  }
}

int Fail(Console* console, const absl::Status& status) {
  console->Error(ErrorText(status));
  return ExitCodeOf(status);
}

int FailCall(Console* console, const absl::Status& status) {
  console->Error(ErrorText(status));
  return ExitCodeOfCall(status);
}

int ExitCodeOfCall(const absl::Status& status) {
  if (client::WireStatusOf(status).reason() == "BAD_OPTIONS") return kExitUsage;
  return absl::IsUnavailable(status) ? kExitUnreachable : kExitFailed;
}

}  // namespace orbserve::cli
