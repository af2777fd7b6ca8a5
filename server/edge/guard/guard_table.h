// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The guards of the connections that this process serves, found by the number of the descriptor.

#ifndef ORBSERVE_SERVER_EDGE_GUARD_GUARD_TABLE_H_
#define ORBSERVE_SERVER_EDGE_GUARD_GUARD_TABLE_H_

#include <sys/epoll.h>
#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "absl/strings/string_view.h"
#include "server/edge/guard/guard.h"
#include "server/edge/guard/http2_guard.h"
#include "server/edge/guard/message_room.h"
#include "server/edge/guard/read_turn.h"

namespace orbserve {

// One for the process, as descriptors are. Descriptors are armed before gRPC gets them. MayRead()
// and Received() of one descriptor are called by one thread at a time, as gRPC reads; the rest is
// thread-safe.
class GuardTable {
 public:
  // Descriptors from this number on have no place here.
  static constexpr int kDescriptors = 1 << 16;

  static GuardTable& Get() { return table_; }

  // See ConnectionGuard. `max_calls`: calls that gRPC allows at a time.
  bool Arm(int descriptor, bool is_plain, absl::string_view address, uint32_t max_calls);
  void Disarm(int descriptor);
  GuardView View(int descriptor) const;
  // The client of the connection is known: its calls are not bounded by Attach().
  void Prove(int descriptor);
  // Reads the connection again if it is paused and its share of the unproven calls allows it now.
  void Resume(int descriptor);

  // The descriptor was added to the set `epoll` with this event.
  void Watched(int descriptor, int epoll, const epoll_event& event);
  // The number of bytes that may be read from `descriptor`: before each read. 0: its turn is over
  // (read_turn.h), or it is paused: an unproven connection that has as many open calls as all of
  // them together may still open. gRPC is to take that for the end of what there is to read, and to
  // wait until the poller says that there is more: after BeginTurns(), or when the share allows it,
  // or when a large message has room (message_room.h).
  size_t MayRead(int descriptor);
  // A read found less than it had room for.
  void ReadAll(int descriptor);
  // Bytes that were read from `descriptor`. False when the connection broke a bound, and from then
  // on. True for descriptors that are not watched.
  bool Received(int descriptor, const iovec* pieces, size_t count, size_t bytes);
  // Bytes that were written to `descriptor`; by one thread at a time.
  void Sent(int descriptor, const iovec* pieces, size_t count, size_t bytes);
  // The same for what TLS hides there. `key`: TlsKeyOf() the descriptor while it was the
  // connection's; 0 and keys of earlier connections are of nobody.
  uint64_t TlsKeyOf(int descriptor);
  bool Decrypted(uint64_t key, const void* bytes, size_t size);
  void Encrypted(uint64_t key, const void* bytes, size_t size);
  // The connection is closed for `violation`, or has ended: it breaks a bound from now on, and its
  // unfinished messages no longer count.
  void Close(int descriptor, CloseReason violation);
  // From now on the eventfd `event` is written to when the unfinished messages of all connections
  // hold more than `max_bytes` or unproven connections have more than `max_unproven_calls` open
  // calls, and again after each further read, when BeginTurns() has to be called, when a first
  // connection is paused: Resume() is to be called for all now and then, and when a first one waits
  // for room() : ReadOn() is to be called every few milliseconds. -1: no longer.
  void Attach(int event, int64_t max_bytes, int64_t max_unproven_calls);
  // Connections whose turn is over are ready to be read again. Returns how many there were. Turns
  // take ReadTurn::kTurnNs each.
  int BeginTurns();
  // The room for large messages.
  static MessageRoom& room();
  // Connections that room() names are read again. Returns the one that is to be closed, or -1.
  int ReadOn();
  int64_t unfinished_bytes() const { return unfinished_bytes_.load(std::memory_order_relaxed); }
  // Open calls of connections that are not proven.
  int64_t unproven_calls() const { return unproven_calls_.load(std::memory_order_relaxed); }
  // Connections that are paused.
  int paused() const { return paused_.load(std::memory_order_relaxed); }
  // True once Received() was called for a watched descriptor: reads pass through here.
  bool is_used() const { return used_.load(std::memory_order_relaxed); }

