// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The guards of the connections that this process serves, found by the number of the descriptor.

#ifndef ORBSERVE_SERVER_LISTEN_GUARD_TABLE_H_
#define ORBSERVE_SERVER_LISTEN_GUARD_TABLE_H_

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "server/listen/http2_guard.h"

namespace orbserve {

// What is known of a connection's traffic. Zero where nothing passes the table (see
// socket_hook.cc).
struct GuardView {
  Http2Breach breach = Http2Breach::kNone;
  int64_t received_bytes = 0;
  // With TLS these are estimates by the number of bytes.
  int64_t calls = 0;
  int64_t last_call_ms = 0;  // GuardTable::NowMs()
};

// One for the process, as descriptors are. Descriptors are armed before gRPC gets them. Received()
// of one descriptor is called by one thread at a time, as gRPC reads; the rest is thread-safe.
class GuardTable {
 public:
  // Descriptors from this number on have no place here.
  static constexpr int kDescriptors = 1 << 16;

  static GuardTable& Get() { return table_; }
  // Milliseconds of a clock that does not go back and costs next to nothing.
  static int64_t NowMs();

  // Watches the connection from its first byte. `is_plain`: its bytes are HTTP/2, not TLS.
  void Arm(int descriptor, bool is_plain);
  void Disarm(int descriptor);
  GuardView View(int descriptor) const;

  // Bytes that were read from `descriptor`. False when the connection broke a bound, and from then
  // on. True for descriptors that are not watched.
  bool Received(int descriptor, const iovec* pieces, size_t count, size_t bytes);
  void Sent(int descriptor, size_t bytes);
  // True once Received() was called for a watched descriptor: reads pass through here.
  bool is_used() const { return used_.load(std::memory_order_relaxed); }

 private:
  enum class State : uint8_t { kFree, kTls, kPlain };
  struct Slot {
    std::atomic<State> state{State::kFree};
    std::atomic<Http2Breach> breach{Http2Breach::kNone};
    std::atomic<int64_t> received_bytes{0};
    std::atomic<int64_t> sent_bytes{0};
    std::atomic<int64_t> calls{0};
    std::atomic<int64_t> last_call_ms{0};
    Http2Guard guard;  // of the thread that reads
  };

  constexpr GuardTable() = default;
  // The slot of a descriptor that is watched, else null.
  Slot* Find(int descriptor) const;

  // Made before main(), because everything that reads from a socket passes through.
  static GuardTable table_;

  std::atomic<bool> used_{false};
  // A slot is made at the first use of its number and then kept.
  std::atomic<Slot*> slots_[kDescriptors] = {};
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_LISTEN_GUARD_TABLE_H_
