// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/clients/peer.h"

#include <arpa/inet.h>

#include <array>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace orbserve {
namespace {

// The address in the one form that inet_ntop() gives, or as it came if it is none.
std::string Normal(absl::string_view address) {
  // The part behind % is a zone, the name of an interface: link-local addresses are told apart by
  // it.
  const size_t percent = address.find('%');
  const std::string host(address.substr(0, percent));
  const absl::string_view zone =
      percent == absl::string_view::npos ? absl::string_view() : address.substr(percent);
  std::array<char, INET6_ADDRSTRLEN> text = {};
  in6_addr ipv6 = {};
  if (inet_pton(AF_INET6, host.c_str(), &ipv6) != 1) return std::string(address);
  if (IN6_IS_ADDR_V4MAPPED(&ipv6)) {
    in_addr ipv4 = {};
    std::memcpy(&ipv4, &ipv6.s6_addr[12], sizeof ipv4);
    return inet_ntop(AF_INET, &ipv4, text.data(), text.size());
  }
  return absl::StrCat(inet_ntop(AF_INET6, &ipv6, text.data(), text.size()), zone);
}

}  // namespace

std::string OwnerOfAddress(absl::string_view address) {
  const auto is_address = [](absl::string_view text) {
    const std::string host(text.substr(0, text.find('%')));
    std::array<unsigned char, sizeof(in6_addr)> bytes = {};
    return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
           inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
  };
  if (!is_address(address)) {
    address = address.substr(0, address.rfind(':'));
    if (absl::ConsumePrefix(&address, "[")) absl::ConsumeSuffix(&address, "]");
  }
  return is_address(address) ? absl::StrCat("addr:", Normal(address)) : "";
}

std::string PeerOwner(absl::string_view peer) {
  if (absl::StartsWith(peer, "unix")) return "unix:";
  if (absl::StartsWith(peer, "inproc")) return "inproc:";
  if (absl::ConsumePrefix(&peer, "ipv4:")) {
    return absl::StrCat("addr:", peer.substr(0, peer.rfind(':')));
  }
  if (absl::ConsumePrefix(&peer, "ipv6:")) {
    // gRPC writes an address of IPv6 as a part of a URI, where brackets and % are encoded.
    const std::string decoded =
        absl::StrReplaceAll(peer, {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
    absl::string_view address = absl::string_view(decoded).substr(0, decoded.rfind(':'));
    if (absl::ConsumePrefix(&address, "[")) absl::ConsumeSuffix(&address, "]");
    return absl::StrCat("addr:", Normal(address));
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

}  // namespace orbserve
