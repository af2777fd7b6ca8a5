// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_EDGE_GUARD_TLS_ADOPTION_H_
#define ORBSERVE_SERVER_EDGE_GUARD_TLS_ADOPTION_H_

#include "server/edge/tls_handshake.h"

namespace orbserve {

// gRPC 1.51 makes OpenSSL's object of a connection in the thread that hands the connection over.
// It gets the one that a TlsAdoption offers there, finds the handshake done, and goes on with
// HTTP/2. Returns what this thread offers; null where gRPC is to make its own.
ssl_st* TakeOfferedTls();

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_GUARD_TLS_ADOPTION_H_
