// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The guards of the connections that this process serves, found by the number of the descriptor.

#ifndef ORBSERVE_SERVER_LISTEN_GUARD_TABLE_H_
#define ORBSERVE_SERVER_LISTEN_GUARD_TABLE_H_

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "server/listen/http2_guard.h"

namespace orbserve {

// What is known of a connection's traffic. Zero where nothing passes the table (see
// socket_hook.cc).
struct GuardView {
  Http2Breach breach = Http2Breach::kNone;
  int64_t received_bytes = 0;
  // With TLS these are estimates by the number of bytes where no TlsGuard sees what is decrypted.
  int64_t calls = 0;
  int64_t last_call_ms = 0;  // GuardTable::NowMs()
};

class TlsGuard;

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
  // `address`: of the peer, whose connections have a budget together.
  // `max_calls`: calls that gRPC allows at a time.
  void Arm(int descriptor, bool is_plain, absl::string_view address, uint32_t max_calls);
  void Disarm(int descriptor);
  GuardView View(int descriptor) const;

  // Bytes that were read from `descriptor`. False when the connection broke a bound, and from then
  // on. True for descriptors that are not watched.
  bool Received(int descriptor, const iovec* pieces, size_t count, size_t bytes);
  // Bytes that were written to `descriptor`; by one thread at a time.
  void Sent(int descriptor, const iovec* pieces, size_t count, size_t bytes);
  // True once Received() was called for a watched descriptor: reads pass through here.
  bool is_used() const { return used_.load(std::memory_order_relaxed); }

 private:
  friend class TlsGuard;

  enum class State : uint8_t { kFree, kTls, kPlain };
  // Http2Answers, written by the thread that sends and read by the one that receives.
  struct Sending {
    Http2AnswerReader reader;
    std::atomic<int64_t> bytes{0};
    std::atomic<int64_t> ended_calls{0};
    std::atomic<int64_t> cancelled_calls{0};

    void Clear();
    void Publish();
    Http2Answers View() const;
  };
  struct Slot {
    std::atomic<State> state{State::kFree};
    std::atomic<Http2Breach> breach{Http2Breach::kNone};
    std::atomic<int64_t> received_bytes{0};
    Sending sending;
    uint32_t max_calls = 0;
    std::atomic<int64_t> calls{0};
    std::atomic<int64_t> last_call_ms{0};
    std::atomic<TlsGuard*> tls{nullptr};
    ResetBudget* budget = nullptr;
    Http2Guard guard;  // of the thread that reads
  };

  constexpr GuardTable() = default;
  // The slot of a descriptor that is watched, else null.
  Slot* Find(int descriptor) const;

  // Made before main(), because everything that reads from a socket passes through.
  static GuardTable table_;

  // Addresses share a budget where their hashes agree, which matters to floods only.
  static constexpr size_t kBudgets = 4096;

  std::atomic<bool> used_{false};
  ResetBudget budgets_[kBudgets] = {};
  // A slot is made at the first use of its number and then kept.
  std::atomic<Slot*> slots_[kDescriptors] = {};
};

// Guard of what one TLS connection decrypts. Not thread-safe, as the TLS connection is not. gRPC
// decrypts in the thread that has read: the first bytes tell to which descriptor they belong.
class TlsGuard {
 public:
  TlsGuard() = default;
  ~TlsGuard();
  TlsGuard(const TlsGuard&) = delete;
  TlsGuard& operator=(const TlsGuard&) = delete;

  // False when the connection broke a bound, and from then on.
  bool Received(const uint8_t* bytes, size_t size);
  void Sent(const uint8_t* bytes, size_t size) { sent_.Sent(bytes, size); }

 private:
  void Begin(int64_t now_ms);

  bool begun_ = false;
  Http2Guard guard_;
  Http2AnswerReader sent_;
  GuardTable::Slot* slot_ = nullptr;  // null where the descriptor is not known
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_LISTEN_GUARD_TABLE_H_
