// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What the rest of the server knows of the guard: of all that exists because of gRPC 1.51
// (docs/guard.md). With ORBSERVE_GRPC_GUARD=OFF there is none, and no_guard.cc stands for it.

#ifndef ORBSERVE_SERVER_EDGE_GUARD_GUARD_H_
#define ORBSERVE_SERVER_EDGE_GUARD_GUARD_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/strings/string_view.h"
#include "server/edge/close_reason.h"
#include "server/edge/coarse_clock.h"
#include "server/edge/tls_handshake.h"

namespace orbserve {

class ConnectionTable;

// These figures tell a connection's traffic. They are zero where nothing is shown to the guard.
struct GuardView {
  CloseReason violation = CloseReason::kEnded;
  int64_t calls = 0;             // that have begun
  bool is_answered = false;      // one of them, in part at least
  int64_t last_call_ms = 0;      // CoarseNowMs()
  int64_t unfinished_bytes = 0;  // of messages that have begun and not ended
  int64_t unproven_calls = 0;    // that are open; 0 after Prove()
};

struct GuardBounds {
  int max_calls_per_connection = 256;  // that gRPC allows at a time
  // What all connections together may hold. Beyond, those that hold the most are closed.
  int64_t max_unproven_calls = 4096;                // open ones, of connections not proven
  int64_t max_unfinished_bytes = int64_t{1} << 30;  // of messages that have begun and not ended
  // Large messages wait beyond this, but for those of one connection.
  int64_t shared_message_bytes = int64_t{1} << 29;
  // Large messages wait, too, while this is false: the server has enough complete ones. Null:
  // never.
  std::function<bool()> takes_messages;
};

// Guards the connections of a listener, which names them by the descriptors that gRPC gets. What
// stands here is what happens without a guard: nothing. Thread-safe, but for what is said.
class ConnectionGuard {
 public:
  // The set `epoll` will tell `about` when BeginTurns() and CloseHeaviest() are to be called, or
  // has_waiting() is true. Null where the system has no descriptors left; errno says why.
  static std::unique_ptr<ConnectionGuard> Make(const GuardBounds& bounds, int epoll,
                                               uint64_t about);
  ConnectionGuard() = default;
  virtual ~ConnectionGuard() = default;
  ConnectionGuard(const ConnectionGuard&) = delete;
  ConnectionGuard& operator=(const ConnectionGuard&) = delete;

  // From Start() to Stop() connections may be closed and made to wait for what they hold together.
  virtual void Start() {}
  virtual void Stop() {}
  // For one thread. Connections that have waited for their turn are read again.
  virtual void BeginTurns() {}
  // Closes connections until the others have room.
  virtual void CloseHeaviest(const ConnectionTable&) {}

  // Watches a connection from its first byte: before gRPC gets it. `is_plain`: its bytes are
  // HTTP/2, not TLS. `address`: of the peer, whose connections have a budget together. False where
  // the number is too large for the guard.
  virtual bool Arm(int /*descriptor*/, bool /*is_plain*/, absl::string_view /*address*/) {
    return true;
  }
  // The number is that of something else by now.
  virtual void Disarm(int /*descriptor*/) {}
  // Where the guard sees no traffic a call has begun just now: idle connections cannot be told from
  // others, nor those that never call.
  virtual GuardView View(int /*descriptor*/) const {
    return {.calls = 1, .last_call_ms = CoarseNowMs()};
  }
  // The client of the connection is known.
  virtual void Prove(int /*descriptor*/) {}
  // True while connections are not read: Resume() is to be called for all now and then.
  virtual bool has_paused() const { return false; }
  virtual void Resume(int /*descriptor*/) {}
  // True while connections wait for room for their messages: ReadOn() is to be called every few
  // milliseconds. It closes the one that keeps the others waiting.
  virtual bool has_waiting() const { return false; }
  virtual void ReadOn(const ConnectionTable&) {}
  // The connection has ended, or is to end, and holds nothing from now on.
  virtual void Close(int /*descriptor*/) {}
};

// Has gRPC take over a TLS connection whose handshake is complete: while it lives, the thread that
// made it hands one connection over.
class TlsAdoption {
 public:
  // `session`: of the connection `descriptor`. Null: gRPC makes the handshake itself.
  TlsAdoption(int descriptor, TlsSession session);
  ~TlsAdoption();
  TlsAdoption(const TlsAdoption&) = delete;
  TlsAdoption& operator=(const TlsAdoption&) = delete;

  // True if gRPC takes over what is offered. Else it makes handshakes itself.
  static bool is_used();

 private:
  TlsSession session_;
};

// True once the guard has seen what gRPC reads from a socket. The program has it, not the library
// of the server: its functions replace those of the C library and of OpenSSL.
bool SeesTraffic();

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_GUARD_GUARD_H_
