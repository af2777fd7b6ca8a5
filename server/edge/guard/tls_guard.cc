// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/guard/tls_guard.h"

#include "server/edge/coarse_clock.h"

namespace orbserve {

TlsGuard::~TlsGuard() {
  TlsGuard* own = this;
  if (slot_ != nullptr) slot_->tls.compare_exchange_strong(own, nullptr);
}

void TlsGuard::Begin(int64_t now_ms) {
  begun_ = true;
  GuardTable::Slot* const slot = GuardTable::Get().Find(GuardTable::last_read_here());
  TlsGuard* none = nullptr;
  if (slot != nullptr && slot->state.load() == GuardTable::State::kTls &&
      slot->tls.compare_exchange_strong(none, this)) {
    slot_ = slot;
  }
  // Calls of a connection that is not known are bounded by gRPC and by the resets.
  constexpr uint32_t kAnyCalls = 1 << 20;
  guard_.Begin(&GuardTable::kLimits, slot_ == nullptr ? nullptr : slot_->budget,
               slot_ == nullptr ? kAnyCalls : slot_->max_calls, now_ms);
}

bool TlsGuard::Received(const uint8_t* bytes, size_t size) {
  const int64_t now_ms = CoarseNowMs();
  if (!begun_) {
    const std::scoped_lock lock(mutex_);
    Begin(now_ms);
  }
  const std::scoped_lock lock(mutex_);
  const int64_t cost_before_ns = guard_.cost_ns();
  const CloseReason violation = guard_.Received(bytes, size, now_ms);
  if (!HasSlot()) return violation == CloseReason::kEnded;
  slot_->turn.Add(size, guard_.cost_ns() - cost_before_ns);
  GuardTable::Get().Publish(*slot_, guard_);
  return GuardTable::Get().Judge(*slot_, violation);
}

void TlsGuard::Sent(const uint8_t* bytes, size_t size) {
  const std::scoped_lock lock(mutex_);
  guard_.Sent(bytes, size);
  if (!HasSlot()) return;
  GuardTable::Get().Publish(*slot_, guard_);
  GuardTable::Get().ResumeWithinShare(*slot_);
}

bool TlsGuard::HasSlot() const {
  return slot_ != nullptr && slot_->tls.load(std::memory_order_relaxed) == this;
}

}  // namespace orbserve
