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

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"
#include "server/edge/openssl_owned.h"
#include "server/edge/tls_handshake.h"
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

// `mark` is in every PEM file of the kind.
void Read(absl::string_view mark, NamedText* file, Mistakes* mistakes) {
  absl::StatusOr<std::string> text = ReadTextFile(file->path);
  if (!text.ok()) return mistakes->Add(absl::StrCat(file->field, " ", text.status().message()));
  file->text = *std::move(text);
  if (absl::StrContains(file->text, mark)) return;
  mistakes->Add(absl::StrCat(file->field, " ", file->path, ": is not a PEM file with ", mark));
}

// `why` with OpenSSL's reason, which this takes from OpenSSL's queue.
absl::Status Unusable(absl::string_view why) {
  const char* const reason = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return MakeError(ErrorReason::kBadOptions,
                   reason == nullptr ? std::string(why) : absl::StrCat(why, ": ", reason));
}

absl::Status CheckNotExpired(const X509* certificate) {
  const ASN1_TIME* const end = X509_get0_notAfter(certificate);
  if (X509_cmp_current_time(end) > 0) return absl::OkStatus();
  const OpensslOwned<BIO> writer(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(writer.get(), end);
  char* text = nullptr;
  const auto size = BIO_get_mem_data(writer.get(), &text);
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat("the certificate expired at ",
                                absl::string_view(text, static_cast<size_t>(size))));
}

int64_t UnixSeconds(const ASN1_TIME* at) {
  std::tm time = {};
  return ASN1_TIME_to_tm(at, &time) == 1 ? timegm(&time) : 0;
}

// Calls `use` with each certificate of `pem`, which must have one at least.
absl::Status ForEachCertificate(const std::string& pem,
                                absl::FunctionRef<absl::Status(X509*, bool is_first)> use) {
  const OpensslOwned<BIO> reader = PemReader(pem);
  for (bool is_first = true;; is_first = false) {
    const OpensslOwned<X509> certificate = NextCertificate(reader.get());
    if (certificate == nullptr) {
      const bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
      if (is_first || !is_end) return Unusable("holds a certificate that cannot be read");
      ERR_clear_error();
      return absl::OkStatus();
    }
    ORBSERVE_RETURN_IF_ERROR(use(certificate.get(), is_first));
  }
}

// These have `context` serve with the contents of a file. BAD_OPTIONS: what is wrong with it,
// without the name of the file.

// Sets the times of `files`.
absl::Status UseCertificateChain(const std::string& pem, ssl_ctx_st* context, TlsFiles* files) {
  return ForEachCertificate(pem, [&](X509* certificate, bool is_first) {
    if (is_first) ORBSERVE_RETURN_IF_ERROR(CheckNotExpired(certificate));
    const bool used = is_first ? SSL_CTX_use_certificate(context, certificate) == 1
                               : SSL_CTX_add1_chain_cert(context, certificate) == 1;
    if (!used) return Unusable("holds a certificate that cannot be used");
    const int64_t expiry = UnixSeconds(X509_get0_notAfter(certificate));
    files->expiry_unix_s = is_first ? expiry : std::min(files->expiry_unix_s, expiry);
    files->valid_from_unix_s =
        std::max(files->valid_from_unix_s, UnixSeconds(X509_get0_notBefore(certificate)));
    return absl::OkStatus();
  });
}

// After UseCertificateChain(). `cert_file`: the name of that file, for the message.
absl::Status UsePrivateKey(const std::string& pem, absl::string_view cert_file,
                           ssl_ctx_st* context) {
  const OpensslOwned<BIO> reader = PemReader(pem);
  const OpensslOwned<EVP_PKEY> key = NextPrivateKey(reader.get());
  if (key == nullptr) {
    return Unusable("holds no private key that can be read without a pass phrase");
  }
  if (X509_check_private_key(SSL_CTX_get0_certificate(context), key.get()) != 1) {
    return Unusable(
        absl::StrCat("is not the private key of the certificate in tls.cert_file ", cert_file));
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return Unusable("holds a private key that cannot be used");
  }
  return absl::OkStatus();
}

// Clients must have a certificate of one of these authorities.
absl::Status UseClientAuthorities(const std::string& pem, ssl_ctx_st* context) {
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return ForEachCertificate(pem, [&](X509* authority, bool) {
    // One that is named twice is stored once.
    const bool used = X509_STORE_add_cert(store, authority) == 1 &&
                      SSL_CTX_add_client_CA(context, authority) == 1;
    return used ? absl::OkStatus() : Unusable("holds a certificate that cannot be used");
  });
}

}  // namespace

absl::StatusOr<TlsFiles> ReadTlsFiles(const TlsPaths& paths) {
  TlsFiles files;
  if (paths.cert_file.empty()) return files;
  NamedText certificate = {"tls.cert_file", paths.cert_file};
  NamedText key = {"tls.key_file", paths.key_file};
  NamedText client_ca = {"tls.client_ca_file", paths.client_ca_file};
  Mistakes mistakes;
  Read("BEGIN CERTIFICATE", &certificate, &mistakes);
  Read("PRIVATE KEY", &key, &mistakes);
  if (!client_ca.path.empty()) Read("BEGIN CERTIFICATE", &client_ca, &mistakes);
  ORBSERVE_RETURN_IF_ERROR(mistakes.status());
  ERR_clear_error();
  files.context = MakeTlsContext();
  ssl_ctx_st* const context = files.context.get();
  if (context == nullptr) return MakeError(ErrorReason::kInternal, "OpenSSL makes no context");
  const auto check = [&mistakes](const NamedText& file, const absl::Status& status) {
    if (status.ok()) return true;
    mistakes.Add(absl::StrCat(file.field, " ", file.path, ": ", status.message()));
    return false;
  };
  if (check(certificate, UseCertificateChain(certificate.text, context, &files))) {
    check(key, UsePrivateKey(key.text, certificate.path, context));
  }
  if (!client_ca.path.empty()) check(client_ca, UseClientAuthorities(client_ca.text, context));
  ORBSERVE_RETURN_IF_ERROR(mistakes.status());
  files.certificate_chain = std::move(certificate.text);
  files.private_key = std::move(key.text);
  files.client_ca = std::move(client_ca.text);
  return files;
}

}  // namespace orbserve
