// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/clients/peer_set.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "features/errors.h"

namespace orbserve {
namespace {

// The bytes of an address, empty if it is none.
std::string AddressBytes(absl::string_view text) {
  const std::string address(text);
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

}  // namespace

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
    network.bytes = AddressBytes(absl::string_view(member).substr(0, slash));
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
    set.networks_.push_back(std::move(network));
  }
  return set;
}

bool PeerSet::Contains(absl::string_view owner) const {
  if (owner == "unix:") return has_unix_;
  if (!absl::ConsumePrefix(&owner, "addr:")) return false;
  const std::string bytes = AddressBytes(owner.substr(0, owner.find('%')));
  return !bytes.empty() &&
         std::any_of(networks_.begin(), networks_.end(), [&](const Network& network) {
           return network.bytes.size() == bytes.size() &&
                  SameBits(network.bytes, bytes, network.bits);
         });
}

}  // namespace orbserve
