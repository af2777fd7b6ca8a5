// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Finds out by a TLS handshake of its own what stands between the caller and a server: gRPC only
// says that the connection was closed.

#ifndef ORBSERVE_CLIENT_CLI_DOCTOR_TLS_CHECK_H_
#define ORBSERVE_CLIENT_CLI_DOCTOR_TLS_CHECK_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "client/cli/doctor/finding.h"

namespace orbserve::cli {

// Holds what a server told in a handshake.
struct TlsProbe {
  bool has_tls = false;  // else it speaks something else
  std::string protocol;  // "TLSv1.3"
  std::string name;      // common name of the certificate
  absl::Time expires;    // of the certificate
  std::string problem;   // why the certificate is not trusted; empty: it is, or nobody asked
  bool wants_certificate = false;  // of the client
};

// Connects to HOST:PORT or [IPV6]:PORT. `ca_file`: PEM certificates to check the server's with; may
// be empty. Takes 5 seconds at most for each step. Nothing where nobody accepts a connection or
// answers, and for other forms of addresses.
std::optional<TlsProbe> ProbeTls(const std::string& server, const std::string& ca_file);

// Files that the caller gave.
struct TlsFilesGiven {
  std::string ca_file;
  std::string certificate_file;
};

// Judges the server's certificate and the caller's own one.
Finding JudgeTls(const TlsProbe& probe, const TlsFilesGiven& given, absl::Time now);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_DOCTOR_TLS_CHECK_H_
