// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/clients/identity.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "features/errors.h"
#include "grpc/grpc_security_constants.h"
#include "server/process/log.h"

namespace orbserve {
namespace {

constexpr size_t kMaxIdBytes = 128;
// Between the name of an owner and the part that x-client-id names. No name has it, so no client
// can make a name that is another one's.
constexpr char kPartSeparator = '\x1f';

constexpr absl::string_view kCertificate = "cert:";
constexpr absl::string_view kToken = "token:";

bool IsPrintable(absl::string_view text, size_t max_bytes) {
  return !text.empty() && text.size() <= max_bytes &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); });
}

absl::Status Unauthenticated(absl::string_view message) {
  return MakeError(ErrorReason::kUnauthenticated, message);
}

// Metadata that is given at most once.
absl::StatusOr<std::optional<absl::string_view>> MetadataOf(const grpc::ServerContextBase& context,
                                                            const char* key) {
  const auto& metadata = context.client_metadata();
  const auto [first, last] = metadata.equal_range(key);
  if (first == last) return std::nullopt;
  if (std::next(first) != last) {
    return MakeError(ErrorReason::kBadRequest,
                     absl::StrCat("metadata ", key, " must be given once"));
  }
  return absl::string_view(first->second.data(), first->second.size());
}

std::string FirstOf(const grpc::AuthContext& context, const char* property) {
  const std::vector<grpc::string_ref> values = context.FindPropertyValues(property);
  return values.empty() ? "" : std::string(values[0].data(), values[0].size());
}

absl::StatusOr<std::string> NameOfPeerCertificate(const grpc::ServerContextBase& context,
                                                  std::optional<Denied>* denied) {
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  if (peer == nullptr || !peer->IsPeerAuthenticated()) {
    *denied = Denied{Denial::kNoCertificate, ""};
    return Unauthenticated("the call has no certificate; connect with TLS and show one");
  }
  absl::StatusOr<std::string> name = NameOfCertificate(FirstOf(*peer, GRPC_PEER_URI_PROPERTY_NAME),
                                                       FirstOf(*peer, GRPC_PEER_DNS_PROPERTY_NAME),
                                                       FirstOf(*peer, GRPC_X509_CN_PROPERTY_NAME));
  if (!name.ok()) *denied = Denied{Denial::kWrongCertificate, "it names no client"};
  return name;
}

absl::StatusOr<std::string> NameOfToken(const grpc::ServerContextBase& context,
                                        const TokenTable* tokens, std::optional<Denied>* denied) {
  ORBSERVE_ASSIGN_OR_RETURN(const std::optional<absl::string_view> given,
                            MetadataOf(context, "authorization"));
  if (!given.has_value()) {
    *denied = Denied{Denial::kNoToken, ""};
    return Unauthenticated(
        "the call has no token; give token_file (orbserve: --token-file), or send the metadata "
        "authorization: Bearer TOKEN");
  }
  absl::string_view token = *given;
  // The scheme is written in any case.
  constexpr absl::string_view kScheme = "bearer ";
  const TokenEntry* entry = nullptr;
  if (absl::StartsWithIgnoreCase(token, kScheme)) {
    token.remove_prefix(kScheme.size());
    entry = tokens == nullptr ? nullptr : tokens->Find(absl::StripAsciiWhitespace(token));
  }
  if (entry != nullptr && absl::Now() < entry->expires) return entry->name;
  *denied = entry == nullptr ? Denied{Denial::kWrongToken, ""}
                             : Denied{Denial::kExpiredToken, absl::StrCat(kToken, entry->name)};
  // One text for all that can be wrong with it.
  return Unauthenticated(
      "the token of the call is not a valid one; ask the operator of the server for a new one");
}

}  // namespace

void Denials::Add(const Denied& denied, absl::string_view address) {
  const auto index = static_cast<size_t>(denied.cause);
  counts_[index].fetch_add(1, std::memory_order_relaxed);
  LogClientEvent(limits_[index], [&] {
    std::string line =
        absl::StrCat("event=denied cause=", kDenialNames[index], " address=", LogValue(address));
    if (!denied.detail.empty()) absl::StrAppend(&line, " detail=", LogValue(denied.detail));
    return line;
  });
}

bool IsCertificateName(absl::string_view text) {
  return IsPrintable(text, kMaxCertificateNameBytes);
}

absl::StatusOr<std::string> NameOfCertificate(const std::string& uri, const std::string& dns,
                                              const std::string& common_name) {
  for (const std::string* const name : {&uri, &dns, &common_name}) {
    if (name->empty()) continue;
    if (IsCertificateName(*name)) return *name;
    break;  // another name of it would be another client
  }
  return Unauthenticated(
      absl::StrCat("the certificate names no client: it needs a URI or a DNS name among its "
                   "subject alternative names, or a common name, of 1 to ",
                   kMaxCertificateNameBytes, " bytes of printable ASCII"));
}

