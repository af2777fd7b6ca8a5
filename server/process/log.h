// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The server's log: one line per event on standard error, as text or as JSON (log_format.h). Lines
// about a client name it: client=NAME (identity.h). Neither pixels nor names of references are
// logged. What clients can cause as often as they like is limited in rate.

#ifndef ORBSERVE_SERVER_PROCESS_LOG_H_
#define ORBSERVE_SERVER_PROCESS_LOG_H_

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/process/log_format.h"

namespace orbserve {

// The thread that writes lines to standard error.
enum class LogWriter {
  kCaller,  // the one that logs; it waits where nobody reads standard error
  // One of the log's own, so that nobody else ever waits. It has room for 8192 lines; beyond that
  // the oldest ones are lost and counted. Whoever logs must have blocked its signals before.
  kThread,
};

struct LogOptions {
  std::string level = "info";  // trace, debug, info, warning, error or off
  LogFormat format = LogFormat::kText;
  LogWriter writer = LogWriter::kCaller;
};

// INVALID_ARGUMENT: the level is none. Protobuf's own lines go the same way, at level debug.
absl::Status SetUpLog(const LogOptions& options);

// Makes the log tell more, which is the next lower level, or less: from trace to error. The new
// level is logged.
void StepLogLevel(bool more);

// The last line of a process that ends with `exit_code` because of an error, whatever the level of
// the log. Written by the caller, after what waits in the log; a log that is not set up does not
// matter.
void WriteFatal(LogFormat format, int exit_code, absl::string_view message);

// Waits until everything logged so far is written. False where that took longer than `most`.
bool FlushLog(std::chrono::milliseconds most);

// Lines lost since the start because standard error was not read, or could not be written.
int64_t LostLogLines();

// Lets `burst` lines of a kind pass in each second and counts the rest. Thread-safe.
class RateLimit {
 public:
  explicit RateLimit(int burst = 10) : burst_(burst) {}
  // True if this line passes; `left_out` then says how many before it did not.
  bool Pass(int64_t& left_out);

 private:
  const int burst_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point second_{};
  int passed_ = 0;
  int64_t left_out_ = 0;
};

// A call or frame that failed. Faults of ours are errors, the rest of the table is told at level
// debug, because metrics count it. At most a few lines a second; how many were left out is said in
// the next one. `client`: whose it is; called only if the line is written.
void LogFailure(absl::string_view what, const absl::Status& status,
                absl::FunctionRef<std::string()> client);

// A call has ended, at level debug: one line of each call, however many there are. `caller()` is
// "client=NAME address=ADDRESS" (identity.h). `method`: without package and service.
void LogCall(absl::string_view method, absl::StatusCode code, std::chrono::nanoseconds time,
             absl::FunctionRef<std::string()> caller);

// Kinds of what clients do; a flood of one leaves the lines of the others alone.
enum class ClientEvent { kStream, kReference };

// Something that a client did, at level info: `line()` is "event=name key=value ...". At most a few
// lines of the kind in a second, as above.
void LogClientEvent(ClientEvent kind, absl::FunctionRef<std::string()> line);
// This one takes a limit of the caller's own.
void LogClientEvent(RateLimit& limit, absl::FunctionRef<std::string()> line);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_LOG_H_
