// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_INTERRUPT_H_
#define ORBSERVE_CLIENT_CLI_INTERRUPT_H_

#include <atomic>

namespace orbserve::cli {

// Makes SIGINT and SIGTERM ask the command to stop and to keep its finished outputs. The second
// signal ends the process immediately.
void CatchInterrupts();

// True after a signal has asked the command to stop.
bool Interrupted();

// Waits until a read of `fd` would not block. Returns false if the command was asked to stop
// before, or if `stop` (may be null) is set. Needed for pipes, whose writer may never come, or may
// stop writing without closing the pipe.
bool AwaitReadable(int fd, const std::atomic<bool>* stop = nullptr);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_INTERRUPT_H_
