// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/listen_sockets.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace orbserve {
namespace {

// Attempts to find a port that is free for every address of a name.
constexpr int kPortAttempts = 16;

bool SetInt(int socket, int level, int option, int value) {
  return setsockopt(socket, level, option, &value, sizeof(value)) == 0;
}

bool IsWildcard(const SocketAddress& address) {
  if (address.family() == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(address.storage).sin_addr.s_addr == INADDR_ANY;
  }
  if (address.family() != AF_INET6) return false;
  const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
  return IN6_IS_ADDR_UNSPECIFIED(&ipv6.sin6_addr);
}

SocketAddress Wildcard(int family, int port) {
  SocketAddress address;
  address.storage.ss_family = static_cast<sa_family_t>(family);
  address.size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  SetPort(address, port);
  return address;
}

// A socket that listens; none where errno says why.
FileDescriptor ListenOn(const SocketAddress& address, std::chrono::milliseconds user_timeout) {
  const int family = address.family();
  FileDescriptor made(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int number = made.get();
  if (number < 0) return {};
  if (family != AF_UNIX) {
    // Accepted sockets inherit these. Without SO_REUSEPORT a second server is refused the port.
    if (!SetInt(number, SOL_SOCKET, SO_REUSEADDR, 1)) return {};
    if (!SetInt(number, IPPROTO_TCP, TCP_NODELAY, 1)) return {};
    SetInt(number, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(user_timeout.count()));
  }
  // A wildcard takes IPv4 too, whatever the default of the system says.
  if (family == AF_INET6 && !SetInt(number, IPPROTO_IPV6, IPV6_V6ONLY, IsWildcard(address) ? 0 : 1))
    return {};
  if (bind(number, address.get(), address.size) != 0) return {};
  if (listen(number, SOMAXCONN) != 0) return {};
  return made;
}

void RemoveSocketFile(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode)) unlink(path.c_str());
}

// `name`: the path, or the name in the abstract namespace.
SocketAddress UnixAddress(absl::string_view name, bool is_abstract) {
  SocketAddress address;
  auto& unix_address = reinterpret_cast<sockaddr_un&>(address.storage);
  unix_address.sun_family = AF_UNIX;
  char* const path = unix_address.sun_path + (is_abstract ? 1 : 0);
  const size_t room = sizeof(unix_address.sun_path) - 1;
  const size_t size = std::min(name.size(), room);
  std::memcpy(path, name.data(), size);
  // The name of an abstract socket has a zero before it, that of a file one behind it.
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size + 1);
  return address;
}

// Every different address of HOST:PORT or [IPV6]:PORT.
absl::StatusOr<std::vector<SocketAddress>> Resolve(absl::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return CannotServe(address, "it has no port");
  absl::string_view host = address.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(std::string(host).c_str(),
                                std::string(address.substr(colon + 1)).c_str(), &hints, &found);
  if (error != 0) {
    return CannotServe(address, error == EAI_SYSTEM ? ErrorText(errno) : gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    SocketAddress next;
    std::memcpy(&next.storage, entry->ai_addr, entry->ai_addrlen);
    next.size = entry->ai_addrlen;
    const bool is_known =
        std::any_of(addresses.begin(), addresses.end(), [&next](const SocketAddress& known) {
          return known.size == next.size &&
                 std::memcmp(&known.storage, &next.storage, next.size) == 0;
        });
    if (!is_known) addresses.push_back(next);
  }
  return addresses;
}

// The machine lacks the address or its family; other addresses may still be served.
bool IsAbsent(int error) { return error == EAFNOSUPPORT || error == EADDRNOTAVAIL; }

// Listens on `addresses` at one port. The number of the first error where none could be had, or
// where one is in use.
int ListenOnAll(std::vector<SocketAddress> addresses, std::chrono::milliseconds user_timeout,
                std::vector<FileDescriptor>& sockets) {
  int first_error = 0;
  int port = 0;
  for (SocketAddress& address : addresses) {
    if (port != 0 && PortOf(address) == 0) SetPort(address, port);
    FileDescriptor made;
    if (IsWildcard(address)) {
      made = ListenOn(Wildcard(AF_INET6, PortOf(address)), user_timeout);
      if (!made && IsAbsent(errno)) {
        made = ListenOn(Wildcard(AF_INET, PortOf(address)), user_timeout);
      }
    } else {
      made = ListenOn(address, user_timeout);
    }
    if (made) {
      port = PortOf(LocalAddressOf(made.get()));
      sockets.push_back(std::move(made));
      continue;
    }
    const int error = errno;
    if (first_error == 0) first_error = error;
    if (!IsAbsent(error)) {
      sockets.clear();
      return error;
    }
  }
  return sockets.empty() ? first_error : 0;
}

}  // namespace

std::string ErrorText(int error) { return std::generic_category().message(error); }

absl::Status CannotServe(absl::string_view address, absl::string_view reason) {
  return absl::UnavailableError(absl::StrCat("cannot serve on ", address, ": ", reason));
}

SocketAddress LocalAddressOf(int socket) {
  SocketAddress address;
  address.size = sizeof(address.storage);
  if (getsockname(socket, address.get(), &address.size) != 0) address = {};
  return address;
}

int PortOf(const SocketAddress& address) {
  if (address.family() == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in&>(address.storage).sin_port);
  }
  if (address.family() == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_port);
  }
  return 0;
}

void SetPort(SocketAddress& address, int port) {
  const uint16_t number = htons(static_cast<uint16_t>(port));
  if (address.family() == AF_INET) {
    reinterpret_cast<sockaddr_in&>(address.storage).sin_port = number;
  } else if (address.family() == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address.storage).sin6_port = number;
  }
}

absl::StatusOr<ListenSockets> ListenSockets::Bind(absl::string_view address,
                                                  std::chrono::milliseconds user_timeout) {
  ListenSockets result;
  absl::string_view name = address;
  const bool is_file = absl::ConsumePrefix(&name, "unix:");
  if (is_file || absl::ConsumePrefix(&name, "unix-abstract:")) {
    if (is_file) {
      result.path_ = std::string(name);
      RemoveSocketFile(result.path_);
    }
    FileDescriptor made = ListenOn(UnixAddress(name, !is_file), user_timeout);
    if (!made) {
      result.path_.clear();
      return CannotServe(address, ErrorText(errno));
    }
    result.sockets_.push_back(std::move(made));
    return result;
  }
  auto addresses = Resolve(address);
  if (!addresses.ok()) return addresses.status();
  int error = 0;
  for (int i = 0; i < kPortAttempts; ++i) {
    error = ListenOnAll(*addresses, user_timeout, result.sockets_);
    const bool is_free_port = !addresses->empty() && PortOf(addresses->front()) == 0;
    // A port that was free for the first address may be in use at the second.
    if (error != EADDRINUSE || !is_free_port) break;
  }
  if (result.sockets_.empty()) return CannotServe(address, ErrorText(error));
  result.port_ = PortOf(LocalAddressOf(result.sockets_.front().get()));
  return result;
}

void ListenSockets::Close() {
  if (sockets_.empty()) return;
  if (!path_.empty()) RemoveSocketFile(path_);
  sockets_.clear();
}

}  // namespace orbserve
