// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The connections that are open, who owns them, and which of them is preempted for another one.
//
// A connection is unproven until a call of it tells who its client is; calls that need no
// credentials and calls that are refused tell nothing. Then it is proven and belongs to an owner
// (client_id.h). Unproven connections have a part of the places. They are preempted first: those of
// the network and the address that have most of them, and of these the first whose first call was
// answered, else the oldest that has not begun to speak, that has made no call, or that has made
// one, in this order. Proven connections are preempted for proven ones only: first those without a
// call for a minute, then the one of the fullest owner that has been without a call for the longest
// time, if its owner has more connections than the other.

#ifndef ORBSERVE_SERVER_EDGE_CONNECTION_TABLE_H_
#define ORBSERVE_SERVER_EDGE_CONNECTION_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/edge/guard/guard.h"
#include "server/edge/listen_sockets.h"
#include "server/edge/tls_handshake.h"
#include "server/process/file_descriptor.h"

namespace orbserve {

inline constexpr char kUnixPeer[] = "unix";

// Names the origin of a connection.
struct PeerKeys {
  std::string endpoint;  // address and port, "192.0.2.7 4711"; of a Unix socket its name
  // Address, "192.0.2.7". IPv6: its /64, "2001:db8::/64", in which a host chooses freely.
  // kUnixPeer.
  std::string address;
  std::string network;  // "192.0.2.0/24", "2001:db8::/48"
};
PeerKeys PeerKeysOf(const SocketAddress& peer);

struct TrackedConnection {
  enum class Stage {
    kSilent,     // the client has not begun to speak, or nobody has listened yet
    kHandshake,  // of TLS, before gRPC gets the connection
    kServed,     // by gRPC
  };

  FileDescriptor duplicate;  // of the descriptor that gRPC has
  int descriptor = -1;       // gRPC's number of it
  Stage stage = Stage::kServed;
  FileDescriptor arriving;   // the descriptor, until gRPC gets it
  TlsSession handshake;      // of kHandshake
  bool has_arrived = false;  // SetArrived(), and not NextArrival() yet
  PeerKeys peer;
  int64_t opened_ms = 0;
  int64_t turn_ms = 0;  // since when the client has owed something, but for what it sent in crumbs
  int steps = 0;        // of the handshake
  bool is_self_check = false;  // of the server itself: takes no place
  bool is_proven = false;
  std::string owner;  // of a proven connection
};

// A running server takes the first two from config/derived_limits.h and the limit of descriptors.
struct ConnectionBounds {
  int max_connections = 4096;
  int max_connections_per_address = 1024;
  // Owners are who they say. Otherwise they are addresses, and networks are compared before owners.
  bool has_credentials = false;
  int64_t idle_ms = 60'000;  // a proven connection without a call for so long may be preempted
  // TLS handshakes are made before gRPC gets a connection. It is not preempted while the server
  // owes it a step of its handshake, and those that begin wait in the order of their opening.
  bool makes_handshakes = false;
  // A connection may be preempted before its first call is answered when its client has had so long
  // to send something, or, where so many wait to be accepted that they would wait longer than
  // `max_queue_ms`, less.
  int64_t newcomer_ms = 1000;
  int64_t least_newcomer_ms = 3;
  // That is the longest for a client that has not begun to speak, and for one that answers a
  // message of the server's in a handshake.
  int64_t max_arrival_ms = 50;
  int64_t max_answer_ms = 100;
  int64_t max_queue_ms = 50;
  // At least so long the server may take to read what a connection sent and to answer its call.
  int64_t least_call_ms = 100;

  int max_unproven() const {
    return std::max({max_connections / 4, std::min(max_connections / 2, 16), 1});
  }
  // Newcomers always have a few places.
  int max_proven() const {
    return max_connections - (max_connections > 1 ? std::max(max_connections / 64, 1) : 0);
  }
};

// Not thread-safe.
class ConnectionTable {
 public:
  enum class Room {
    kFree,
    kPreempt,      // once `preempted` is closed
    kLater,        // soon: the next one to be preempted is too young
    kFull,         // none: all places are in use
    kAddressFull,  // none: all places of the address are in use
  };
  struct Decision {
    Room room = Room::kFree;
    uint64_t preempted = 0;
  };
  using Look = std::function<GuardView(const TrackedConnection&)>;

