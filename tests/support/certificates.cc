// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/certificates.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>

namespace orbserve::testing {
namespace {

// No test goes on without its certificates.
void Require(bool done, const char* what) {
  if (done) return;
  std::fprintf(stderr, "certificates for tests: %s failed\n", what);
  std::abort();
}

std::string TakeText(BIO* bio) {
  char* bytes = nullptr;
  const long count = BIO_get_mem_data(bio, &bytes);  // NOLINT(google-runtime-int)
  std::string text(bytes, static_cast<size_t>(count));
  BIO_free(bio);
  return text;
}

BIO* Reader(const std::string& text) {
  return BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
}

void AddExtension(X509* certificate, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
  Require(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1, value);
  X509_EXTENSION_free(extension);
}

}  // namespace

CertificateAndKey MakeCertificate(const CertificateOptions& options) {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  Require(key != nullptr, "EVP_EC_gen");
  X509* const certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  uint32_t serial = 0;
  Require(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial)) == 1, "RAND_bytes");
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), options.begin_s);
  X509_gmtime_adj(X509_getm_notAfter(certificate), options.end_s);
  X509_set_pubkey(certificate, key);
  X509_NAME* const name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(options.common_name.c_str()),
                             -1, -1, 0);
  X509* issuer = nullptr;
  EVP_PKEY* issuer_key = nullptr;
  if (options.issuer != nullptr) {
    BIO* const text = Reader(options.issuer->certificate);
    issuer = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
    Require(issuer != nullptr, "PEM_read_bio_X509");
    BIO_free(text);
    BIO* const key_text = Reader(options.issuer->key);
    issuer_key = PEM_read_bio_PrivateKey(key_text, nullptr, nullptr, nullptr);
    Require(issuer_key != nullptr, "PEM_read_bio_PrivateKey");
    BIO_free(key_text);
  }
  X509_set_issuer_name(certificate, issuer == nullptr ? name : X509_get_subject_name(issuer));
  AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  if (!options.alternative_names.empty()) {
    AddExtension(certificate, NID_subject_alt_name, options.alternative_names.c_str());
  }
  Require(X509_sign(certificate, issuer_key == nullptr ? key : issuer_key, EVP_sha256()) > 0,
          "X509_sign");
  X509_free(issuer);
  EVP_PKEY_free(issuer_key);

  CertificateAndKey made;
  BIO* const certificate_text = BIO_new(BIO_s_mem());
  Require(PEM_write_bio_X509(certificate_text, certificate) == 1, "PEM_write_bio_X509");
  made.certificate = TakeText(certificate_text);
  BIO* const key_text = BIO_new(BIO_s_mem());
  Require(PEM_write_bio_PKCS8PrivateKey(
              key_text, key, options.pass_phrase.empty() ? nullptr : EVP_aes_128_cbc(),
              options.pass_phrase.data(), static_cast<int>(options.pass_phrase.size()), nullptr,
              nullptr) == 1,
          "PEM_write_bio_PKCS8PrivateKey");
  made.key = TakeText(key_text);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return made;
}

}  // namespace orbserve::testing