 private:
  static constexpr Http2GuardLimits kLimits = {};

  enum class State : uint8_t { kFree, kTls, kPlain };
  struct Slot {
    std::atomic<State> state{State::kFree};
    Slot* next = nullptr;  // that waits
    std::mutex mutex;      // guards everything below
    uint64_t armings = 0;  // of this number
    CloseReason violation = CloseReason::kEnded;
    bool is_proven = false;
    bool is_paused = false;
    bool is_waiting = false;       // for BeginTurns()
    int64_t unfinished_bytes = 0;  // as counted below
    int64_t unproven_calls = 0;
    bool is_in_room = false;  // has large messages
    size_t address = 0;
    ReadTurn turn;
    int64_t last_window = -1;  // TurnContention::Add()
    int descriptor = -1;
    int epoll = -1;  // the set that gRPC added the descriptor to
    epoll_event event = {};
    Http2Guard guard;
  };
  using Lock = std::unique_lock<std::mutex>;

  constexpr GuardTable() = default;
  // The slot of a descriptor that is watched, and the lock of it; else null.
  Slot* Find(int descriptor, Lock& lock) const;
  Slot* FindTls(uint64_t key, Lock& lock) const;

  // The slot is locked when these are called.

  // Plain bytes of a connection. False when it broke a bound, now or before.
  bool Follow(Slot& slot, const iovec* pieces, size_t count, size_t bytes);
  void FollowSent(Slot& slot, const iovec* pieces, size_t count, size_t bytes);
  void CloseSlot(Slot& slot, CloseReason violation);
  // False where nobody would begin the next one.
  bool EndTurn(Slot& slot);
  // True for an unproven connection that has used up its share of the calls.
  bool IsOverShare(const Slot& slot) const;
  void EndPause(Slot& slot);
  void ResumeWithinShare(Slot& slot);
  // Has the poller tell that there is more to read, behind what else it has to tell.
  static bool Rearm(Slot& slot);
  // Counts the bytes of unfinished messages, large ones among them, and the open calls of a slot
  // anew.
  void CountHeld(Slot& slot);

  // Made before main(), because everything that reads from a socket passes through.
  static GuardTable table_;

  // Addresses share a budget where their hashes agree, which matters to floods only.
  static constexpr size_t kBudgets = 4096;

  std::atomic<bool> used_{false};
  std::atomic<int64_t> unfinished_bytes_{0};
  std::atomic<int64_t> max_unfinished_bytes_{INT64_MAX};
  std::atomic<int64_t> unproven_calls_{0};
  std::atomic<int64_t> max_unproven_calls_{INT64_MAX};
  std::atomic<int> paused_{0};
  std::atomic<int> event_{-1};
  std::atomic<Slot*> waiting_{nullptr};  // the newest of those whose turn is over
  TurnContention contention_;
  ResetBudget budgets_[kBudgets] = {};
  // A slot is made at the first use of its number and then kept.
  std::atomic<Slot*> slots_[kDescriptors] = {};
};

// gRPC 1.51 makes OpenSSL's object of a connection in the thread that hands the connection over.
// It gets the one that a TlsAdoption offers there, finds the handshake done, and goes on with
// HTTP/2.
struct OfferedTls {
  int descriptor = -1;        // of the connection that this thread hands over; -1 = none
  ssl_st* session = nullptr;  // its TLS; null where gRPC is to make its own
};
OfferedTls TakeOfferedTls();

// Says that gRPC takes what it is offered: its libraries find the SSL_new() that asks for it.
void ExpectTlsAdoption();

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_GUARD_GUARD_TABLE_H_
