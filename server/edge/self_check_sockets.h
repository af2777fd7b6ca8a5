// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Connections of the process to its own listener, by the same way as those of clients.

#ifndef ORBSERVE_SERVER_EDGE_SELF_CHECK_SOCKETS_H_
#define ORBSERVE_SERVER_EDGE_SELF_CHECK_SOCKETS_H_

#include <mutex>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "server/edge/file_descriptor.h"
#include "server/edge/listen_sockets.h"

namespace orbserve {

// Thread-safe, once it has its target.
class SelfCheckSockets {
 public:
  // `bound`: the address of a socket that listens.
  void SetTarget(const SocketAddress& bound);
  // UNAVAILABLE: the reason.
  absl::StatusOr<FileDescriptor> Connect();
  // A connection whose client has this PeerKeys::endpoint was made by Connect().
  bool Contains(const std::string& endpoint) const;
  // It was accepted or refused.
  void Forget(const std::string& endpoint);

 private:
  SocketAddress target_;
  mutable std::mutex mutex_;
  std::set<std::string> waiting_;  // endpoints that are not accepted yet
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_SELF_CHECK_SOCKETS_H_
