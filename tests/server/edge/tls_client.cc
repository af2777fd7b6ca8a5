// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/server/edge/tls_client.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <vector>

#include "server/edge/openssl_owned.h"
#include "tests/client/temporary_folder.h"

namespace orbserve::testing {
namespace {

constexpr unsigned char kProtocols[] = {2, 'h', '2'};

OpensslOwned<SSL> MakeClient(const CertificateAndKey& own) {
  const OpensslOwned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_alpn_protos(context.get(), kProtocols, sizeof(kProtocols));
  if (!own.certificate.empty()) {
    const OpensslOwned<X509> certificate = NextCertificate(PemReader(own.certificate).get());
    const OpensslOwned<EVP_PKEY> key = NextPrivateKey(PemReader(own.key).get());
    SSL_CTX_use_certificate(context.get(), certificate.get());
    SSL_CTX_use_PrivateKey(context.get(), key.get());
  }
  OpensslOwned<SSL> client(SSL_new(context.get()));
  SSL_set_connect_state(client.get());
  return client;
}

}  // namespace

std::shared_ptr<ssl_ctx_st> ServerContext(const CertificateAndKey& own,
                                          const std::string& client_ca) {
  const TemporaryFolder folder;
  TlsPaths paths = {folder.Write("cert.pem", own.certificate), folder.Write("key.pem", own.key),
                    ""};
  if (!client_ca.empty()) paths.client_ca_file = folder.Write("ca.pem", client_ca);
  const auto files = ReadTlsFiles(paths);
  return files.ok() ? files->context : nullptr;
}

std::string FirstMessageOfTls() {
  const OpensslOwned<SSL> client = MakeClient({});
  BIO* const out = BIO_new(BIO_s_mem());
  SSL_set_bio(client.get(), BIO_new(BIO_s_mem()), out);
  SSL_do_handshake(client.get());
  std::vector<char> bytes(BIO_pending(out));
  BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
  return {bytes.begin(), bytes.end()};
}

bool ShakeHands(int socket, const CertificateAndKey& own, const std::string& message) {
  const OpensslOwned<SSL> client = MakeClient(own);
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
