// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Connections of the process to its own listener, by the same way as those of clients.

#ifndef ORBSERVE_SERVER_EDGE_SELF_CHECK_SOCKETS_H_
#define ORBSERVE_SERVER_EDGE_SELF_CHECK_SOCKETS_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "server/edge/listen_sockets.h"
#include "server/process/file_descriptor.h"

namespace orbserve {

struct SelfCheckConnection {
  FileDescriptor socket;
  // The listener has closed it: a new client that proves who it is would find no place.
  std::shared_ptr<const std::atomic<bool>> is_refused;
};

// Thread-safe, once it has its target.
class SelfCheckSockets {
 public:
  // `bound`: the address of a socket that listens.
  void SetTarget(const SocketAddress& bound);
  // UNAVAILABLE: the reason.
  absl::StatusOr<SelfCheckConnection> Connect();
  // A connection whose client has this PeerKeys::endpoint was made by Connect().
  bool Contains(const std::string& endpoint) const;
  // It was accepted.
  void Forget(const std::string& endpoint);
  void Refuse(const std::string& endpoint);

 private:
  SocketAddress target_;
  mutable std::mutex mutex_;
  // Endpoints that are not accepted yet, with SelfCheckConnection::is_refused.
  std::map<std::string, std::shared_ptr<std::atomic<bool>>> waiting_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_SELF_CHECK_SOCKETS_H_
