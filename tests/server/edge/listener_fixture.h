// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_SERVER_EDGE_LISTENER_FIXTURE_H_
#define ORBSERVE_TESTS_SERVER_EDGE_LISTENER_FIXTURE_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/edge/connection_table.h"
#include "server/edge/listen_sockets.h"
#include "server/edge/listener.h"

namespace orbserve::testing {

template <typename Condition>
bool Eventually(const Condition& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

inline int64_t Closed(const Listener& listener, CloseReason reason) {
  return listener.use().closed[static_cast<size_t>(reason)];
}

// A listener, and the connections that it has handed over.
class ListenerTest : public ::testing::Test {
 protected:
  ListenerTest() { signal(SIGPIPE, SIG_IGN); }  // as the program does

  void StartListener(ListenerOptions options) {
    if (options.address.empty()) options.address = "127.0.0.1:0";
    auto created = Listener::Create(options);
    ASSERT_TRUE(created.ok()) << created.status();
    listener_ = *std::move(created);
    port_ = listener_->port();
    listener_->Start([this](FileDescriptor connection, TlsSession handshake, bool is_self_check) {
      const std::scoped_lock lock(mutex_);
      handshakes_ += handshake != nullptr ? 1 : 0;
      self_checks_ += is_self_check ? 1 : 0;
      taken_.push_back(std::move(connection));
    });
  }

  // A connection whose client says `start`, which is no beginning of HTTP/2: gRPC is to refuse it.
  FileDescriptor Connect(const std::string& start = "hello") const {
    SocketAddress address;
    auto& ipv4 = reinterpret_cast<sockaddr_in&>(address.storage);
    ipv4.sin_family = AF_INET;
    ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.size = sizeof(ipv4);
    SetPort(address, port_);
    FileDescriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(made.get(), address.get(), address.size) != 0) {
      made.Reset();
    } else {
      Say(made, start);
    }
    return made;
  }

  static void Say(const FileDescriptor& client, const std::string& bytes) {
    send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  absl::StatusOr<SelfCheckConnection> ConnectSelfCheck() {
    auto check = listener_->ConnectSelfCheck();
    if (check.ok()) Say(check->socket, "hello");
    return check;
  }

  // A call of the connection tells that it is of `owner`.
  void Prove(const FileDescriptor& client, const std::string& owner) {
    listener_->Prove(PeerKeysOf(LocalAddressOf(client.get())).endpoint, owner);
  }

  size_t taken() {
    const std::scoped_lock lock(mutex_);
    return taken_.size();
  }
  bool WaitForTaken(size_t count) {
    return Eventually([&] { return taken() == count; });
  }
  // Closes the connection as gRPC does.
  void CloseTaken(size_t index) {
    const std::scoped_lock lock(mutex_);
    shutdown(taken_[index].get(), SHUT_RDWR);
    taken_[index].Reset();
  }
  static bool IsClosedByPeer(const FileDescriptor& connection) {
    pollfd event = {connection.get(), POLLIN, 0};
    char byte = 0;
    return poll(&event, 1, 10'000) == 1 && recv(connection.get(), &byte, 1, 0) <= 0;
  }

  std::mutex mutex_;
  std::vector<FileDescriptor> taken_;
  int handshakes_ = 0;
  int self_checks_ = 0;
  int port_ = 0;
  std::unique_ptr<Listener> listener_;
};

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SERVER_EDGE_LISTENER_FIXTURE_H_
