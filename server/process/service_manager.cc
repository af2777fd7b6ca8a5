// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/process/file_descriptor.h"

namespace orbserve {
namespace {

// The variable's value, after which it is gone; empty where it was not set.
std::string TakeVariable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) return "";
  std::string taken = value;
  unsetenv(name);
  return taken;
}

}  // namespace

ServiceManager ServiceManager::FromEnvironment() {
  ServiceManager manager;
  manager.socket_ = TakeVariable("NOTIFY_SOCKET");
  const std::string time = TakeVariable("WATCHDOG_USEC");
  const std::string pid = TakeVariable("WATCHDOG_PID");
  const bool is_meant = pid.empty() || pid == absl::StrCat(getpid());
  int64_t microseconds = 0;
  if (!manager.socket_.empty() && is_meant && absl::SimpleAtoi(time, &microseconds) &&
      microseconds > 0) {
    manager.watchdog_time_ = std::chrono::microseconds(microseconds);
  }
  return manager;
}

void ServiceManager::Ready(absl::string_view status) const {
  Send(absl::StrCat("READY=1\nSTATUS=", status));
}

void ServiceManager::Alive() const { Send("WATCHDOG=1"); }

void ServiceManager::Stopping(std::chrono::microseconds limit) const {
  // The end may take longer than the watchdog's time, or than the manager would wait.
  std::string message = absl::StrCat(
      "STOPPING=1\nSTATUS=answering what was accepted\nEXTEND_TIMEOUT_USEC=", limit.count());
  if (watchdog_time_.count() > 0) absl::StrAppend(&message, "\nWATCHDOG_USEC=", limit.count());
  Send(message);
}

void ServiceManager::Send(absl::string_view message) const {
  sockaddr_un address = {};
  if (socket_.empty() || socket_.size() >= sizeof(address.sun_path)) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_[0] == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const FileDescriptor sender(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!sender) return;
  sendto(sender.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
         reinterpret_cast<const sockaddr*>(&address), length);
}

}  // namespace orbserve
