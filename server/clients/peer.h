// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_CLIENTS_PEER_H_
#define ORBSERVE_SERVER_CLIENTS_PEER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace orbserve {

// Where a connection comes from, without what tells connections of one place apart:
//   "addr:192.0.2.7", "addr:2001:db8::7"  for a network address: no port, IPv6 in its short form,
//                                         and an IPv4 address inside IPv6 as IPv4;
//   "unix:"                               for every peer on a Unix socket;
//   "inproc:"                             for the process itself.
// `peer`: as grpc::ServerContext::peer() has it. A form that is not known is returned as it is.
std::string PeerOwner(absl::string_view peer);

// The address of an owner that PeerOwner() made, for the log: "192.0.2.7", "2001:db8::7", "unix".
std::string AddressOfOwner(absl::string_view owner);

// The endpoint of a connection as PeerKeys has it (connection_table.h): "192.0.2.7 4711"; "unix"
// for every peer on a Unix socket. Empty for the process itself. `peer`: as above.
std::string EndpointOfPeer(absl::string_view peer);

// Returns the owner of an address with or without a port ("192.0.2.7", "192.0.2.7:40000",
// "2001:db8::7", "[2001:db8::7]:40000"). Empty for a text that is none.
std::string OwnerOfAddress(absl::string_view address);

// A set of addresses and networks of peers, as owners of shares have them (PeerOwner()). Immutable,
// thread-safe.
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

#endif  // ORBSERVE_SERVER_CLIENTS_PEER_H_
