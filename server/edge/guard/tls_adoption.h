// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Has gRPC take over a TLS connection whose handshake is complete. gRPC 1.51 makes the object of
// OpenSSL in the thread that hands the connection over; it gets the one that is offered there
// (tls_hook.cc), finds the handshake done, and goes on with HTTP/2.

#ifndef ORBSERVE_SERVER_EDGE_GUARD_TLS_ADOPTION_H_
#define ORBSERVE_SERVER_EDGE_GUARD_TLS_ADOPTION_H_

#include "server/edge/tls_handshake.h"

namespace orbserve {

// While it lives, the thread that made it hands one connection over.
class TlsAdoption {
 public:
  // `session`: of the connection. Null: gRPC makes the handshake itself.
  explicit TlsAdoption(TlsSession session);
  ~TlsAdoption();
  TlsAdoption(const TlsAdoption&) = delete;
  TlsAdoption& operator=(const TlsAdoption&) = delete;

  // True once gRPC has asked for an object while one of these was alive: it can be given another.
  static bool is_used();
  // For the hook: what this thread offers. Null where gRPC is to make its own.
  static ssl_st* Take();

 private:
  TlsSession session_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_GUARD_TLS_ADOPTION_H_
