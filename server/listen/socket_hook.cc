// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/listen/socket_hook.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "server/listen/guard_table.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ORBSERVE_HAS_SOCKET_HOOK 0
#else
#define ORBSERVE_HAS_SOCKET_HOOK 1
#endif

#if ORBSERVE_HAS_SOCKET_HOOK

extern "C" __attribute__((visibility("default"))) ssize_t recvmsg(int descriptor, msghdr* message,
                                                                  int flags) {
  const ssize_t count = syscall(SYS_recvmsg, descriptor, message, flags);
  // Reads with flags are of the error queue.
  if (count <= 0 || flags != 0) return count;
  if (orbserve::GuardTable::Get().Received(descriptor, message->msg_iov, message->msg_iovlen,
                                           static_cast<size_t>(count))) {
    return count;
  }
  errno = ECONNRESET;
  return -1;
}

extern "C" __attribute__((visibility("default"))) ssize_t sendmsg(int descriptor,
                                                                  const msghdr* message,
                                                                  int flags) {
  const ssize_t count = syscall(SYS_sendmsg, descriptor, message, flags);
  if (count > 0) {
    orbserve::GuardTable::Get().Sent(descriptor, message->msg_iov, message->msg_iovlen,
                                     static_cast<size_t>(count));
  }
  return count;
}

#endif

namespace orbserve {

bool HasSocketHook() { return ORBSERVE_HAS_SOCKET_HOOK != 0; }

}  // namespace orbserve
