// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A port of the loopback on which every connection ends at once, for clients that wait for a
// server.

#ifndef ORBSERVE_TESTS_CLIENT_REFUSING_PORT_H_
#define ORBSERVE_TESTS_CLIENT_REFUSING_PORT_H_

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace orbserve::testing {

inline sockaddr_in LoopbackAddress(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// Returns true if a connection to this port of the loopback can be made.
inline bool Accepts(int port) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = LoopbackAddress(port);
  const bool accepts =
      connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(connection);
  return accepts;
}

class RefusingPort {
 public:
  // `port`: 0 = a free one.
  explicit RefusingPort(int port = 0) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    // gRPC may not have closed the port of the server before yet.
    setsockopt(socket_, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes));
    sockaddr_in address = LoopbackAddress(port);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_, generic, size), 0);
    EXPECT_EQ(listen(socket_, 16), 0);
    EXPECT_EQ(getsockname(socket_, generic, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~RefusingPort() { close(socket_); }
  RefusingPort(const RefusingPort&) = delete;
  RefusingPort& operator=(const RefusingPort&) = delete;

  int port() const { return port_; }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  // Waits for so many connections, and ends each of them.
  void Refuse(int count) const {
    for (int i = 0; i < count; ++i) {
      const int connection = accept(socket_, nullptr, nullptr);
      EXPECT_GE(connection, 0);
      close(connection);
    }
  }

 private:
  const int socket_;
  int port_ = 0;
};

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_CLIENT_REFUSING_PORT_H_
