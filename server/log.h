// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The server's log: one line per event on standard error, "time level event=name key=value ...".
// Neither pixels nor names of clients or references are logged. What clients can cause as often as
// they like is limited in rate.

#ifndef ORBSERVE_SERVER_LOG_H_
#define ORBSERVE_SERVER_LOG_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace orbserve {

// `level`: trace, debug, info, warning, error or off. INVALID_ARGUMENT otherwise. Protobuf's own
// lines go the same way, at level debug.
absl::Status SetUpLog(absl::string_view level);

// `text` as the value of a key: quoted where it is not one word, on one line.
std::string LogValue(absl::string_view text);

// A call or frame that failed. Faults of ours are errors, the rest of the table is told at level
// debug, because metrics count it. At most a few lines a second; how many were left out is said in
// the next one.
void LogFailure(absl::string_view what, const absl::Status& status);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_LOG_H_
