// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The part of the socket hook for TLS. gRPC decrypts with SSL_read() of the OpenSSL that it is
// linked with, and encrypts with SSL_write(). The definitions here are called instead, call
// OpenSSL's own, and show the plain bytes to the GuardTable. To gRPC a connection that breaks a
// bound looks as if its data were damaged. SSL_new() gives gRPC the object
// of a handshake that is complete (TlsAdoption).

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>

#include "server/edge/guard/guard_table.h"
#include "server/edge/guard/socket_hook.h"

#if ORBSERVE_HAS_HOOKS

namespace orbserve {
namespace {

// OpenSSL's own function of this name.
template <typename Function>
Function* OwnOfOpenSsl(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// The key by which the GuardTable knows a TLS connection travels with OpenSSL's object.
static_assert(sizeof(void*) >= sizeof(uint64_t));

int KeyIndex() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

uint64_t KeyOf(const SSL* ssl) {
  return reinterpret_cast<uint64_t>(SSL_get_ex_data(ssl, KeyIndex()));
}

// The first handshake of a process, too, is made before gRPC has the connection.
[[maybe_unused]] const bool is_expected = [] {
  const bool is_first = dlsym(RTLD_DEFAULT, "SSL_new") == reinterpret_cast<void*>(&SSL_new);
  if (is_first) ExpectTlsAdoption();
  return is_first;
}();

}  // namespace
}  // namespace orbserve

extern "C" __attribute__((visibility("default"))) SSL* SSL_new(SSL_CTX* context) {
  static auto* const make = orbserve::OwnOfOpenSsl<decltype(SSL_new)>("SSL_new");
  const orbserve::OfferedTls offered = orbserve::TakeOfferedTls();
  SSL* const ssl = offered.session != nullptr ? offered.session : make(context);
  if (ssl != nullptr && offered.descriptor >= 0) {
    const uint64_t key = orbserve::GuardTable::Get().TlsKeyOf(offered.descriptor);
    SSL_set_ex_data(ssl, orbserve::KeyIndex(), reinterpret_cast<void*>(key));
  }
  return ssl;
}

// gRPC calls this for each object that it gets. It would throw away the keys of a handshake.
extern "C" __attribute__((visibility("default"))) void SSL_set_accept_state(SSL* ssl) {
  static auto* const set =
      orbserve::OwnOfOpenSsl<decltype(SSL_set_accept_state)>("SSL_set_accept_state");
  if (SSL_is_init_finished(ssl) == 0) set(ssl);
}

extern "C" __attribute__((visibility("default"))) int SSL_read(SSL* ssl, void* buffer, int size) {
  static auto* const read = orbserve::OwnOfOpenSsl<decltype(SSL_read)>("SSL_read");
  const int count = read(ssl, buffer, size);
  if (count <= 0 || orbserve::GuardTable::Get().Decrypted(orbserve::KeyOf(ssl), buffer,
                                                          static_cast<size_t>(count))) {
    return count;
  }
  ERR_raise(ERR_LIB_USER, ERR_R_OPERATION_FAIL);
  return -1;
}

extern "C" __attribute__((visibility("default"))) int SSL_write(SSL* ssl, const void* bytes,
                                                                int size) {
  static auto* const write = orbserve::OwnOfOpenSsl<decltype(SSL_write)>("SSL_write");
  const int count = write(ssl, bytes, size);
  if (count > 0) {
    orbserve::GuardTable::Get().Encrypted(orbserve::KeyOf(ssl), bytes, static_cast<size_t>(count));
  }
  return count;
}

#endif

namespace orbserve {

bool HasTlsHook() { return ORBSERVE_HAS_HOOKS != 0; }

}  // namespace orbserve
