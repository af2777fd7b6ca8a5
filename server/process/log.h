// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The server's log: one line per event on standard error, "time level event=name key=value ...".
// Lines about a client name it: client=NAME (identity.h). Neither pixels nor names of references
// are logged. What clients can cause as often as they like is limited in rate.

#ifndef ORBSERVE_SERVER_PROCESS_LOG_H_
#define ORBSERVE_SERVER_PROCESS_LOG_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace orbserve {

// The thread that writes lines to standard error.
enum class LogWriter {
  kCaller,  // the one that logs; it waits where nobody reads standard error
  // One of the log's own, so that nobody else ever waits. It has room for 8192 lines; beyond that
  // the oldest ones are lost and counted. Whoever logs must have blocked its signals before.
  kThread,
};

// `level`: trace, debug, info, warning, error or off. INVALID_ARGUMENT otherwise. Protobuf's own
// lines go the same way, at level debug.
absl::Status SetUpLog(absl::string_view level, LogWriter writer);

// Waits until everything logged so far is written. False where that took longer than `most`.
bool FlushLog(std::chrono::milliseconds most);

// Lines lost since the start because standard error was not read.
int64_t LostLogLines();

// `text` as the value of a key: quoted where it is not one word, on one line.
std::string LogValue(absl::string_view text);

// A call or frame that failed. Faults of ours are errors, the rest of the table is told at level
// debug, because metrics count it. At most a few lines a second; how many were left out is said in
// the next one. `client`: whose it is; called only if the line is written.
void LogFailure(absl::string_view what, const absl::Status& status,
                absl::FunctionRef<std::string()> client);

// Something that a client did, at level info: `line()` is "event=name key=value ...". At most a few
// lines a second, as above.
void LogClientEvent(absl::FunctionRef<std::string()> line);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_LOG_H_
