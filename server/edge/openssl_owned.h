// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Objects of OpenSSL that free themselves.

#ifndef ORBSERVE_SERVER_EDGE_OPENSSL_OWNED_H_
#define ORBSERVE_SERVER_EDGE_OPENSSL_OWNED_H_

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace orbserve {

struct OpensslFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};
template <typename T>
using OpensslOwned = std::unique_ptr<T, OpensslFree>;

// Reads `text`, which must outlive it.
inline OpensslOwned<BIO> PemReader(const std::string& text) {
  return OpensslOwned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Gives no pass phrase for any object. Without this OpenSSL would ask at the terminal.
inline char kNoPassPhrase[] = "";

// Null at the end and for what is no certificate; OpenSSL's queue of errors has the reason.
inline OpensslOwned<X509> NextCertificate(BIO* reader) {
  return OpensslOwned<X509>(PEM_read_bio_X509_AUX(reader, nullptr, nullptr, kNoPassPhrase));
}
inline OpensslOwned<EVP_PKEY> NextPrivateKey(BIO* reader) {
  return OpensslOwned<EVP_PKEY>(PEM_read_bio_PrivateKey(reader, nullptr, nullptr, kNoPassPhrase));
}

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_OPENSSL_OWNED_H_
