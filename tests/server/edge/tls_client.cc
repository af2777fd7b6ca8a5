// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/server/edge/tls_client.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <memory>
#include <vector>

namespace orbserve::testing {
namespace {

constexpr unsigned char kProtocols[] = {2, 'h', '2'};

struct OpensslFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};
template <typename T>
using Owned = std::unique_ptr<T, OpensslFree>;

Owned<BIO> Reader(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Owned<SSL> MakeClient(const CertificateAndKey& own) {
  const Owned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_alpn_protos(context.get(), kProtocols, sizeof(kProtocols));
  if (!own.certificate.empty()) {
    const Owned<X509> certificate(
        PEM_read_bio_X509(Reader(own.certificate).get(), nullptr, nullptr, nullptr));
    const Owned<EVP_PKEY> key(
        PEM_read_bio_PrivateKey(Reader(own.key).get(), nullptr, nullptr, nullptr));
    SSL_CTX_use_certificate(context.get(), certificate.get());
    SSL_CTX_use_PrivateKey(context.get(), key.get());
  }
  Owned<SSL> client(SSL_new(context.get()));
  SSL_set_connect_state(client.get());
  return client;
}

}  // namespace

std::string FirstMessageOfTls() {
  const Owned<SSL> client = MakeClient({});
  BIO* const out = BIO_new(BIO_s_mem());
  SSL_set_bio(client.get(), BIO_new(BIO_s_mem()), out);
  SSL_do_handshake(client.get());
  std::vector<char> bytes(BIO_pending(out));
  BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
  return {bytes.begin(), bytes.end()};
}

bool ShakeHands(int socket, const CertificateAndKey& own, const std::string& message) {
  const Owned<SSL> client = MakeClient(own);
  SSL_set_fd(client.get(), socket);
  if (SSL_do_handshake(client.get()) != 1) return false;
  if (!message.empty() &&
      SSL_write(client.get(), message.data(), static_cast<int>(message.size())) <= 0) {
    return false;
  }
  const unsigned char* chosen = nullptr;
  unsigned chosen_bytes = 0;
  SSL_get0_alpn_selected(client.get(), &chosen, &chosen_bytes);
  return chosen_bytes == 2;
}

}  // namespace orbserve::testing
