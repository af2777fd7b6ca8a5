// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/tls_handshake.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "server/edge/openssl_owned.h"

namespace orbserve {
namespace {

// The defaults of gRPC, whose environment variable replaces them.
constexpr char kCiphersVariable[] = "GRPC_SSL_CIPHER_SUITES";
constexpr char kCiphers[] =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:"
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384";
constexpr char kCurves[] = "P-256";
constexpr unsigned char kHttp2[] = {'h', '2'};
constexpr unsigned char kSessionContext[] = {'g', 'r', 'p', 'c'};  // of tickets

// gRPC refuses a client that does not speak HTTP/2, once the handshake is complete.
int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* chosen_bytes,
                   const unsigned char* offered, unsigned offered_bytes, void*) {
  while (offered_bytes > 0 && offered_bytes > offered[0]) {
    const unsigned char bytes = offered[0];
    if (bytes == sizeof(kHttp2) && std::equal(kHttp2, kHttp2 + sizeof(kHttp2), offered + 1)) {
      *chosen = offered + 1;
      *chosen_bytes = bytes;
      return SSL_TLSEXT_ERR_OK;
    }
    offered += bytes + 1;
    offered_bytes -= bytes + 1u;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

// Why the handshake failed whose error is first in OpenSSL's queue.
HandshakeFailure FailureOf(const SSL* session) {
  using Cause = HandshakeFailure::Cause;
  const unsigned long error = ERR_peek_error();
  const int reason = ERR_GET_REASON(error);
  if (error == 0 || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) return {};
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    const long result = SSL_get_verify_result(session);
    return {result == X509_V_ERR_CERT_HAS_EXPIRED ? Cause::kExpiredCertificate
                                                  : Cause::kWrongCertificate,
            X509_verify_cert_error_string(result)};
  }
  const char* const text = ERR_reason_error_string(error);
  return {reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE ? Cause::kNoCertificate : Cause::kOther,
          text == nullptr ? "" : text};
}

}  // namespace

void TlsSessionDeleter::operator()(ssl_st* session) const { SSL_free(session); }

std::shared_ptr<ssl_ctx_st> MakeTlsContext() {
  const char* const ciphers = std::getenv(kCiphersVariable);
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), OpensslFree());
  const bool is_made =
      context != nullptr && SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) == 1 &&
      SSL_CTX_set_max_proto_version(context.get(), TLS1_3_VERSION) == 1 &&
      SSL_CTX_set_cipher_list(context.get(), ciphers == nullptr ? kCiphers : ciphers) == 1 &&
      SSL_CTX_set1_groups_list(context.get(), kCurves) == 1 &&
      SSL_CTX_set_session_id_context(context.get(), kSessionContext, sizeof(kSessionContext)) == 1;
  ERR_clear_error();
  if (!is_made) return nullptr;
  SSL_CTX_set_alpn_select_cb(context.get(), &ChooseProtocol, nullptr);
  return context;
}

TlsSession BeginHandshake(ssl_ctx_st* context, int socket) {
  TlsSession session(SSL_new(context));
  if (session == nullptr || SSL_set_fd(session.get(), socket) != 1) return nullptr;
  // Handshakes that wait hold no buffers.
  SSL_set_mode(session.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_set_accept_state(session.get());
  return session;
}

HandshakeProgress ContinueHandshake(ssl_st* session, HandshakeFailure* failure) {
  ERR_clear_error();
  const int result = SSL_do_handshake(session);
  if (result == 1) {
    SSL_clear_mode(session, SSL_MODE_RELEASE_BUFFERS);
    return HandshakeProgress::kDone;
  }
  const int error = SSL_get_error(session, result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    ERR_clear_error();
    return HandshakeProgress::kWaits;
  }
  if (failure != nullptr && error == SSL_ERROR_SSL) *failure = FailureOf(session);
  ERR_clear_error();
  return HandshakeProgress::kFailed;
}

}  // namespace orbserve
