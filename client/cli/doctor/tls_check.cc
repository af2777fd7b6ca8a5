// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/doctor/tls_check.h"

#include <netdb.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <ctime>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace orbserve::cli {
namespace {

constexpr int kStepSeconds = 5;
constexpr absl::Duration kSoon = absl::Hours(14 * 24);

struct DoctorFree {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
template <typename T>
using DoctorOwned = std::unique_ptr<T, DoctorFree>;

// A connection, or -1.
int ConnectForTls(const std::string& host, const std::string& port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return -1;
  int connection = -1;
  for (const addrinfo* at = found; at != nullptr && connection < 0; at = at->ai_next) {
    connection = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (connection < 0) continue;
    const timeval limit = {kStepSeconds, 0};  // of connecting, too
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (connect(connection, at->ai_addr, at->ai_addrlen) == 0) break;
    close(connection);
    connection = -1;
  }
  freeaddrinfo(found);
  return connection;
}

// The server asks for a certificate of the client. Its session has the flag to set.
int OnCertificateWanted(SSL* session, X509**, EVP_PKEY**) {
  *static_cast<bool*>(SSL_get_app_data(session)) = true;
  return 0;  // none
}

absl::Time CertificateExpiry(const X509* certificate) {
  std::tm time = {};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time) != 1) return absl::InfiniteFuture();
  return absl::FromTM(time, absl::UTCTimeZone());
}

std::string CertificateName(const X509* certificate) {
  char name[256] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof(name));
  return name;
}

std::string UtcDay(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d", time, absl::UTCTimeZone());
}

// When the first certificate of the file expires; nothing where there is none.
std::optional<absl::Time> ExpiryOfCertificateFile(const std::string& path) {
  const DoctorOwned<BIO> file(BIO_new_file(path.c_str(), "r"));
  if (file == nullptr) return std::nullopt;
  const DoctorOwned<X509> own(PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr));
  if (own == nullptr) return std::nullopt;
  return CertificateExpiry(own.get());
}

Finding BadTls(std::string text, std::string advice) {
  return {.subject = "tls",
          .kind = Finding::Kind::kBad,
          .text = std::move(text),
          .advice = std::move(advice)};
}

}  // namespace

std::optional<TlsProbe> ProbeTls(const std::string& server, const std::string& ca_file) {
  // A target with a scheme, such as unix:PATH, has a colon before its last one, or no port.
  const size_t colon = server.rfind(':');
  if (colon == std::string::npos ||
      server.find_first_not_of("0123456789", colon + 1) != std::string::npos ||
      (server.find(':') != colon && !absl::StartsWith(server, "["))) {
    return std::nullopt;
  }
  absl::string_view host_part = absl::string_view(server).substr(0, colon);
  if (absl::ConsumePrefix(&host_part, "[")) absl::ConsumeSuffix(&host_part, "]");
  const std::string host(host_part);
  const int connection = ConnectForTls(host, server.substr(colon + 1));
  if (connection < 0) return std::nullopt;

  TlsProbe probe;
  const DoctorOwned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  if (!ca_file.empty()) SSL_CTX_load_verify_locations(context.get(), ca_file.c_str(), nullptr);
  X509_STORE_set_flags(SSL_CTX_get_cert_store(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
  SSL_CTX_set_client_cert_cb(context.get(), &OnCertificateWanted);
  const DoctorOwned<SSL> session(SSL_new(context.get()));
  SSL_set_app_data(session.get(), &probe.wants_certificate);
  SSL_set_fd(session.get(), connection);
  const unsigned char http2[] = {2, 'h', '2'};
  SSL_set_alpn_protos(session.get(), http2, sizeof(http2));
  X509_VERIFY_PARAM* const rules = SSL_get0_param(session.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(rules, host.c_str()) != 1) {
    X509_VERIFY_PARAM_set1_host(rules, host.c_str(), host.size());
    SSL_set_tlsext_host_name(session.get(), host.c_str());
  }
  ERR_clear_error();
  const auto former = signal(SIGPIPE, SIG_IGN);  // the server may close the connection at any time
  const bool is_complete = SSL_connect(session.get()) == 1;
  signal(SIGPIPE, former);
  const unsigned long error = ERR_peek_error();
  const DoctorOwned<X509> certificate(SSL_get1_peer_certificate(session.get()));
  std::optional<TlsProbe> result;
  if (certificate != nullptr) {
    probe.has_tls = true;
    probe.protocol = SSL_get_version(session.get());
    probe.name = CertificateName(certificate.get());
    probe.expires = CertificateExpiry(certificate.get());
    const long verified = SSL_get_verify_result(session.get());
    if (!ca_file.empty() && verified != X509_V_OK) {
      probe.problem = X509_verify_cert_error_string(verified);
    }
    result = probe;
  } else if (!is_complete && ERR_GET_LIB(error) == ERR_LIB_SSL &&
             ERR_GET_REASON(error) == SSL_R_WRONG_VERSION_NUMBER) {
    result = probe;
  }
  ERR_clear_error();
  close(connection);
  return result;
}

Finding JudgeTls(const TlsProbe& probe, const TlsFilesGiven& given, absl::Time now) {
  if (!probe.has_tls) {
    if (given.ca_file.empty()) return {.subject = "tls", .text = "the server speaks plain text"};
    return BadTls("the server speaks plain text",
                  "leave out --tls-ca, or start the server with --tls-cert and --tls-key");
  }
  const std::string what = absl::StrCat("the server speaks ", probe.protocol, "; its certificate ",
                                        probe.name, " is valid until ", UtcDay(probe.expires));
  if (given.ca_file.empty()) {
    return BadTls(what, "check it with the certificate that signed it: --tls-ca FILE");
  }
  if (!probe.problem.empty()) {
    return BadTls(
        absl::StrCat(what, ", and is not trusted: ", probe.problem),
        "--tls-ca must have the certificate that signed it, and the address the name in it");
  }
  if (probe.wants_certificate) {
    if (given.certificate_file.empty()) {
      return BadTls(absl::StrCat(what, "; it wants a certificate of the client"),
                    "give one that its --tls-client-ca has signed: --tls-cert FILE --tls-key FILE");
    }
    const std::optional<absl::Time> expires = ExpiryOfCertificateFile(given.certificate_file);
    if (expires.has_value() && *expires <= now) {
      return BadTls(absl::StrCat("the certificate of the client, ", given.certificate_file,
                                 ", has expired on ", UtcDay(*expires)),
                    "have a new one signed");
    }
  }
  Finding finding{.subject = "tls", .text = what};
  if (probe.expires - now < kSoon) {
    finding.kind = Finding::Kind::kNote;
    finding.advice = "its operator should replace it; the server takes a new one without a restart";
  }
  return finding;
}

}  // namespace orbserve::cli
