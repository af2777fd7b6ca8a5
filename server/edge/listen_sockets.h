// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_EDGE_LISTEN_SOCKETS_H_
#define ORBSERVE_SERVER_EDGE_LISTEN_SOCKETS_H_

#include <sys/socket.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/process/file_descriptor.h"

namespace orbserve {

// An address of any family, as the socket calls take it.
struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

// The system's text for an errno.
std::string ErrorText(int error);
// UNAVAILABLE.
absl::Status CannotServe(absl::string_view address, absl::string_view reason);

// The local address of a socket; of size 0 where there is none.
SocketAddress LocalAddressOf(int socket);
// 0 for a Unix socket.
int PortOf(const SocketAddress& address);
void SetPort(SocketAddress& address, int port);

// Sockets that listen on one configured address. They do not block and are closed on exec.
class ListenSockets {
 public:
  // `address`: one that CheckListenAddress() accepts. A name is resolved, and every address that it
  // has is listened on, at one port. A wildcard takes IPv4 and IPv6 where the machine has both. The
  // file of a Unix socket is replaced, so the caller holds the SocketLock. `user_timeout`: time
  // after which the system gives up a TCP connection whose peer acknowledges nothing.
  // UNAVAILABLE: no address of this machine, unknown, or in use.
  static absl::StatusOr<ListenSockets> Bind(absl::string_view address,
                                            std::chrono::milliseconds user_timeout);

  ListenSockets() = default;
  ListenSockets(ListenSockets&&) = default;
  ListenSockets& operator=(ListenSockets&&) = default;
  ~ListenSockets() { Close(); }

  const std::vector<FileDescriptor>& sockets() const { return sockets_; }
  int port() const { return port_; }  // 0 for a Unix socket
  // Closes the sockets and removes the file of a Unix socket.
  void Close();

 private:
  std::vector<FileDescriptor> sockets_;
  int port_ = 0;
  std::string path_;  // of a Unix socket
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_LISTEN_SOCKETS_H_
