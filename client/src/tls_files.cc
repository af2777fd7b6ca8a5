// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/src/tls_files.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace orbserve::client {
namespace {

struct Freed {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using BioPtr = std::unique_ptr<BIO, Freed>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed>;
using CertificatePtr = std::unique_ptr<X509, Freed>;

// Gives OpenSSL an empty pass phrase for every key. Otherwise it would ask at the terminal.
char kNoPassPhrase[] = "";

absl::Status Refusal(absl::string_view what, const std::string& path) {
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", path));
}

// `kind`: "certificate" or "key".
absl::StatusOr<std::string> Read(absl::string_view kind, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(kind, " file cannot be read: ", path));
  return std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

BioPtr Reader(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// First certificate of `text`; null unless all of them can be read.
absl::StatusOr<CertificatePtr> FirstCertificate(const std::string& text, const std::string& path) {
  if (!absl::StrContains(text, "-----BEGIN CERTIFICATE-----")) {
    return Refusal("certificate file holds no PEM certificate", path);
  }
  ERR_clear_error();
  const BioPtr reader = Reader(text);
  CertificatePtr first;
  for (;;) {
    CertificatePtr next(PEM_read_bio_X509_AUX(reader.get(), nullptr, nullptr, kNoPassPhrase));
    if (next == nullptr) break;
    if (first == nullptr) first = std::move(next);
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (first == nullptr || !at_end) {
    return Refusal("certificate file holds a certificate that cannot be read", path);
  }
  ERR_clear_error();
  return first;
}

absl::Status CheckKey(const std::string& text, const ClientOptions& options, X509* certificate) {
  const BioPtr reader = Reader(text);
  const KeyPtr key(PEM_read_bio_PrivateKey(reader.get(), nullptr, nullptr, kNoPassPhrase));
  if (key == nullptr) {
    return Refusal("key file holds no private key that can be read without a pass phrase",
                   options.tls_key_file);
  }
  if (X509_check_private_key(certificate, key.get()) != 1) {
    return Refusal(
        absl::StrCat("key file is not that of the certificate in ", options.tls_cert_file),
        options.tls_key_file);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<grpc::SslCredentialsOptions> ReadTlsFiles(const ClientOptions& options) {
  if (options.tls_cert_file.empty() != options.tls_key_file.empty()) {
    return absl::InvalidArgumentError(
        "a client's certificate and its key must be given together; got one of them");
  }
  if (options.tls_ca_file.empty()) {
    return absl::InvalidArgumentError(
        "a client's certificate needs certificates to check the server with; got none");
  }
  grpc::SslCredentialsOptions result;
  absl::StatusOr<std::string> roots = Read("certificate", options.tls_ca_file);
  if (!roots.ok()) return roots.status();
  result.pem_root_certs = *std::move(roots);
  const auto root = FirstCertificate(result.pem_root_certs, options.tls_ca_file);
  if (!root.ok()) return root.status();
  if (options.tls_cert_file.empty()) return result;

  absl::StatusOr<std::string> chain = Read("certificate", options.tls_cert_file);
  if (!chain.ok()) return chain.status();
  result.pem_cert_chain = *std::move(chain);
  const auto own = FirstCertificate(result.pem_cert_chain, options.tls_cert_file);
  if (!own.ok()) return own.status();
  absl::StatusOr<std::string> key = Read("key", options.tls_key_file);
  if (!key.ok()) return key.status();
  result.pem_private_key = *std::move(key);
  if (absl::Status status = CheckKey(result.pem_private_key, options, own->get()); !status.ok()) {
    return status;
  }
  return result;
}

}  // namespace orbserve::client
