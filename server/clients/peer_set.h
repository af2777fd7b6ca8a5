// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Sets of peers: addresses and networks.

#ifndef ORBSERVE_SERVER_CLIENTS_PEER_SET_H_
#define ORBSERVE_SERVER_CLIENTS_PEER_SET_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace orbserve {

// Peers, as owners of shares have them (PeerOwner()). Immutable, thread-safe.
class PeerSet {
 public:
  PeerSet() = default;
  // `members`: addresses ("192.0.2.7", "2001:db8::7"), networks ("192.0.2.0/24", "2001:db8::/32")
  // and "unix:" for all peers on Unix sockets. BAD_OPTIONS, with the member; `field` names the
  // list.
  static absl::StatusOr<PeerSet> Create(const std::vector<std::string>& members,
                                        absl::string_view field);

  bool empty() const { return networks_.empty() && !has_unix_; }
  // `owner`: "addr:192.0.2.7", "unix:", ...
  bool Contains(absl::string_view owner) const;

 private:
  struct Network {
    std::string bytes;  // 4 or 16
    int bits = 0;       // of them that count
  };

  std::vector<Network> networks_;
  bool has_unix_ = false;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_CLIENTS_PEER_SET_H_
