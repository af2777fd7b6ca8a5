// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/clients/peer.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "features/errors.h"

namespace orbserve {
namespace {

// The bytes of an address, 4 or 16; empty if it is none. The part behind % is a zone, the name of
// an interface, by which link-local addresses are told apart.
std::string AddressBytes(absl::string_view text) {
  const std::string address(text.substr(0, text.find('%')));
  for (const auto& [family, size] : {std::pair(AF_INET, 4), std::pair(AF_INET6, 16)}) {
    std::string bytes(static_cast<size_t>(size), '\0');
    if (inet_pton(family, address.c_str(), bytes.data()) == 1) return bytes;
  }
  return "";
}

bool SameBits(const std::string& a, const std::string& b, int bits) {
  const auto whole = static_cast<size_t>(bits / 8);
  if (a.compare(0, whole, b, 0, whole) != 0) return false;
  if (bits % 8 == 0) return true;
  const int mask = 0xff << (8 - bits % 8);
  return ((a[whole] ^ b[whole]) & mask) == 0;
}

// Clears all bits of an address but the first `bits`.
void ClearBits(int bits, std::string* bytes) {
  for (size_t i = 0; i < bytes->size(); ++i) {
    const int kept = std::clamp(bits - 8 * static_cast<int>(i), 0, 8);
    (*bytes)[i] = static_cast<char>((*bytes)[i] & (0xff << (8 - kept)));
  }
}

// The text of an address.
std::string TextOf(const std::string& bytes) {
  std::array<char, INET6_ADDRSTRLEN> text = {};
  const int family = bytes.size() == sizeof(in6_addr) ? AF_INET6 : AF_INET;
  return inet_ntop(family, bytes.data(), text.data(), text.size());
}

// The address in the one form that inet_ntop() gives, or as it came if it is none.
std::string Normal(absl::string_view address) {
  const std::string bytes = AddressBytes(address);
  std::array<char, INET6_ADDRSTRLEN> text = {};
  const auto print = [&text](int family, const char* from) {
    return inet_ntop(family, from, text.data(), text.size());
  };
  in6_addr ipv6 = {};
  if (bytes.size() != sizeof(ipv6)) return std::string(address);
  std::memcpy(&ipv6, bytes.data(), sizeof(ipv6));
  if (IN6_IS_ADDR_V4MAPPED(&ipv6)) return print(AF_INET, &bytes[12]);
  const size_t zone = std::min(address.find('%'), address.size());
  return absl::StrCat(print(AF_INET6, bytes.data()), address.substr(zone));
}

}  // namespace

std::string OwnerOfAddress(absl::string_view address) {
  if (AddressBytes(address).empty()) {
    address = address.substr(0, address.rfind(':'));
    if (absl::ConsumePrefix(&address, "[")) absl::ConsumeSuffix(&address, "]");
  }
  return AddressBytes(address).empty() ? "" : absl::StrCat("addr:", Normal(address));
}

std::string AddressOfOwner(absl::string_view owner) {
  if (!absl::ConsumePrefix(&owner, "addr:")) absl::ConsumeSuffix(&owner, ":");
  return std::string(owner);
}

std::string PeerOwner(absl::string_view peer) {
  if (absl::StartsWith(peer, "unix")) return "unix:";
  if (absl::StartsWith(peer, "inproc")) return "inproc:";
  // Most calls come from here, and gRPC writes such an address in its one form.
  if (absl::ConsumePrefix(&peer, "ipv4:")) {
    return absl::StrCat("addr:", peer.substr(0, peer.rfind(':')));
  }
  if (absl::ConsumePrefix(&peer, "ipv6:")) {
    // gRPC writes an address of IPv6 as a part of a URI, where brackets and % are encoded.
    return OwnerOfAddress(absl::StrReplaceAll(peer, {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}}));
  }
  return std::string(peer);
}

std::string EndpointOfPeer(absl::string_view peer) {
  if (absl::StartsWith(peer, "unix")) return "unix";
  const std::string owner = PeerOwner(peer);
  absl::string_view address = owner;
  if (!absl::ConsumePrefix(&address, "addr:")) return "";
  // The socket's address has no zone.
  address = address.substr(0, address.find('%'));
  return absl::StrCat(address, " ", peer.substr(peer.rfind(':') + 1));
}

absl::StatusOr<PeerSet> PeerSet::Create(const std::vector<std::string>& members,
                                        absl::string_view field) {
  PeerSet set;
  for (const std::string& member : members) {
    if (member == "unix:") {
      set.has_unix_ = true;
      continue;
    }
    const size_t slash = member.find('/');
    Network network;
    // A network has no zone.
    if (member.find('%') == std::string::npos) {
      network.bytes = AddressBytes(absl::string_view(member).substr(0, slash));
    }
    const int all = 8 * static_cast<int>(network.bytes.size());
    network.bits = all;
    const bool is_good =
        all > 0 && (slash == std::string::npos ||
                    (absl::SimpleAtoi(absl::string_view(member).substr(slash + 1), &network.bits) &&
                     network.bits >= 0 && network.bits <= all));
    if (!is_good) {
      return MakeError(ErrorReason::kBadOptions,
                       absl::StrCat(field,
                                    " must be addresses (192.0.2.7), networks (192.0.2.0/24, "
                                    "2001:db8::/32) or unix:; got \"",
                                    member, "\""));
    }
    // Somebody who writes 10.0.0.7/8 may mean one address, or the network.
    std::string first = network.bytes;
    ClearBits(network.bits, &first);
    if (first != network.bytes) {
      return MakeError(ErrorReason::kBadOptions,
                       absl::StrCat(field, " must have an address or the first one of a network, ",
                                    TextOf(first), "/", network.bits, "; got \"", member, "\""));
    }
    set.networks_.push_back(std::move(network));
  }
  return set;
}

bool PeerSet::Contains(absl::string_view owner) const {
  if (owner == "unix:") return has_unix_;
  if (!absl::ConsumePrefix(&owner, "addr:")) return false;
  const std::string bytes = AddressBytes(owner);
  return !bytes.empty() &&
         std::any_of(networks_.begin(), networks_.end(), [&](const Network& network) {
           return network.bytes.size() == bytes.size() &&
                  SameBits(network.bytes, bytes, network.bits);
         });
}

}  // namespace orbserve
