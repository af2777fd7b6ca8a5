// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A TCP relay that can be far, and can cut connections as a lost network does: silently.

#ifndef ORBSERVE_TESTS_CLIENT_SILENT_RELAY_H_
#define ORBSERVE_TESTS_CLIENT_SILENT_RELAY_H_

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/client/refusing_port.h"

namespace orbserve::testing {

class SilentRelay {
 public:
  // Forwards connections to `server_port` of the loopback, each piece after `delay`.
  explicit SilentRelay(int server_port, absl::Duration delay = absl::ZeroDuration())
      : server_port_(server_port),
        delay_(delay),
        listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = LoopbackAddress(0);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, generic, size), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    EXPECT_EQ(getsockname(listener_, generic, &size), 0);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }

  ~SilentRelay() {
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    close(listener_);
    for (const auto& connection : connections_) {
      for (const int end : connection->ends) shutdown(end, SHUT_RDWR);
      for (std::thread& pump : connection->pumps) pump.join();
      for (const int end : connection->ends) close(end);
    }
  }
  SilentRelay(const SilentRelay&) = delete;
  SilentRelay& operator=(const SilentRelay&) = delete;

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  // From now on nothing passes on the connections there are. They stay open; new ones work.
  void Cut() {
    absl::MutexLock lock(&mutex_);
    for (const auto& connection : connections_) connection->is_cut = true;
  }

 private:
  struct Connection {
    int ends[2];
    std::atomic<bool> is_cut = false;
    std::vector<std::thread> pumps;
  };

  void Accept() {
    for (;;) {
      const int near = accept(listener_, nullptr, nullptr);
      if (near < 0) return;
      const int far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const sockaddr_in address = LoopbackAddress(server_port_);
      EXPECT_EQ(connect(far, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
      absl::MutexLock lock(&mutex_);
      Connection* const connection =
          connections_.emplace_back(std::make_unique<Connection>()).get();
      connection->ends[0] = near;
      connection->ends[1] = far;
      connection->pumps.emplace_back([=, this] { Pump(connection, near, far); });
      connection->pumps.emplace_back([=, this] { Pump(connection, far, near); });
    }
  }

  void Pump(const Connection* connection, int from, int to) const {
    char buffer[1 << 14];
    for (ssize_t size = 0; (size = recv(from, buffer, sizeof(buffer), 0)) > 0;) {
      absl::SleepFor(delay_);
      if (connection->is_cut) continue;
      if (send(to, buffer, static_cast<size_t>(size), MSG_NOSIGNAL) < size) break;
    }
    if (!connection->is_cut) shutdown(to, SHUT_WR);
  }

  const int server_port_;
  const absl::Duration delay_;
  const int listener_;
  int port_ = 0;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::thread acceptor_;
};

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_CLIENT_SILENT_RELAY_H_
