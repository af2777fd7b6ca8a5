// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Accepts the connections of the service and hands them to gRPC. gRPC 1.51 stops to listen for good
// once accept() fails, and bounds neither connections nor their number per address.

#ifndef ORBSERVE_SERVER_EDGE_LISTENER_H_
#define ORBSERVE_SERVER_EDGE_LISTENER_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/edge/close_reason.h"
#include "server/edge/guard/guard.h"
#include "server/edge/tls_handshake.h"
#include "server/process/file_descriptor.h"

namespace orbserve {

// A client must have begun to speak by then, and have ended its TLS handshake.
inline constexpr std::chrono::milliseconds kHandshakeLimit{10'000};

// One address may have so many connections where there are as many in all: the programs of a small
// robot are one address.
inline constexpr int kMinConnectionsPerAddress = 16;

struct ListenerOptions {
  std::string address;   // one that CheckListenAddress() accepts
  bool is_plain = true;  // without TLS
  // Bounds of open connections. The descriptor limit of the process may lower them.
  int max_connections = 4096;
  int max_connections_per_address = 1024;
  // Clients prove who they are. Otherwise their addresses stand for them (connection_table.h).
  bool has_credentials = false;
  GuardBounds guard;
  int reserved_descriptors = 0;  // that other parts of the process will open
  // Begins the TLS handshake of a connection. Null, or where it returns null, gRPC makes it.
  std::function<TlsSession(int socket)> begin_handshake;
  // A handshake that begin_handshake() began has failed, and its client is at `address`
  // (PeerKeys::address). Must not call the listener. May be null.
  std::function<void(const std::string& address, const HandshakeFailure& failure)>
      on_handshake_failed;
  // Time after which the system gives up a connection whose peer acknowledges nothing.
  std::chrono::milliseconds user_timeout{10'000};
};

// A connection of the server to itself.
struct SelfCheckConnection {
  FileDescriptor socket;
  // The listener has closed it: a new client that proves who it is would find no place.
  std::shared_ptr<const std::atomic<bool>> is_refused;
};

struct ListenerUse {
  int connections = 0;
  int max_connections = 0;
  int max_connections_per_address = 0;
  std::array<int64_t, kCloseReasonNames.size()> closed = {};
};

// Thread-safe. One thread of its own accepts, makes TLS handshakes, hands over, and notices the
// ends of connections.
class Listener {
 public:
  // Takes a connection that does not block. `handshake`: is complete; null where there was none.
  // `is_self_check`: made by ConnectSelfCheck().
  using HandOver =
      std::function<void(FileDescriptor connection, TlsSession handshake, bool is_self_check)>;

  // Binds the address and listens; connections wait until Start(). UNAVAILABLE: no address of this
  // machine, unknown, or in use.
  static absl::StatusOr<std::unique_ptr<Listener>> Create(const ListenerOptions& options);

  // Closes every connection.
  virtual ~Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // `hand_over` is called by one thread until StopAccepting() returns. Once only.
  virtual void Start(HandOver hand_over) = 0;
  // Closes the sockets that listen. New connections are refused by the system.
  virtual void StopAccepting() = 0;
  // Shuts down every connection: gRPC then ends their calls.
  virtual void ShutDownConnections() = 0;

  // A call has told who the client of a connection is, whose endpoint is PeerKeys::endpoint, or
  // kUnixPeer. The connection, or another one that makes room for it, may be closed.
  virtual void Prove(const std::string& endpoint, const std::string& owner) = 0;

  // A connection to the listener itself, by the same way as that of any client. It takes no place,
  // but is closed if a new client that proves who it is would find none. One at a time: an earlier
  // one that is not accepted yet is taken for a client's. UNAVAILABLE: the reason.
  virtual absl::StatusOr<SelfCheckConnection> ConnectSelfCheck() = 0;

  virtual int port() const = 0;  // 0 for a Unix socket
  // That may be open at once. Does not wait.
  virtual int max_connections() const = 0;
  virtual ListenerUse use() const = 0;

 protected:
  Listener() = default;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_LISTENER_H_
