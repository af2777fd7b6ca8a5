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

// A full counter wakes as well.
void Notify(int event) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event, &one, sizeof(one));
}

}  // namespace

constinit GuardTable GuardTable::table_;

GuardTable::Slot* GuardTable::Find(int descriptor, Lock& lock) const {
  if (descriptor < 0 || descriptor >= kDescriptors) return nullptr;
  Slot* const slot = slots_[descriptor].load(std::memory_order_acquire);
  if (slot == nullptr || slot->state.load(std::memory_order_acquire) == State::kFree) {
    return nullptr;
  }
  lock = Lock(slot->mutex);
  return slot;
}

bool GuardTable::Arm(int descriptor, bool is_plain, absl::string_view address, uint32_t max_calls) {
  if (descriptor < 0 || descriptor >= kDescriptors) return false;
  Slot* known = slots_[descriptor].load(std::memory_order_acquire);
  if (known == nullptr) {
    known = new Slot;
    slots_[descriptor].store(known, std::memory_order_release);
  }
  Slot& slot = *known;
  const Lock lock(slot.mutex);
  ++slot.armings;
  slot.violation = CloseReason::kEnded;
  slot.is_proven = false;
  if (std::exchange(slot.is_paused, false)) --paused_;
  slot.turn = {};
  slot.last_window = -1;
  slot.descriptor = descriptor;
  slot.epoll = -1;
  slot.address = absl::HashOf(address);
  slot.guard = Http2Guard(&kLimits, &budgets_[slot.address % kBudgets], max_calls, CoarseNowMs());
  CountHeld(slot);
  slot.state.store(is_plain ? State::kPlain : State::kTls, std::memory_order_release);
  return true;
}

void GuardTable::Disarm(int descriptor) {
  Lock lock;
  Slot* const slot = Find(descriptor, lock);
  if (slot == nullptr) return;
  CloseSlot(*slot, CloseReason::kUnfinished);  // it holds nothing any more
  slot->state.store(State::kFree);
  slot->epoll = -1;  // the next socket of this number is not to be told of this one's turn
}

GuardView GuardTable::View(int descriptor) const {
  Lock lock;
  const Slot* const slot = Find(descriptor, lock);
  if (slot == nullptr) return {};
  return {.violation = slot->violation,
          .calls = slot->guard.calls(),
          .is_answered = slot->guard.is_answered(),
          .last_call_ms = slot->guard.last_call_ms(),
          .unfinished_bytes = slot->unfinished_bytes,
          .unproven_calls = slot->unproven_calls};
}

void GuardTable::Prove(int descriptor) {
  Lock lock;
  Slot* const slot = Find(descriptor, lock);
  if (slot == nullptr) return;
  slot->is_proven = true;
  CountHeld(*slot);
  EndPause(*slot);
}

void GuardTable::Resume(int descriptor) {
  Lock lock;
  if (Slot* const slot = Find(descriptor, lock)) ResumeWithinShare(*slot);
}

void GuardTable::Watched(int descriptor, int epoll, const epoll_event& event) {
  Lock lock;
  Slot* const slot = Find(descriptor, lock);
  if (slot == nullptr) return;
  slot->event = event;
  slot->epoll = epoll;
}

size_t GuardTable::MayRead(int descriptor) {
  Lock lock;
  Slot* const slot = Find(descriptor, lock);
  if (slot == nullptr || slot->epoll < 0) return std::numeric_limits<size_t>::max();
  // More has arrived meanwhile, which the poller tells at once.
  if (slot->is_waiting || slot->is_paused) return 0;
  if (IsOverShare(*slot)) {
    slot->is_paused = true;
    if (paused_.fetch_add(1) == 0) Notify(event_.load(std::memory_order_relaxed));
    return 0;
  }
  size_t most = slot->turn.Begin();
  if (most == 0 && !EndTurn(*slot)) most = slot->turn.Begin();
  if (most == 0 || !slot->is_in_room) return most;
  const bool is_first_to_wait = room().waiting() == 0;
  most = room().MayRead(descriptor, most, CoarseNowMs());
  if (most == 0 && is_first_to_wait) Notify(event_.load(std::memory_order_relaxed));
  return most;
}

