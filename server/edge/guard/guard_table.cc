// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/guard/guard_table.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "absl/hash/hash.h"
#include "server/edge/coarse_clock.h"

namespace orbserve {

namespace {

// Decrypting takes about so long.
constexpr int64_t kTlsNsPerByte = 1;

// An unproven connection with fewer open calls is read in any case: what its client needs to prove
// who it is may stand behind them.
constexpr int64_t kFewCalls = 4;

// The descriptor that this thread has read last.
constinit thread_local int last_read = -1;

// A full counter wakes as well.
void Notify(int event) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event, &one, sizeof(one));
}

}  // namespace

constinit GuardTable GuardTable::table_;

GuardTable::Slot* GuardTable::Find(int descriptor) const {
  if (descriptor < 0 || descriptor >= kDescriptors) return nullptr;
  Slot* const slot = slots_[descriptor].load(std::memory_order_acquire);
  if (slot == nullptr || slot->state.load(std::memory_order_acquire) == State::kFree) {
    return nullptr;
  }
  return slot;
}

int GuardTable::last_read_here() { return last_read; }

bool GuardTable::Arm(int descriptor, bool is_plain, absl::string_view address, uint32_t max_calls) {
  if (descriptor < 0 || descriptor >= kDescriptors) return false;
  Slot* known = slots_[descriptor].load(std::memory_order_acquire);
  if (known == nullptr) {
    known = new Slot;
    slots_[descriptor].store(known, std::memory_order_release);
  }
  Slot& slot = *known;
  const int64_t now_ms = CoarseNowMs();
  slot.budget = &budgets_[absl::HashOf(address) % kBudgets];
  slot.max_calls = max_calls;
  slot.turn = {};
  slot.last_window = -1;
  {
    const std::scoped_lock lock(slot.mutex);
    slot.epoll = -1;
    slot.descriptor = descriptor;
    slot.guard = Http2Guard(&kLimits, slot.budget, max_calls, now_ms);
  }
  slot.tls.store(nullptr, std::memory_order_relaxed);
  slot.violation.store(CloseReason::kEnded, std::memory_order_relaxed);
  SetHeld(slot, 0, 0);
  slot.is_proven.store(false, std::memory_order_relaxed);
  if (slot.is_paused.exchange(false)) --paused_;
  slot.calls.store(0, std::memory_order_relaxed);
  slot.is_answered.store(false, std::memory_order_relaxed);
  slot.last_call_ms.store(now_ms, std::memory_order_relaxed);
  slot.state.store(is_plain ? State::kPlain : State::kTls, std::memory_order_release);
  return true;
}

void GuardTable::Disarm(int descriptor) {
  Slot* const slot = Find(descriptor);
  if (slot == nullptr) return;
  Close(descriptor, CloseReason::kEnded);  // it holds nothing any more
  slot->state.store(State::kFree);
  const std::scoped_lock lock(slot->mutex);
  slot->epoll = -1;  // the next socket of this number is not to be told of this one's turn
}

GuardView GuardTable::View(int descriptor) const {
  GuardView view;
  const Slot* const found = Find(descriptor);
  if (found == nullptr) return view;
  const Slot& slot = *found;
  view.violation = slot.violation.load(std::memory_order_acquire);
  view.calls = slot.calls.load(std::memory_order_relaxed);
  view.is_answered = slot.is_answered.load(std::memory_order_relaxed);
  view.last_call_ms = slot.last_call_ms.load(std::memory_order_relaxed);
  view.unfinished_bytes = slot.unfinished_bytes.load(std::memory_order_relaxed);
  view.unproven_calls = slot.unproven_calls.load(std::memory_order_relaxed);
  return view;
}

void GuardTable::Prove(int descriptor) {
  Slot* const slot = Find(descriptor);
  if (slot == nullptr) return;
  slot->is_proven.store(true);
  unproven_calls_.fetch_sub(slot->unproven_calls.exchange(0), std::memory_order_relaxed);
  EndPause(*slot);
}

void GuardTable::Resume(int descriptor) {
  if (Slot* const slot = Find(descriptor)) ResumeWithinShare(*slot);
}

