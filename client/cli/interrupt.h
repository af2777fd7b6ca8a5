// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_INTERRUPT_H_
#define ORBSERVE_CLIENT_CLI_INTERRUPT_H_

#include <atomic>

namespace orbserve::cli {

// From now on SIGINT and SIGTERM ask the command to stop and keep what is done; a second one ends
// the process at once.
void CatchInterrupts();

// Whether the command has been asked to stop.
bool Interrupted();

// Waits until a read of `fd` would not block; false when the command has been asked to stop by
// then, or `stop` (may be null) is set: whoever feeds a pipe may never come, or stop to write
// without closing it.
bool AwaitReadable(int fd, const std::atomic<bool>* stop = nullptr);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_INTERRUPT_H_
