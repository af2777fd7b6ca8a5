// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Tells the service manager that started this process how it is doing, by the protocol of systemd's
// sd_notify(3): one datagram to the socket that the environment names.

#ifndef ORBSERVE_SERVER_PROCESS_SERVICE_MANAGER_H_
#define ORBSERVE_SERVER_PROCESS_SERVICE_MANAGER_H_

#include <chrono>
#include <string>

#include "absl/strings/string_view.h"

namespace orbserve {

// Messages are sent without waiting and dropped where nobody reads them. Does nothing where no
// service manager asks for messages.
class ServiceManager {
 public:
  // Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID from the environment, and removes them, so
  // that no program that this process starts speaks for it.
  static ServiceManager FromEnvironment();

  // Within every such time Alive() must be called, or the manager starts another process; 0 = it
  // does not look.
  std::chrono::microseconds watchdog_time() const { return watchdog_time_; }

  // The process serves. `status` is one line for people.
  void Ready(absl::string_view status) const;
  void Alive() const;
  // The process ends, within `limit`.
  void Stopping(std::chrono::microseconds limit) const;

 private:
  void Send(absl::string_view message) const;

  std::string socket_;  // empty = nobody listens; a leading @ = an abstract name
  std::chrono::microseconds watchdog_time_{0};
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_SERVICE_MANAGER_H_