MessageRoom& GuardTable::room() {
  static MessageRoom& room = *new MessageRoom;  // threads of gRPC read until the process ends
  return room;
}

int GuardTable::ReadOn() {
  const MessageRoom::Decision decision = room().GoOn(CoarseNowMs());
  for (const int descriptor : decision.go_on) {
    Lock lock;
    // Fails harmlessly where the descriptor is closed.
    if (Slot* const slot = Find(descriptor, lock)) (void)Rearm(*slot);
  }
  return decision.late;
}

bool GuardTable::IsOverShare(const Slot& slot) const {
  if (slot.unproven_calls < kFewCalls) return false;
  // The end of a message may prove the client.
  if (slot.unfinished_bytes > 0) return false;
  // So there is always room for a further connection, however many there are. The other half is for
  // what a read brings beyond the share.
  return slot.unproven_calls >=
         max_unproven_calls_.load(std::memory_order_relaxed) / 2 - unproven_calls();
}

void GuardTable::EndPause(Slot& slot) {
  if (!std::exchange(slot.is_paused, false)) return;
  --paused_;
  // Fails harmlessly where the descriptor is closed.
  (void)Rearm(slot);
}

void GuardTable::ResumeWithinShare(Slot& slot) {
  if (slot.is_paused && !IsOverShare(slot)) EndPause(slot);
}

bool GuardTable::EndTurn(Slot& slot) {
  static const int64_t processors = std::max(1u, std::thread::hardware_concurrency());
  const bool is_contended = contention_.Add(slot.last_window, CoarseNowMs()) > processors;
  const int event = event_.load(std::memory_order_relaxed);
  // Messages are most of what honest clients send, and waking a thread for them would cost.
  if (slot.turn.is_bulk() && (event < 0 || !is_contended)) return Rearm(slot);
  if (event < 0) return false;
  slot.is_waiting = true;
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
    const Lock lock(slot.mutex);
    slot.is_waiting = false;
    // Fails where the descriptor is closed, and harmlessly where it is that of another connection
    // by now.
    (void)Rearm(slot);
    ++begun;
  }
  return begun;
}

bool GuardTable::Rearm(Slot& slot) {
  return slot.epoll >= 0 && epoll_ctl(slot.epoll, EPOLL_CTL_MOD, slot.descriptor, &slot.event) == 0;
}

void GuardTable::ReadAll(int descriptor) {
  Lock lock;
  if (Slot* const slot = Find(descriptor, lock)) slot->turn.End();
}

bool GuardTable::Received(int descriptor, const iovec* pieces, size_t count, size_t bytes) {
  Lock lock;
  Slot* const slot = Find(descriptor, lock);
  if (slot == nullptr) return true;
  if (!used_.load(std::memory_order_relaxed)) used_.store(true, std::memory_order_relaxed);
  if (slot->state.load(std::memory_order_relaxed) == State::kPlain) {
    return Follow(*slot, pieces, count, bytes);
  }
  slot->turn.Add(bytes, static_cast<int64_t>(bytes) * kTlsNsPerByte);
  return true;
}

void GuardTable::Sent(int descriptor, const iovec* pieces, size_t count, size_t bytes) {
  Lock lock;
  Slot* const slot = Find(descriptor, lock);
  if (slot == nullptr || slot->state.load(std::memory_order_relaxed) != State::kPlain) return;
  FollowSent(*slot, pieces, count, bytes);
}

uint64_t GuardTable::TlsKeyOf(int descriptor) {
  Lock lock;
  const Slot* const slot = Find(descriptor, lock);
  return slot == nullptr ? 0 : slot->armings * kDescriptors + static_cast<uint64_t>(descriptor);
}

GuardTable::Slot* GuardTable::FindTls(uint64_t key, Lock& lock) const {
  if (key == 0) return nullptr;
  Slot* const slot = Find(static_cast<int>(key % kDescriptors), lock);
  return slot != nullptr && slot->armings == key / kDescriptors ? slot : nullptr;
}

