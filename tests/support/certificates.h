// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_SUPPORT_CERTIFICATES_H_
#define ORBSERVE_TESTS_SUPPORT_CERTIFICATES_H_

#include <string>

namespace orbserve::testing {

// As PEM text.
struct CertificateAndKey {
  std::string certificate;
  std::string key;
};

// A new key (NIST P-256) and a certificate for it that it has signed itself, of localhost and
// 127.0.0.1, good for a day. With a `pass_phrase` the key is encrypted by it.
CertificateAndKey MakeCertificate(const std::string& pass_phrase = "");

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_CERTIFICATES_H_
