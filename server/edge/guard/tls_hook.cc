// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The part of the socket hook for TLS. gRPC decrypts with SSL_read() of the OpenSSL that it is
// linked with, and encrypts with SSL_write(). The definitions here are called instead, call
// OpenSSL's own, and show the plain bytes to a guard that the TLS connection carries. To gRPC a
// connection that breaks a bound looks as if its data were damaged. SSL_new() gives gRPC the object
// of a handshake that is complete (tls_adoption.h).

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>

#include "server/edge/guard/socket_hook.h"
#include "server/edge/guard/tls_adoption.h"
#include "server/edge/guard/tls_guard.h"

#if ORBSERVE_HAS_HOOKS

namespace orbserve {
namespace {

using Read = int (*)(SSL*, void*, int);
using Write = int (*)(SSL*, const void*, int);
using New = SSL* (*)(SSL_CTX*);
using SetAcceptState = void (*)(SSL*);

Read OwnReadOfOpenSsl() {
  static const Read read = reinterpret_cast<Read>(dlsym(RTLD_NEXT, "SSL_read"));
  return read;
}

Write OwnWriteOfOpenSsl() {
  static const Write write = reinterpret_cast<Write>(dlsym(RTLD_NEXT, "SSL_write"));
  return write;
}

New OwnNewOfOpenSsl() {
  static const New make = reinterpret_cast<New>(dlsym(RTLD_NEXT, "SSL_new"));
  return make;
}

SetAcceptState OwnSetAcceptStateOfOpenSsl() {
  static const SetAcceptState set =
      reinterpret_cast<SetAcceptState>(dlsym(RTLD_NEXT, "SSL_set_accept_state"));
  return set;
}

void FreeGuard(void*, void* guard, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<TlsGuard*>(guard);
}

int GuardIndex() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, &FreeGuard);
  return index;
}

// The guard that `ssl` carries; null where there is no memory for one.
TlsGuard* GuardOf(SSL* ssl) {
  auto* const known = static_cast<TlsGuard*>(SSL_get_ex_data(ssl, GuardIndex()));
  if (known != nullptr) return known;
  auto made = std::make_unique<TlsGuard>();
  if (SSL_set_ex_data(ssl, GuardIndex(), made.get()) != 1) return nullptr;
  return made.release();
}

}  // namespace
}  // namespace orbserve

extern "C" __attribute__((visibility("default"))) SSL* SSL_new(SSL_CTX* context) {
  if (SSL* const made = orbserve::TakeOfferedTls()) return made;
  const auto make = orbserve::OwnNewOfOpenSsl();
  return make == nullptr ? nullptr : make(context);
}

// gRPC calls this for each object that it gets. It would throw away the keys of a handshake.
extern "C" __attribute__((visibility("default"))) void SSL_set_accept_state(SSL* ssl) {
  if (SSL_is_init_finished(ssl) != 0) return;
  if (const auto set = orbserve::OwnSetAcceptStateOfOpenSsl()) set(ssl);
}

extern "C" __attribute__((visibility("default"))) int SSL_read(SSL* ssl, void* buffer, int size) {
  const auto read = orbserve::OwnReadOfOpenSsl();
  if (read == nullptr) return -1;
  const int count = read(ssl, buffer, size);
  if (count <= 0 || SSL_is_server(ssl) == 0) return count;
  orbserve::TlsGuard* const guard = orbserve::GuardOf(ssl);
  if (guard == nullptr ||
      guard->Received(static_cast<const uint8_t*>(buffer), static_cast<size_t>(count))) {
    return count;
  }
  ERR_raise(ERR_LIB_USER, ERR_R_OPERATION_FAIL);
  return -1;
}

extern "C" __attribute__((visibility("default"))) int SSL_write(SSL* ssl, const void* bytes,
                                                                int size) {
  const auto write = orbserve::OwnWriteOfOpenSsl();
  if (write == nullptr) return -1;
  const int count = write(ssl, bytes, size);
  if (count <= 0 || SSL_is_server(ssl) == 0) return count;
  if (orbserve::TlsGuard* const guard = orbserve::GuardOf(ssl)) {
    guard->Sent(static_cast<const uint8_t*>(bytes), static_cast<size_t>(count));
  }
  return count;
}

#endif

namespace orbserve {

bool HasTlsHook() { return ORBSERVE_HAS_HOOKS != 0; }

}  // namespace orbserve
