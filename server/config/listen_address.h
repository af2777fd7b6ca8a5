// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_CONFIG_LISTEN_ADDRESS_H_
#define ORBSERVE_SERVER_CONFIG_LISTEN_ADDRESS_H_

#include "absl/status/status.h"
#include "server/config/config.pb.h"

namespace orbserve {

// Checks the addresses of a configuration: `listen` and `http_listen` have the form that
// docs/configuration.md says, the folder of a Unix socket is there, the two differ, and plain text
// is served only where it is allowed. BAD_OPTIONS with one line for each mistake. Obstacles that
// may be gone the next time (an address in use, a name that does not resolve now) are not checked.
absl::Status CheckListenAddresses(const server::Config& config);

// True where other machines may reach `http_listen`, which has neither TLS nor a password.
bool HttpIsOpenToOthers(const server::Config& config);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_CONFIG_LISTEN_ADDRESS_H_