  // `look`: tells the traffic of a connection.
  ConnectionTable(const ConnectionBounds& bounds, Look look)
      : bounds_(bounds), look_(std::move(look)) {}

  // Says whether there is room for a further connection, which is unproven. `queued`: connections
  // that wait to be accepted. An address is told to wait only if it has most of the connections,
  // because others wait with it.
  Decision RoomFor(const PeerKeys& peer, int queued, int64_t now_ms);
  // Says whether there is room for one more proven connection of `owner`.
  Decision RoomForProven(const PeerKeys& peer, const std::string& owner, int64_t now_ms);

  // Returns the number of the connection, from 1 on; numbers are not used again.
  uint64_t Add(TrackedConnection connection);
  // A call of the connection has told its owner. The caller has asked RoomForProven().
  void Prove(uint64_t number, const std::string& owner);
  // The client of the connection has begun to speak: gRPC may get it. In a handshake: it has
  // answered.
  void SetArrived(uint64_t number);
  // The connection that is served next, 0 = none: handshakes whose clients have answered go before
  // those that begin. Of these that of the network and in it the address that have the fewest
  // unproven connections, and of it the newest: if more arrive than can be served, the newest is
  // served in time and the oldest is preempted. With ConnectionBounds::makes_handshakes the oldest.
  uint64_t NextArrival();
  int arrivals() const { return arrived_.count(); }
  bool has_arrivals() const { return arrived_.count() + answered_.count() > 0; }
  // Null where there is none.
  TrackedConnection* Find(uint64_t number);
  // The connection whose descriptor gRPC calls `descriptor`, 0 = none.
  uint64_t NumberOf(int descriptor) const;
  // The unproven connection that comes from this endpoint. Of kUnixPeer: all that have made calls,
  // as those of a Unix socket have no names to tell them apart by.
  std::vector<uint64_t> UnprovenAt(const std::string& endpoint) const;
  void Remove(uint64_t number);

  // Connections of clients.
  int size() const { return unproven_.count() + proven_.count(); }
  const std::map<uint64_t, TrackedConnection>& all() const { return connections_; }

 private:
  // Connections in two levels: networks, and addresses or owners in them.
  class Groups {
   public:
    struct Network {
      int count = 0;
      std::map<std::string, std::set<uint64_t>> members;  // numbers, in the order of their opening
    };
    void Add(const std::string& network, const std::string& member, uint64_t number);
    void Remove(const std::string& network, const std::string& member, uint64_t number);
    int count() const { return count_; }
    int count(const std::string& network) const;
    const std::map<std::string, Network>& networks() const { return networks_; }
    // Null where there are none.
    const std::set<uint64_t>* Of(const std::string& network, const std::string& member) const;
    // The fullest network and in it the fullest member. Not while empty.
    std::pair<const std::string*, const std::set<uint64_t>*> Fullest() const;

   private:
    std::map<std::string, Network> networks_;
    int count_ = 0;
  };

  const std::string& NetworkOfOwner(const PeerKeys& peer) const;
  Groups& WaitingLike(const TrackedConnection& connection) {
    return connection.stage == TrackedConnection::Stage::kHandshake ? answered_ : arrived_;
  }
  // The first of unproven connections to be preempted, or kLater.
  Decision PreemptUnproven(const std::set<uint64_t>& numbers, int queued, int64_t now_ms) const;
  // The proven connection without a call for the longest time, if that is long enough. `address`:
  // of this address only; empty: of any.
  uint64_t LongestIdle(const std::string& address, int64_t now_ms);

  const ConnectionBounds bounds_;
  const Look look_;
  std::map<uint64_t, TrackedConnection> connections_;  // in the order of their opening
  absl::flat_hash_map<int, uint64_t> by_descriptor_;
  absl::flat_hash_map<std::string, uint64_t> by_endpoint_;
  absl::flat_hash_map<std::string, int> by_address_;
  Groups unproven_;  // networks and addresses
  Groups arrived_;   // those of them that wait for gRPC, or for the first step of a handshake
  Groups answered_;  // those of them that wait for a further step of a handshake
  Groups proven_;    // networks, or one for all, and owners
  uint64_t last_number_ = 0;
  int64_t no_idle_until_ms_ = 0;  // no proven connection has been idle for long before
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_CONNECTION_TABLE_H_
