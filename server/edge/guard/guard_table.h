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
#include "server/edge/guard/read_turn.h"

namespace orbserve {

class TlsGuard;

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
  // wait until the poller says that there is more: after BeginTurns(), or when the share allows it.
  size_t MayRead(int descriptor);
  // A read found less than it had room for.
  void ReadAll(int descriptor);
  // Bytes that were read from `descriptor`. False when the connection broke a bound, and from then
  // on. True for descriptors that are not watched.
  bool Received(int descriptor, const iovec* pieces, size_t count, size_t bytes);
  // Bytes that were written to `descriptor`; by one thread at a time.
  void Sent(int descriptor, const iovec* pieces, size_t count, size_t bytes);
  // The connection is closed for `violation`, or has ended: it breaks a bound from now on, and its
  // unfinished messages no longer count.
  void Close(int descriptor, CloseReason violation);
  // From now on the eventfd `event` is written to when the unfinished messages of all connections
  // hold more than `max_bytes` or unproven connections have more than `max_unproven_calls` open
  // calls, and again after each further read, when BeginTurns() has to be called, and when a first
  // connection is paused: Resume() is to be called for all now and then. -1: no longer.
  void Attach(int event, int64_t max_bytes, int64_t max_unproven_calls);
  // Connections whose turn is over are ready to be read again. Returns how many there were. Turns
  // take ReadTurn::kTurnNs each.
  int BeginTurns();
  int64_t unfinished_bytes() const { return unfinished_bytes_.load(std::memory_order_relaxed); }
  // Open calls of connections that are not proven.
  int64_t unproven_calls() const { return unproven_calls_.load(std::memory_order_relaxed); }
  // Connections that are paused.
  int paused() const { return paused_.load(std::memory_order_relaxed); }
  // True once Received() was called for a watched descriptor: reads pass through here.
  bool is_used() const { return used_.load(std::memory_order_relaxed); }

 private:
  friend class TlsGuard;

  static constexpr Http2GuardLimits kLimits = {};

  enum class State : uint8_t { kFree, kTls, kPlain };
  struct Slot {
    std::atomic<State> state{State::kFree};
    std::atomic<CloseReason> violation{CloseReason::kEnded};
    std::atomic<int64_t> unfinished_bytes{0};
    std::atomic<int64_t> unproven_calls{0};
    std::atomic<bool> is_proven{false};
    std::atomic<bool> is_paused{false};
    uint32_t max_calls = 0;
    std::atomic<int64_t> calls{0};
    std::atomic<bool> is_answered{false};
    std::atomic<int64_t> last_call_ms{0};
    std::atomic<TlsGuard*> tls{nullptr};
    ResetBudget* budget = nullptr;
    ReadTurn turn;
    int64_t last_window = -1;             // TurnContention::Add()
    std::atomic<bool> is_waiting{false};  // for BeginTurns()
    Slot* next = nullptr;                 // that waits
    std::mutex mutex;                     // one thread reads, another writes
    int descriptor = -1;
    int epoll = -1;  // the set that gRPC added the descriptor to
    epoll_event event = {};
    Http2Guard guard;
  };

  constexpr GuardTable() = default;
  // Records the bound that a connection broke. False when it broke one, now or before.
  bool Judge(Slot& slot, CloseReason violation);
  // False where nobody would begin the next one.
  bool EndTurn(Slot& slot);
  // True for an unproven connection that has used up its share of the calls.
  bool IsOverShare(const Slot& slot) const;
  // False where the connection was proven, closed or answered meanwhile.
  bool Pause(Slot& slot);
  void EndPause(Slot& slot);
  void ResumeWithinShare(Slot& slot);
  // Has the poller tell that there is more to read, behind what else it has to tell.
  bool Rearm(Slot& slot);
  // Publishes what a guard has seen.
  void Publish(Slot& slot, const Http2Guard& guard);
  // Publishes the bytes of unfinished messages and the open calls of a slot.
  void SetHeld(Slot& slot, int64_t unfinished_bytes, int64_t open_calls);
  // The descriptor that this thread has read last.
  static int last_read_here();
  // The slot of a descriptor that is watched, else null.
  Slot* Find(int descriptor) const;

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

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_GUARD_GUARD_TABLE_H_
