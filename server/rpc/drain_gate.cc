// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/drain_gate.h"

#include <thread>

namespace orbserve {

DrainGate::Ticket DrainGate::Enter() {
  const std::scoped_lock lock(mutex_);
  if (state_.load(std::memory_order_acquire) != State::kOpen) return Ticket::kRefused;
  ++accepted_;
  return Ticket::kAccepted;
}

void DrainGate::Leave(Ticket ticket) {
  if (ticket == Ticket::kRefused) return;
  const std::scoped_lock lock(mutex_);
  --accepted_;
  // Notified under the lock: the waiting thread may destroy the gate once the lock is released.
  left_.notify_all();
}

void DrainGate::Close(ErrorReason reason) {
  if (reason == ErrorReason::kDeviceLost) {
    state_.store(State::kDeviceLost, std::memory_order_release);
    return;
  }
  State open = State::kOpen;
  state_.compare_exchange_strong(open, State::kDraining, std::memory_order_acq_rel);
}

absl::Status DrainGate::refusal() const {
  if (state_.load(std::memory_order_acquire) == State::kDraining) {
    return MakeError(ErrorReason::kDraining, "this server is about to stop; send to another one");
  }
  return frame_refusal();
}

absl::Status DrainGate::frame_refusal() const {
  if (state_.load(std::memory_order_acquire) != State::kDeviceLost) return absl::OkStatus();
  return MakeError(ErrorReason::kDeviceLost,
                   "a device of this server was lost and the server starts anew; try again");
}

bool DrainGate::WaitUntilQuiet(std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kQuiet{100};
  const auto end = std::chrono::steady_clock::now() + timeout;
  std::unique_lock lock(mutex_);
  if (!left_.wait_until(lock, end, [this] { return accepted_ == 0; })) return false;
  lock.unlock();
  std::this_thread::sleep_for(kQuiet);
  return true;
}

}  // namespace orbserve
