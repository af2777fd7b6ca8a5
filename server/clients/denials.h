// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Counts the calls and TLS handshakes that are refused because of who their client is, and logs
// them: event=denied cause=wrong_token address=192.0.2.7, at level info.

#ifndef ORBSERVE_SERVER_CLIENTS_DENIALS_H_
#define ORBSERVE_SERVER_CLIENTS_DENIALS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace orbserve {

// Causes, in the order of kDenialNames.
enum class Denial {
  kNoToken,             // the call has no token
  kWrongToken,          // nor any that was ever known
  kExpiredToken,        // known, and expired
  kNoCertificate,       // the client shows none
  kWrongCertificate,    // of no authority that is known, not valid yet, or without a name
  kExpiredCertificate,  // of a known authority, and expired
  kWrongName,           // the metadata x-client-id is another client's
  kHandshake,           // no TLS, or an error in it
};
inline constexpr std::array kDenialNames = {
    "no_token",          "wrong_token",         "expired_token", "no_certificate",
    "wrong_certificate", "expired_certificate", "wrong_name",    "handshake"};

// Tells Denials::Add() why a client is refused.
struct Denied {
  Denial cause = Denial::kNoToken;
  std::string detail;
};

// Thread-safe.
class Denials {
 public:
  // `address`: of the client, without its port. The detail is for the log and may be empty.
  void Add(const Denied& denied, absl::string_view address);

  int64_t count(Denial cause) const { return counts_[static_cast<size_t>(cause)]; }

 private:
  std::array<std::atomic<int64_t>, kDenialNames.size()> counts_ = {};
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_CLIENTS_DENIALS_H_
