// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_INTERRUPT_H_
#define ORBSERVE_CLIENT_CLI_INTERRUPT_H_

#include <atomic>

#include "absl/time/time.h"

namespace orbserve::cli {

// Time that an interrupted command may wait for the answers to what it has sent.
inline constexpr absl::Duration kInterruptGrace = absl::Milliseconds(500);

// Makes SIGINT and SIGTERM ask the command to stop and to keep its finished outputs. A command that
// has not ended within a second, wherever it is, is ended with the exit code of an interrupt. The
// second signal ends the process immediately.
void CatchInterrupts();

// How long a wait that a signal does not end may last before it looks at Interrupted() again.
inline constexpr absl::Duration kInterruptPoll = absl::Milliseconds(50);

// True after a signal has asked the command to stop.
bool Interrupted();

// Waits until a read of `fd` would not block. Returns false if the command was asked to stop
// before, or if `stop` (may be null) is set. Needed for pipes, whose writer may never come, or may
// stop writing without closing the pipe.
bool AwaitReadable(int fd, const std::atomic<bool>* stop = nullptr);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_INTERRUPT_H_
