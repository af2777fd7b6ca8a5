// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/guard/socket_hook.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "server/edge/guard/guard.h"
#include "server/edge/guard/guard_table.h"

#if ORBSERVE_HAS_HOOKS

namespace orbserve {
namespace {

constexpr size_t kMaxPieces = 64;  // gRPC reads into so many at most

// Copies the first pieces of `message`, `bytes` long in all, to `pieces`. Returns their number, 0
// where there are too many.
size_t FirstPieces(const msghdr& message, size_t bytes, iovec* pieces) {
  if (message.msg_iovlen > kMaxPieces) return 0;
  size_t count = 0;
  while (count < message.msg_iovlen && bytes > 0) {
    pieces[count] = message.msg_iov[count];
    pieces[count].iov_len = std::min(pieces[count].iov_len, bytes);
    bytes -= pieces[count++].iov_len;
  }
  return count;
}

size_t BytesOf(const msghdr& message) {
  size_t bytes = 0;
  for (size_t i = 0; i < message.msg_iovlen; ++i) bytes += message.msg_iov[i].iov_len;
  return bytes;
}

// Reads from a connection in its turn.
ssize_t ReadInTurn(int descriptor, msghdr* message) {
  GuardTable& guards = GuardTable::Get();
  const size_t most = guards.MayRead(descriptor);
  if (most == 0) {
    errno = EAGAIN;
    return -1;
  }
  iovec pieces[kMaxPieces];
  iovec* const all = message->msg_iov;
  const size_t all_count = message->msg_iovlen;
  if (const size_t count = FirstPieces(*message, most, pieces); count > 0) {
    message->msg_iov = pieces;
    message->msg_iovlen = count;
  }
  const ssize_t read = syscall(SYS_recvmsg, descriptor, message, 0);
  message->msg_iov = all;
  message->msg_iovlen = all_count;
  if (read > 0 && !guards.Received(descriptor, all, all_count, static_cast<size_t>(read))) {
    errno = ECONNRESET;
    return -1;
  }
  // gRPC does not read again where the system tells it that there is no more.
  if (read < static_cast<ssize_t>(std::min(most, BytesOf(*message)))) guards.ReadAll(descriptor);
  return read;
}

}  // namespace
}  // namespace orbserve

extern "C" __attribute__((visibility("default"))) ssize_t recvmsg(int descriptor, msghdr* message,
                                                                  int flags) {
  // Reads with flags are of the error queue.
  if (flags != 0) return syscall(SYS_recvmsg, descriptor, message, flags);
  return orbserve::ReadInTurn(descriptor, message);
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

extern "C" __attribute__((visibility("default"))) int epoll_ctl(int epoll, int operation,
                                                                int descriptor,
                                                                epoll_event* event) noexcept {
  // Before the call: a thread may read as soon as the descriptor is in the set.
  if (operation == EPOLL_CTL_ADD && event != nullptr) {
    orbserve::GuardTable::Get().Watched(descriptor, epoll, *event);
  }
  return static_cast<int>(syscall(SYS_epoll_ctl, epoll, operation, descriptor, event));
}

#endif

namespace orbserve {

bool SeesTraffic() { return HasTlsHook() && GuardTable::Get().is_used(); }

}  // namespace orbserve
