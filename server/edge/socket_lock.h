// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Keeps a second server off a Unix socket. A server replaces the file of a socket before it serves
// there, because a process that was killed leaves one behind. Therefore the server that uses a
// socket holds a lock on a file beside it.

#ifndef ORBSERVE_SERVER_EDGE_SOCKET_LOCK_H_
#define ORBSERVE_SERVER_EDGE_SOCKET_LOCK_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace orbserve {

// The lock of this process on PATH.lock, until it is destroyed, which removes the file. A file or
// socket that a dead process has left behind is no obstacle.
class SocketLock {
 public:
  // `listen`: an address that CheckListenAddress() accepts. Null where it is not unix:PATH: the
  // system itself gives other addresses to one server only. UNAVAILABLE when another server serves
  // there, or when the file cannot be made.
  static absl::StatusOr<std::unique_ptr<SocketLock>> Create(absl::string_view listen);

  ~SocketLock();
  SocketLock(const SocketLock&) = delete;
  SocketLock& operator=(const SocketLock&) = delete;

 private:
  SocketLock(std::string path, int file) : path_(std::move(path)), file_(file) {}

  const std::string path_;
  const int file_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_SOCKET_LOCK_H_
