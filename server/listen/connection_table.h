// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The connections that are open, and the choice of the one that makes room for a new one.

#ifndef ORBSERVE_SERVER_LISTEN_CONNECTION_TABLE_H_
#define ORBSERVE_SERVER_LISTEN_CONNECTION_TABLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "server/listen/file_descriptor.h"
#include "server/listen/guard_table.h"
#include "server/listen/listen_sockets.h"

namespace orbserve {

// Who has a share of the connections: the IP address without port, or "unix".
std::string AddressKeyOf(const SocketAddress& peer);

struct TrackedConnection {
  FileDescriptor duplicate;  // of the descriptor that gRPC has
  int descriptor = -1;       // gRPC's number of it
  std::string address;       // AddressKeyOf()
  int64_t opened_ms = 0;
  bool is_own = false;  // a probe of the server, outside of the bounds
};

struct ConnectionBounds {
  int max_connections = 4096;
  int max_connections_per_address = 1024;
  // A connection that has made no call for so long may be closed to make room, and one that made
  // none since it was opened, after the shorter time.
  int64_t idle_ms = 60'000;
  int64_t no_call_ms = 10;
  // That time is shorter, down to `least_no_call_ms`, where so many wait to be accepted that they
  // would wait longer than this.
  int64_t max_queue_ms = 250;
  int64_t least_no_call_ms = 3;
};

// Not thread-safe.
class ConnectionTable {
 public:
  enum class Room { kFree, kFull, kAddressFull };
  using Look = std::function<GuardView(const TrackedConnection&)>;

  // `look`: tells the traffic of a connection.
  ConnectionTable(const ConnectionBounds& bounds, Look look)
      : bounds_(bounds), look_(std::move(look)) {}

  // Bound that a further connection of `address` would break.
  Room RoomFor(const std::string& address) const;
  struct Idle {
    uint64_t number = 0;   // 0 = none
    bool is_soon = false;  // not yet, but within `no_call_ms`, if it makes no call until then
  };
  // An idle connection that can be closed for one of `address`: of the address itself where that is
  // full, else of any. The one that has been idle for the longest time goes first, those that never
  // made a call before all others. Only an address that has most of the connections is told to
  // wait, because others wait with it. `queued`: connections that wait to be accepted.
  Idle IdleFor(const std::string& address, Room room, int queued, int64_t now_ms) const;

  // Returns the number of the connection, from 1 on; numbers are not used again.
  uint64_t Add(TrackedConnection connection);
  // Null where there is none.
  TrackedConnection* Find(uint64_t number);
  // The connection whose descriptor gRPC calls `descriptor`, 0 = none.
  uint64_t NumberOf(int descriptor) const;
  void Remove(uint64_t number);

  // Connections of clients.
  int size() const { return clients_; }
  const std::map<uint64_t, TrackedConnection>& all() const { return connections_; }

 private:
  const ConnectionBounds bounds_;
  const Look look_;
  std::map<uint64_t, TrackedConnection> connections_;  // in the order of their opening
  absl::flat_hash_map<int, uint64_t> by_descriptor_;
  absl::flat_hash_map<std::string, int> by_address_;
  int clients_ = 0;
  uint64_t last_number_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_LISTEN_CONNECTION_TABLE_H_
