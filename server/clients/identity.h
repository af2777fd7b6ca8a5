// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Finds out who calls (client_id.h).
//
// By certificate: the owner is "cert:NAME". NAME is the first URI of the certificate's subject
// alternative names, else its first DNS name, else its common name.
// By token: the metadata `authorization: Bearer TOKEN`; the owner is "token:NAME", as the token
// file says. The metadata `x-client-id` may then only be NAME itself or NAME/PART. Everything else
// is UNAUTHENTICATED, and the text says nothing about other clients.
//
// Without either, the owner is the address of the peer (peer.h). If the peer is a trusted proxy, it
// is the last address of the metadata `x-forwarded-for` that is not one itself. The name is the
// metadata `x-client-id`, else the connection.

#ifndef ORBSERVE_SERVER_CLIENTS_IDENTITY_H_
#define ORBSERVE_SERVER_CLIENTS_IDENTITY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/server_context.h"
#include "server/clients/client_id.h"
#include "server/clients/peer.h"
#include "server/clients/token_file.h"
#include "server/process/log.h"

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

// Counts the calls and TLS handshakes that are refused because of who their client is, and logs
// them: event=denied cause=wrong_token address=192.0.2.7, at level info. Thread-safe.
class Denials {
 public:
  // `address`: of the client, without its port. The detail is for the log and may be empty.
  void Add(const Denied& denied, absl::string_view address);

  int64_t count(Denial cause) const { return counts_[static_cast<size_t>(cause)]; }

 private:
  std::array<std::atomic<int64_t>, kDenialNames.size()> counts_ = {};
  // A flood of one cause leaves the lines of the others alone.
  std::array<RateLimit, kDenialNames.size()> limits_;
};

struct IdentityOptions {
  bool by_certificate = false;
  bool by_token = false;  // nobody is known until SetTokens()
  PeerSet trusted_proxies;
  // A call came from `peer` (grpc::ServerContext::peer()) and told who its client is. Called from
  // many threads. May be null.
  std::function<void(absl::string_view peer, const ClientId& client)> on_proven;
  Denials* denials = nullptr;  // hears of callers that are refused; may be null, else outlives this
};

// Thread-safe.
class Identity {
 public:
  explicit Identity(IdentityOptions options) : options_(std::move(options)) {}

  // UNAUTHENTICATED; BAD_REQUEST for metadata that is malformed or given twice. A known client
  // proves its connection.
  absl::StatusOr<ClientId> ClientOf(const grpc::ServerContextBase& context) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // From now on these tokens are good, and no others. Only for a server that takes tokens.
  void SetTokens(std::shared_ptr<const TokenTable> tokens) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    tokens_ = std::move(tokens);
  }
  // False for a client whose tokens have expired or are gone.
  bool IsKnown(const ClientId& client) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Sets `denied` where the client is UNAUTHENTICATED.
  absl::StatusOr<ClientId> Identify(const grpc::ServerContextBase& context, const std::string& peer,
                                    std::optional<Denied>* denied) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The peer, or the client that a trusted proxy names, as an owner. BAD_REQUEST.
  absl::StatusOr<std::string> OwnerByAddress(const grpc::ServerContextBase& context,
                                             const std::string& peer) const;
  std::shared_ptr<const TokenTable> tokens() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return tokens_;
  }

  const IdentityOptions options_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<const TokenTable> tokens_ ABSL_GUARDED_BY(mutex_);
};

// The client for people: "token:robot/front", "addr:192.0.2.7/front", "ipv4:192.0.2.7:4711". "-"
// for nobody.
std::string DisplayName(const ClientId& client);

// The client for a line of the log: "client=NAME address=ADDRESS". `peer`:
// grpc::ServerContext::peer().
std::string CallerForLog(const ClientId& client, absl::string_view peer);

// Parts of ClientOf(), for tests.

// A name in a certificate is as long as a DNS name or a SPIFFE ID may be in practice.
inline constexpr size_t kMaxCertificateNameBytes = 512;

// True for a name by which a certificate may name a client.
bool IsCertificateName(absl::string_view text);

// NAME of a certificate with these names; UNAUTHENTICATED if it has none that can be used.
absl::StatusOr<std::string> NameOfCertificate(const std::string& uri, const std::string& dns,
                                              const std::string& common_name);
// The client with this owner. `id`: its metadata `x-client-id`, null without it. UNAUTHENTICATED.
absl::StatusOr<ClientId> ClientOfOwner(absl::string_view kind, absl::string_view name,
                                       const absl::string_view* id);
// The last address of `forwarded_for` that is no trusted proxy, as an owner; `peer`, who is one,
// where there is none. BAD_REQUEST for a text that is no list of addresses.
absl::StatusOr<std::string> ForwardedOwner(const std::string& peer, absl::string_view forwarded_for,
                                           const PeerSet& trusted_proxies);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_CLIENTS_IDENTITY_H_
