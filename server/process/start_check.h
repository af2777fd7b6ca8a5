// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_PROCESS_START_CHECK_H_
#define ORBSERVE_SERVER_PROCESS_START_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/process/config.pb.h"

namespace orbserve {

// Finds the mistakes that would keep the program from starting this time and every other time:
// addresses that cannot be read, plain text where it is not allowed, certificates and keys that
// cannot be used (server/edge/tls_files.h), and tokens that cannot be read
// (server/clients/token_file.h). `config` is complete and valid (ValidateConfig). BAD_OPTIONS.
// Obstacles that may be gone the next time (an address in use, a name that does not resolve now)
// are not checked.
absl::Status CheckStart(const server::Config& config);

// True for addresses that only this machine reaches: a Unix socket, localhost, 127.0.0.0/8, [::1].
bool IsLocalAddress(absl::string_view address);

// HOST:PORT or [IPV6]:PORT with a port of 0..65535, unix:PATH or unix-abstract:NAME. BAD_OPTIONS.
absl::Status CheckListenAddress(absl::string_view address);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_START_CHECK_H_