absl::StatusOr<ClientId> ClientOfOwner(absl::string_view kind, absl::string_view name,
                                       const absl::string_view* id) {
  ClientId client;
  client.owner = absl::StrCat(kind, name);
  client.name = client.owner;
  if (id == nullptr || *id == name) return client;
  absl::string_view part = *id;
  if (!absl::ConsumePrefix(&part, name) || !absl::ConsumePrefix(&part, "/") ||
      !IsPrintable(part, kMaxIdBytes)) {
    return Unauthenticated(absl::StrCat("metadata x-client-id must be ", name, " or ", name,
                                        "/PART with 1 to ", kMaxIdBytes,
                                        " bytes of printable ASCII, as the caller is ", name));
  }
  client.name += kPartSeparator;
  client.name.append(part.data(), part.size());
  return client;
}

absl::StatusOr<std::string> ForwardedOwner(const std::string& peer, absl::string_view forwarded_for,
                                           const PeerSet& trusted_proxies) {
  const std::vector<absl::string_view> addresses = absl::StrSplit(forwarded_for, ',');
  std::string owner = peer;
  // Each proxy appends the address that it saw. What stands before an address that is not trusted
  // may be a lie.
  for (auto address = addresses.rbegin();
       address != addresses.rend() && trusted_proxies.Contains(owner); ++address) {
    const std::string next = OwnerOfAddress(absl::StripAsciiWhitespace(*address));
    if (next.empty()) {
      return MakeError(ErrorReason::kBadRequest,
                       "metadata x-forwarded-for must be addresses, separated by commas");
    }
    owner = next;
  }
  return owner;
}

std::string DisplayName(const ClientId& client) {
  absl::string_view name = client.name;
  // The connection says the address already.
  if (absl::ConsumePrefix(&name, "peer:")) return std::string(name);
  if (absl::ConsumePrefix(&name, "id:")) return absl::StrCat(client.owner, "/", name);
  if (name.empty()) return client.owner.empty() ? "-" : client.owner;
  return absl::StrReplaceAll(name, {{absl::string_view(&kPartSeparator, 1), "/"}});
}

std::string CallerForLog(const ClientId& client, absl::string_view peer) {
  return absl::StrCat("client=", LogValue(DisplayName(client)),
                      " address=", LogValue(AddressOfOwner(PeerOwner(peer))));
}

bool Identity::IsKnown(const ClientId& client) const {
  absl::string_view name = client.owner;
  if (!options_.by_token || !absl::ConsumePrefix(&name, kToken)) return true;
  const std::shared_ptr<const TokenTable> tokens = this->tokens();
  return tokens != nullptr && tokens->Knows(name, absl::Now());
}

absl::StatusOr<ClientId> Identity::ClientOf(const grpc::ServerContextBase& context) const {
  const std::string peer = context.peer();
  std::optional<Denied> denied;
  absl::StatusOr<ClientId> client = Identify(context, peer, &denied);
  if (client.ok()) {
    if (options_.on_proven) options_.on_proven(peer, *client);
  } else if (denied.has_value() && options_.denials != nullptr) {
    options_.denials->Add(*denied,
                          AddressOfOwner(OwnerByAddress(context, peer).value_or(PeerOwner(peer))));
  }
  return client;
}

absl::StatusOr<std::string> Identity::OwnerByAddress(const grpc::ServerContextBase& context,
                                                     const std::string& peer) const {
  std::string owner = PeerOwner(peer);
  if (!options_.trusted_proxies.Contains(owner)) return owner;
  const auto [first, last] = context.client_metadata().equal_range("x-forwarded-for");
  std::string addresses;
  for (auto entry = first; entry != last; ++entry) {
    absl::StrAppend(&addresses, addresses.empty() ? "" : ",",
                    absl::string_view(entry->second.data(), entry->second.size()));
  }
  if (addresses.empty()) return owner;
  return ForwardedOwner(owner, addresses, options_.trusted_proxies);
}

absl::StatusOr<ClientId> Identity::Identify(const grpc::ServerContextBase& context,
                                            const std::string& peer,
                                            std::optional<Denied>* denied) const {
  ORBSERVE_ASSIGN_OR_RETURN(const std::optional<absl::string_view> id,
                            MetadataOf(context, "x-client-id"));
  if (options_.by_certificate || options_.by_token) {
    ORBSERVE_ASSIGN_OR_RETURN(const std::string name,
                              options_.by_certificate
                                  ? NameOfPeerCertificate(context, denied)
                                  : NameOfToken(context, tokens().get(), denied));
    const absl::string_view kind = options_.by_certificate ? kCertificate : kToken;
    absl::StatusOr<ClientId> client = ClientOfOwner(kind, name, id.has_value() ? &*id : nullptr);
    if (!client.ok()) *denied = Denied{Denial::kWrongName, absl::StrCat(kind, name)};
    return client;
  }
  if (id.has_value() && !IsPrintable(*id, kMaxIdBytes)) {
    return MakeError(ErrorReason::kBadRequest,
                     "metadata x-client-id must be 1 to 128 bytes of printable ASCII");
  }
  ClientId client;
  ORBSERVE_ASSIGN_OR_RETURN(client.owner, OwnerByAddress(context, peer));
  if (id.has_value()) {
    client.name = absl::StrCat("id:", *id);
  } else {
    // A connection of a proxy carries the calls of many.
    const bool is_forwarded = client.owner != PeerOwner(peer);
    client.name = is_forwarded ? client.owner : absl::StrCat("peer:", peer);
  }
  return client;
}

}  // namespace orbserve
