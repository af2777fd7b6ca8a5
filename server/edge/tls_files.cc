// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/tls_files.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"
#include "server/edge/openssl_owned.h"
#include "server/process/mistakes.h"
#include "server/process/text_file.h"

namespace orbserve {
namespace {

// A field of the configuration, the file that it names, and the contents of the file.
struct NamedText {
  absl::string_view field;
  const std::string& path;
  std::string text;
};

absl::Status Unusable(const NamedText& file, absl::string_view why) {
  return MakeError(ErrorReason::kBadOptions, absl::StrCat(file.field, " ", file.path, ": ", why));
}

// Unusable() with OpenSSL's reason, which this takes from OpenSSL's queue.
absl::Status OpensslUnusable(const NamedText& file, absl::string_view why) {
  const char* const reason = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return Unusable(file, reason == nullptr ? std::string(why) : absl::StrCat(why, ": ", reason));
}

// `mark` is in every PEM file of the kind.
absl::Status Read(absl::string_view mark, NamedText* file) {
  absl::StatusOr<std::string> text = ReadTextFile(file->path);
  if (!text.ok()) {
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat(file->field, " ", text.status().message()));
  }
  file->text = *std::move(text);
  if (absl::StrContains(file->text, mark)) return absl::OkStatus();
  return Unusable(*file, absl::StrCat("is not a PEM file with ", mark));
}

// True when there was no certificate to read, false when there was a bad one.
bool IsAtEnd() { return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE; }

absl::Status CheckNotExpired(const NamedText& file, const X509* certificate) {
  const ASN1_TIME* const end = X509_get0_notAfter(certificate);
  if (X509_cmp_current_time(end) > 0) return absl::OkStatus();
  const OpensslOwned<BIO> writer(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(writer.get(), end);
  char* text = nullptr;
  const auto size = BIO_get_mem_data(writer.get(), &text);
  return Unusable(file, absl::StrCat("the certificate expired at ",
                                     absl::string_view(text, static_cast<size_t>(size))));
}

int64_t ExpiryOf(const X509* certificate) {
  std::tm time = {};
  return ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time) == 1 ? timegm(&time) : 0;
}

// `expiry_unix_s`: when the first of the certificates expires.
absl::Status UseCertificateChain(const NamedText& file, SSL_CTX* context, int64_t* expiry_unix_s) {
  const OpensslOwned<BIO> reader = PemReader(file.text);
  for (bool is_first = true;; is_first = false) {
    OpensslOwned<X509> certificate = NextCertificate(reader.get());
    if (certificate == nullptr) {
      if (!is_first && IsAtEnd()) break;
      return OpensslUnusable(file, "holds a certificate that cannot be read");
    }
    if (is_first) ORBSERVE_RETURN_IF_ERROR(CheckNotExpired(file, certificate.get()));
    const bool used = is_first ? SSL_CTX_use_certificate(context, certificate.get()) == 1
                               : SSL_CTX_add1_chain_cert(context, certificate.get()) == 1;
    if (!used) return OpensslUnusable(file, "holds a certificate that cannot be used");
    const int64_t expiry = ExpiryOf(certificate.get());
    *expiry_unix_s = is_first ? expiry : std::min(*expiry_unix_s, expiry);
  }
  ERR_clear_error();
  return absl::OkStatus();
}

absl::Status UsePrivateKey(const NamedText& file, const NamedText& certificate, SSL_CTX* context) {
  const OpensslOwned<BIO> reader = PemReader(file.text);
  const OpensslOwned<EVP_PKEY> key = NextPrivateKey(reader.get());
  if (key == nullptr) {
    return OpensslUnusable(file, "holds no private key that can be read without a pass phrase");
  }
  if (X509_check_private_key(SSL_CTX_get0_certificate(context), key.get()) != 1) {
    return OpensslUnusable(
        file, absl::StrCat("is not the private key of the certificate in tls.cert_file ",
                           certificate.path));
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return OpensslUnusable(file, "holds a private key that cannot be used");
  }
  return absl::OkStatus();
}

absl::Status CheckCertificates(const NamedText& file) {
  const OpensslOwned<BIO> reader = PemReader(file.text);
  for (bool is_first = true;; is_first = false) {
    if (NextCertificate(reader.get()) != nullptr) continue;
    if (is_first || !IsAtEnd()) {
      return OpensslUnusable(file, "holds a certificate that cannot be read");
    }
    ERR_clear_error();
    return absl::OkStatus();
  }
}

}  // namespace

absl::StatusOr<TlsFiles> ReadTlsFiles(const TlsPaths& paths) {
  TlsFiles files;
  if (paths.cert_file.empty()) return files;
  NamedText certificate = {"tls.cert_file", paths.cert_file};
  NamedText key = {"tls.key_file", paths.key_file};
  NamedText client_ca = {"tls.client_ca_file", paths.client_ca_file};
  Mistakes mistakes;
  mistakes.Add(Read("BEGIN CERTIFICATE", &certificate));
  mistakes.Add(Read("PRIVATE KEY", &key));
  if (!client_ca.path.empty()) mistakes.Add(Read("BEGIN CERTIFICATE", &client_ca));
  ORBSERVE_RETURN_IF_ERROR(mistakes.status());
  ERR_clear_error();
  const OpensslOwned<SSL_CTX> context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr) return MakeError(ErrorReason::kInternal, "OpenSSL makes no context");
  const absl::Status chain = UseCertificateChain(certificate, context.get(), &files.expiry_unix_s);
  mistakes.Add(chain.ok() ? UsePrivateKey(key, certificate, context.get()) : chain);
  if (!client_ca.path.empty()) mistakes.Add(CheckCertificates(client_ca));
  ORBSERVE_RETURN_IF_ERROR(mistakes.status());
  files.certificate_chain = std::move(certificate.text);
  files.private_key = std::move(key.text);
  files.client_ca = std::move(client_ca.text);
  return files;
}

}  // namespace orbserve