void GuardTable::Watched(int descriptor, int epoll, const epoll_event& event) {
  Slot* const slot = Find(descriptor);
  if (slot == nullptr) return;
  const std::scoped_lock lock(slot->mutex);
  slot->event = event;
  slot->epoll = epoll;
}

size_t GuardTable::MayRead(int descriptor) {
  Slot* const slot = Find(descriptor);
  if (slot == nullptr || slot->epoll < 0) return std::numeric_limits<size_t>::max();
  // More has arrived meanwhile, which the poller tells at once.
  if (slot->is_waiting.load(std::memory_order_acquire) || slot->is_paused.load()) return 0;
  if (IsOverShare(*slot) && Pause(*slot)) return 0;
  const size_t most = slot->turn.Begin();
  return most > 0 || EndTurn(*slot) ? most : slot->turn.Begin();
}

bool GuardTable::IsOverShare(const Slot& slot) const {
  const int64_t calls = slot.unproven_calls.load();
  if (calls < kFewCalls || slot.is_proven.load() || slot.violation.load() != CloseReason::kEnded) {
    return false;
  }
  // The end of a message may prove the client.
  if (slot.unfinished_bytes.load(std::memory_order_relaxed) > 0) return false;
  // So there is always room for a further connection, however many there are. The other half is for
  // what a read brings beyond the share.
  return calls >= max_unproven_calls_.load(std::memory_order_relaxed) / 2 - unproven_calls();
}

bool GuardTable::Pause(Slot& slot) {
  if (paused_.fetch_add(1) == 0) Notify(event_.load(std::memory_order_relaxed));
  slot.is_paused.store(true);
  if (IsOverShare(slot) || !slot.is_paused.exchange(false)) return true;
  --paused_;
  return false;
}

void GuardTable::EndPause(Slot& slot) {
  if (!slot.is_paused.exchange(false)) return;
  --paused_;
  // Fails harmlessly where the descriptor is closed.
  (void)Rearm(slot);
}

void GuardTable::ResumeWithinShare(Slot& slot) {
  if (slot.is_paused.load() && !IsOverShare(slot)) EndPause(slot);
}

bool GuardTable::EndTurn(Slot& slot) {
  static const int64_t processors = std::max(1u, std::thread::hardware_concurrency());
  const bool is_contended = contention_.Add(slot.last_window, CoarseNowMs()) > processors;
  const int event = event_.load(std::memory_order_relaxed);
  // Messages are most of what honest clients send, and waking a thread for them would cost.
  if (slot.turn.is_bulk() && (event < 0 || !is_contended)) return Rearm(slot);
  if (event < 0) return false;
  if (slot.is_waiting.exchange(true)) return true;
  Slot* first = waiting_.load(std::memory_order_relaxed);
  do {
    slot.next = first;
  } while (!waiting_.compare_exchange_weak(first, &slot));
  if (first == nullptr) Notify(event);
  return true;
}

int GuardTable::BeginTurns() {
  int begun = 0;
  Slot* newest = waiting_.exchange(nullptr);
  Slot* oldest = nullptr;
  while (newest != nullptr) {
    Slot* const next = std::exchange(newest->next, oldest);
    oldest = std::exchange(newest, next);
  }
  while (oldest != nullptr) {
    Slot& slot = *oldest;
    oldest = slot.next;
    slot.is_waiting.store(false);
    // Fails where the descriptor is closed, and harmlessly where it is that of another connection
    // by now.
    (void)Rearm(slot);
    ++begun;
  }
  return begun;
}

bool GuardTable::Rearm(Slot& slot) {
  // Arm() and Watched() take the lock.
  const std::scoped_lock lock(slot.mutex);
  return slot.epoll >= 0 && epoll_ctl(slot.epoll, EPOLL_CTL_MOD, slot.descriptor, &slot.event) == 0;
}

void GuardTable::ReadAll(int descriptor) {
  if (Slot* const slot = Find(descriptor)) slot->turn.End();
}

