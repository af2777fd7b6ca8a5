// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_SUPPORT_CERTIFICATES_H_
#define ORBSERVE_TESTS_SUPPORT_CERTIFICATES_H_

#include <string>

namespace orbserve::testing {

// Both are PEM text.
struct CertificateAndKey {
  std::string certificate;
  std::string key;
};

struct CertificateOptions {
  std::string pass_phrase;  // encrypts the key; empty = not encrypted
  std::string common_name = "localhost";
  std::string alternative_names = "DNS:localhost,IP:127.0.0.1";  // empty = none
  int begin_s = -3600;                                           // from now
  int end_s = 24 * 3600;
  const CertificateAndKey* issuer = nullptr;  // who signs it; null = itself
};

// A new key (NIST P-256) and a certificate for it.
CertificateAndKey MakeCertificate(const CertificateOptions& options = {});

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_CERTIFICATES_H_
