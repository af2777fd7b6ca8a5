// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/listen/guard_table.h"

#include <time.h>

#include <algorithm>

namespace orbserve {

namespace {

constexpr Http2GuardLimits kLimits;
// A TLS connection that has sent more than this is taken to make calls.
constexpr int64_t kTlsHandshakeBytes = 16 << 10;

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

int64_t GuardTable::NowMs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void GuardTable::Arm(int descriptor, bool is_plain) {
  if (descriptor < 0 || descriptor >= kDescriptors) return;
  Slot* known = slots_[descriptor].load(std::memory_order_acquire);
  if (known == nullptr) {
    known = new Slot;
    slots_[descriptor].store(known, std::memory_order_release);
  }
  Slot& slot = *known;
  const int64_t now_ms = NowMs();
  slot.guard = Http2Guard(&kLimits, now_ms);
  slot.breach.store(Http2Breach::kNone, std::memory_order_relaxed);
  slot.received_bytes.store(0, std::memory_order_relaxed);
  slot.sent_bytes.store(0, std::memory_order_relaxed);
  slot.calls.store(0, std::memory_order_relaxed);
  slot.last_call_ms.store(now_ms, std::memory_order_relaxed);
  slot.state.store(is_plain ? State::kPlain : State::kTls, std::memory_order_release);
}

void GuardTable::Disarm(int descriptor) {
  if (Slot* const slot = Find(descriptor)) slot->state.store(State::kFree);
}

GuardView GuardTable::View(int descriptor) const {
  GuardView view;
  const Slot* const found = Find(descriptor);
  if (found == nullptr) return view;
  const Slot& slot = *found;
  view.breach = slot.breach.load(std::memory_order_acquire);
  view.received_bytes = slot.received_bytes.load(std::memory_order_relaxed);
  view.calls = slot.calls.load(std::memory_order_relaxed);
  view.last_call_ms = slot.last_call_ms.load(std::memory_order_relaxed);
  return view;
}

bool GuardTable::Received(int descriptor, const iovec* pieces, size_t count, size_t bytes) {
  Slot* const slot = Find(descriptor);
  if (slot == nullptr) return true;
  if (!used_.load(std::memory_order_relaxed)) used_.store(true, std::memory_order_relaxed);
  // Only this thread writes these: no atomic addition is needed.
  const int64_t before = slot->received_bytes.load(std::memory_order_relaxed);
  slot->received_bytes.store(before + static_cast<int64_t>(bytes), std::memory_order_relaxed);
  const int64_t now_ms = NowMs();
  if (slot->state.load(std::memory_order_relaxed) != State::kPlain) {
    if (before < kTlsHandshakeBytes) return true;
    slot->calls.store(1, std::memory_order_relaxed);
    slot->last_call_ms.store(now_ms, std::memory_order_relaxed);
    return true;
  }
  const int64_t sent = slot->sent_bytes.load(std::memory_order_relaxed);
  Http2Breach breach = Http2Breach::kNone;
  for (size_t i = 0; i < count && bytes > 0; ++i) {
    const size_t size = std::min(pieces[i].iov_len, bytes);
    breach =
        slot->guard.Received(static_cast<const uint8_t*>(pieces[i].iov_base), size, now_ms, sent);
    bytes -= size;
  }
  slot->calls.store(slot->guard.calls(), std::memory_order_relaxed);
  slot->last_call_ms.store(slot->guard.last_call_ms(), std::memory_order_relaxed);
  if (breach == Http2Breach::kNone) return true;
  slot->breach.store(breach, std::memory_order_release);
  return false;
}

void GuardTable::Sent(int descriptor, size_t bytes) {
  if (Slot* const slot = Find(descriptor)) {
    slot->sent_bytes.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }
}

}  // namespace orbserve