bool GuardTable::Decrypted(uint64_t key, const void* bytes, size_t size) {
  Lock lock;
  Slot* const slot = FindTls(key, lock);
  const iovec piece = {const_cast<void*>(bytes), size};
  return slot == nullptr || Follow(*slot, &piece, 1, size);
}

void GuardTable::Encrypted(uint64_t key, const void* bytes, size_t size) {
  Lock lock;
  const iovec piece = {const_cast<void*>(bytes), size};
  if (Slot* const slot = FindTls(key, lock)) FollowSent(*slot, &piece, 1, size);
}

bool GuardTable::Follow(Slot& slot, const iovec* pieces, size_t count, size_t bytes) {
  const int64_t now_ms = CoarseNowMs();
  const int64_t cost_before_ns = slot.guard.cost_ns();
  size_t left = bytes;
  for (size_t i = 0; i < count && left > 0; ++i) {
    const size_t size = std::min(pieces[i].iov_len, left);
    const CloseReason violation =
        slot.guard.Received(static_cast<const uint8_t*>(pieces[i].iov_base), size, now_ms);
    if (violation != CloseReason::kEnded) slot.violation = violation;
    left -= size;
  }
  slot.turn.Add(bytes, slot.guard.cost_ns() - cost_before_ns);
  CountHeld(slot);
  // It alone holds more than all may.
  if (slot.unfinished_bytes > max_unfinished_bytes_.load(std::memory_order_relaxed)) {
    CloseSlot(slot, CloseReason::kUnfinished);
  }
  if (slot.violation != CloseReason::kEnded) return false;
  if (unfinished_bytes() > max_unfinished_bytes_.load(std::memory_order_relaxed) ||
      unproven_calls() > max_unproven_calls_.load(std::memory_order_relaxed)) {
    Notify(event_.load(std::memory_order_relaxed));
  }
  return true;
}

void GuardTable::FollowSent(Slot& slot, const iovec* pieces, size_t count, size_t bytes) {
  for (size_t i = 0; i < count && bytes > 0; ++i) {
    const size_t size = std::min(pieces[i].iov_len, bytes);
    slot.guard.Sent(static_cast<const uint8_t*>(pieces[i].iov_base), size);
    bytes -= size;
  }
  CountHeld(slot);
  ResumeWithinShare(slot);
}

void GuardTable::Close(int descriptor, CloseReason violation) {
  Lock lock;
  if (Slot* const slot = Find(descriptor, lock)) CloseSlot(*slot, violation);
}

void GuardTable::CloseSlot(Slot& slot, CloseReason violation) {
  slot.violation = violation;
  CountHeld(slot);
  EndPause(slot);  // gRPC reads that it is closed
}

void GuardTable::Attach(int event, int64_t max_bytes, int64_t max_unproven_calls) {
  event_.store(event, std::memory_order_relaxed);
  max_unproven_calls_.store(event < 0 ? INT64_MAX : max_unproven_calls, std::memory_order_relaxed);
  max_unfinished_bytes_.store(event < 0 ? INT64_MAX : max_bytes, std::memory_order_relaxed);
}

void GuardTable::CountHeld(Slot& slot) {
  // A connection that is closed holds nothing, whatever is still read from it.
  const bool is_closed = slot.violation != CloseReason::kEnded;
  const int64_t bytes = is_closed ? 0 : slot.guard.unfinished_bytes();
  const int64_t calls = is_closed || slot.is_proven ? 0 : slot.guard.open_calls();
  unfinished_bytes_ += bytes - std::exchange(slot.unfinished_bytes, bytes);
  unproven_calls_ += calls - std::exchange(slot.unproven_calls, calls);
  const int64_t missing = is_closed ? 0 : slot.guard.missing_bytes();
  if (missing == 0 && !slot.is_in_room) return;
  slot.is_in_room = missing > 0;
  room().Set(slot.descriptor, slot.address, slot.guard.large_bytes(), missing);
}

}  // namespace orbserve
