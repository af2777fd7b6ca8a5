// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The server's part of TLS handshakes. gRPC gets a connection when its handshake is complete
// (TlsAdoption): a handshake that never ends costs gRPC and its threads nothing.

#ifndef ORBSERVE_SERVER_EDGE_TLS_HANDSHAKE_H_
#define ORBSERVE_SERVER_EDGE_TLS_HANDSHAKE_H_

#include <memory>
#include <string>

struct ssl_st;      // SSL
struct ssl_ctx_st;  // SSL_CTX

namespace orbserve {

struct TlsSessionDeleter {
  void operator()(ssl_st* session) const;
};
// The TLS of one connection.
using TlsSession = std::unique_ptr<ssl_st, TlsSessionDeleter>;

// Settings of handshakes, equal to those of gRPC 1.51: protocols, ciphers, curve. Certificates are
// still to be added (tls_files.h). Null where OpenSSL makes none.
std::shared_ptr<ssl_ctx_st> MakeTlsContext();

// A handshake on `socket`, which does not block and outlives it. Null where there is no memory.
TlsSession BeginHandshake(ssl_ctx_st* context, int socket);

enum class HandshakeProgress { kWaits, kDone, kFailed };
// Why a handshake failed.
struct HandshakeFailure {
  enum class Cause {
    kEnded,               // the client went away
    kNoCertificate,       // the client has none
    kWrongCertificate,    // of no authority that is known, or not valid yet
    kExpiredCertificate,  // of a known authority
    kOther,               // no TLS, or an error in it
  };
  Cause cause = Cause::kEnded;
  std::string text;  // of OpenSSL
};
// Does what can be done with the bytes that have arrived. kWaits: for the client. kDone: everything
// was read that belongs to the handshake, and nothing more. kFailed: `failure` says why, unless it
// is null.
HandshakeProgress ContinueHandshake(ssl_st* session, HandshakeFailure* failure);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_TLS_HANDSHAKE_H_
