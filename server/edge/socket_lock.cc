// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/socket_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/edge/listen_sockets.h"

namespace orbserve {
namespace {

// True when the name still leads to the open file; its last holder may have removed it.
bool IsNameOf(const std::string& path, int file) {
  struct stat by_name = {};
  struct stat open_file = {};
  return stat(path.c_str(), &by_name) == 0 && fstat(file, &open_file) == 0 &&
         by_name.st_dev == open_file.st_dev && by_name.st_ino == open_file.st_ino;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SocketLock>> SocketLock::Create(absl::string_view listen) {
  absl::string_view socket = listen;
  if (!absl::ConsumePrefix(&socket, "unix:")) return nullptr;
  std::string path = absl::StrCat(socket, ".lock");
  for (;;) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) {
      return CannotServe(listen, absl::StrCat("cannot make ", path, ": ", ErrorText(errno)));
    }
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
      const std::string reason =
          errno == EWOULDBLOCK ? "another server serves there" : ErrorText(errno);
      close(file);
      return CannotServe(listen, absl::StrCat("cannot lock ", path, ": ", reason));
    }
    if (IsNameOf(path, file)) {
      return std::unique_ptr<SocketLock>(new SocketLock(std::move(path), file));
    }
    close(file);
  }
}

SocketLock::~SocketLock() {
  unlink(path_.c_str());  // while it is locked
  close(file_);
}

}  // namespace orbserve