bool GuardTable::Received(int descriptor, const iovec* pieces, size_t count, size_t bytes) {
  Slot* const slot = Find(descriptor);
  if (slot == nullptr) return true;
  if (!used_.load(std::memory_order_relaxed)) used_.store(true, std::memory_order_relaxed);
  last_read = descriptor;
  const int64_t now_ms = CoarseNowMs();
  if (slot->state.load(std::memory_order_relaxed) != State::kPlain) {
    slot->turn.Add(bytes, static_cast<int64_t>(bytes) * kTlsNsPerByte);
    return true;
  }
  CloseReason violation = CloseReason::kEnded;
  {
    const std::scoped_lock lock(slot->mutex);
    const int64_t cost_before_ns = slot->guard.cost_ns();
    const size_t all_bytes = bytes;
    for (size_t i = 0; i < count && bytes > 0; ++i) {
      const size_t size = std::min(pieces[i].iov_len, bytes);
      violation =
          slot->guard.Received(static_cast<const uint8_t*>(pieces[i].iov_base), size, now_ms);
      bytes -= size;
    }
    slot->turn.Add(all_bytes, slot->guard.cost_ns() - cost_before_ns);
    Publish(*slot, slot->guard);
  }
  return Judge(*slot, violation);
}

bool GuardTable::Judge(Slot& slot, CloseReason violation) {
  if (violation != CloseReason::kEnded) {
    slot.violation.store(violation, std::memory_order_release);
    return false;
  }
  if (unfinished_bytes() > max_unfinished_bytes_.load(std::memory_order_relaxed) ||
      unproven_calls() > max_unproven_calls_.load(std::memory_order_relaxed)) {
    Notify(event_.load(std::memory_order_relaxed));
  }
  return slot.violation.load(std::memory_order_acquire) == CloseReason::kEnded;
}

void GuardTable::Sent(int descriptor, const iovec* pieces, size_t count, size_t bytes) {
  Slot* const slot = Find(descriptor);
  if (slot == nullptr || slot->state.load(std::memory_order_relaxed) != State::kPlain) return;
  {
    const std::scoped_lock lock(slot->mutex);
    for (size_t i = 0; i < count && bytes > 0; ++i) {
      const size_t size = std::min(pieces[i].iov_len, bytes);
      slot->guard.Sent(static_cast<const uint8_t*>(pieces[i].iov_base), size);
      bytes -= size;
    }
    Publish(*slot, slot->guard);
  }
  ResumeWithinShare(*slot);
}

void GuardTable::Close(int descriptor, CloseReason violation) {
  Slot* const slot = Find(descriptor);
  if (slot == nullptr) return;
  {
    const std::scoped_lock lock(slot->mutex);
    slot->violation.store(violation);
    SetHeld(*slot, 0, 0);
  }
  EndPause(*slot);  // gRPC reads that it is closed
}

void GuardTable::Attach(int event, int64_t max_bytes, int64_t max_unproven_calls) {
  event_.store(event, std::memory_order_relaxed);
  max_unproven_calls_.store(event < 0 ? INT64_MAX : max_unproven_calls, std::memory_order_relaxed);
  max_unfinished_bytes_.store(event < 0 ? INT64_MAX : max_bytes, std::memory_order_relaxed);
}

void GuardTable::Publish(Slot& slot, const Http2Guard& guard) {
  slot.calls.store(guard.calls(), std::memory_order_relaxed);
  slot.is_answered.store(guard.is_answered(), std::memory_order_relaxed);
  slot.last_call_ms.store(guard.last_call_ms(), std::memory_order_relaxed);
  SetHeld(slot, guard.unfinished_bytes(), guard.open_calls());
}

void GuardTable::SetHeld(Slot& slot, int64_t unfinished_bytes, int64_t open_calls) {
  // A connection that is closed holds nothing, whatever is still read from it.
  const bool is_closed = slot.violation.load(std::memory_order_relaxed) != CloseReason::kEnded;
  const int64_t bytes = is_closed ? 0 : unfinished_bytes;
  const int64_t calls = is_closed || slot.is_proven.load() ? 0 : open_calls;
  unfinished_bytes_.fetch_add(
      bytes - slot.unfinished_bytes.exchange(bytes, std::memory_order_relaxed),
      std::memory_order_relaxed);
  unproven_calls_.fetch_add(calls - slot.unproven_calls.exchange(calls), std::memory_order_relaxed);
}

}  // namespace orbserve
