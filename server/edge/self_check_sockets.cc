// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/self_check_sockets.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/edge/connection_table.h"

namespace orbserve {
namespace {

constexpr size_t kMaxWaiting = 64;

// The address by which this process itself reaches a socket bound to `bound`.
SocketAddress OwnTarget(SocketAddress bound) {
  if (bound.family() == AF_INET) {
    auto& ipv4 = reinterpret_cast<sockaddr_in&>(bound.storage);
    if (ipv4.sin_addr.s_addr == INADDR_ANY) ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else if (bound.family() == AF_INET6) {
    auto& ipv6 = reinterpret_cast<sockaddr_in6&>(bound.storage);
    if (IN6_IS_ADDR_UNSPECIFIED(&ipv6.sin6_addr)) ipv6.sin6_addr = in6addr_loopback;
  }
  return bound;
}

}  // namespace

void SelfCheckSockets::SetTarget(const SocketAddress& bound) { target_ = OwnTarget(bound); }

absl::StatusOr<SelfCheckConnection> SelfCheckSockets::Connect() {
  const auto failed = [](const char* call) {
    return absl::UnavailableError(absl::StrCat("the server cannot reach itself: ", call, ": ",
                                               std::generic_category().message(errno)));
  };
  const SocketAddress& target = target_;
  FileDescriptor made(socket(target.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made) return failed("socket");
  // The address is known before the connection is made, so it is told from those of clients.
  SocketAddress own = target;
  if (own.family() == AF_UNIX) {
    own = {};
    own.storage.ss_family = AF_UNIX;
    own.size = sizeof(sa_family_t);  // the system gives it a name
  } else {
    SetPort(own, 0);
  }
  if (bind(made.get(), own.get(), own.size) != 0) return failed("bind");
  const std::string name = PeerKeysOf(LocalAddressOf(made.get())).endpoint;
  auto is_refused = std::make_shared<std::atomic<bool>>(false);
  {
    const std::scoped_lock lock(mutex_);
    // Those that were never accepted were given up long ago.
    if (waiting_.size() >= kMaxWaiting) waiting_.clear();
    waiting_[name] = is_refused;
  }
  if (connect(made.get(), target.get(), target.size) != 0 && errno != EINPROGRESS) {
    const absl::Status status = failed("connect");
    const std::scoped_lock lock(mutex_);
    waiting_.erase(name);
    return status;
  }
  return SelfCheckConnection{std::move(made), std::move(is_refused)};
}

bool SelfCheckSockets::Contains(const std::string& endpoint) const {
  const std::scoped_lock lock(mutex_);
  return waiting_.contains(endpoint);
}

void SelfCheckSockets::Refuse(const std::string& endpoint) {
  const std::scoped_lock lock(mutex_);
  const auto found = waiting_.find(endpoint);
  if (found == waiting_.end()) return;
  *found->second = true;
  waiting_.erase(found);
}

void SelfCheckSockets::Forget(const std::string& endpoint) {
  const std::scoped_lock lock(mutex_);
  waiting_.erase(endpoint);
}

}  // namespace orbserve
