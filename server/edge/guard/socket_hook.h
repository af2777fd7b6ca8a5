// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// gRPC reads sockets with recvmsg() and writes them with sendmsg(). A program that links
// socket_hook.cc has its own definitions of both: the dynamic linker prefers them to the C
// library's, for the calls of gRPC's shared library as well. They do what the C library does, and
// tell the GuardTable. A connection that breaks a bound looks as if the client had reset it. One
// whose turn is over (read_turn.h) looks as if there were no more to read; epoll_ctl() is defined
// to learn by which event its poller wakes gRPC up again. tls_hook.cc does the same for SSL_read()
// and SSL_write(), by which gRPC decrypts and encrypts.

#ifndef ORBSERVE_SERVER_EDGE_GUARD_SOCKET_HOOK_H_
#define ORBSERVE_SERVER_EDGE_GUARD_SOCKET_HOOK_H_

// Sanitizers define these functions themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ORBSERVE_HAS_HOOKS 0
#else
#define ORBSERVE_HAS_HOOKS 1
#endif

namespace orbserve {

// Of tls_hook.cc, which is linked where this is called.
bool HasTlsHook();

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_GUARD_SOCKET_HOOK_H_
