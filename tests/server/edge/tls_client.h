// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_SERVER_EDGE_TLS_CLIENT_H_
#define ORBSERVE_TESTS_SERVER_EDGE_TLS_CLIENT_H_

#include <memory>
#include <string>

#include "server/edge/tls_files.h"
#include "tests/support/certificates.h"

namespace orbserve::testing {

// The server's settings with these files.
std::shared_ptr<ssl_ctx_st> ServerContext(const CertificateAndKey& own,
                                          const std::string& client_ca = "");

// The ClientHello of a client of HTTP/2.
std::string FirstMessageOfTls();

// The client's part of a handshake on `socket`, which blocks. It asks for HTTP/2, shows `own`, if
// that is not empty, and believes every server. True if the handshake is complete, `message` was
// sent, and the server has chosen HTTP/2.
bool ShakeHands(int socket, const CertificateAndKey& own = {}, const std::string& message = "");

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SERVER_EDGE_TLS_CLIENT_H_
