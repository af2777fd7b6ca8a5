// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/call.h"

#include <thread>

#include "features/errors.h"
#include "server/log.h"
#include "server/rpc/status.h"

namespace orbserve {

void CallGate::Enter() {
  const std::scoped_lock lock(mutex_);
  ++open_;
  ++entered_;
}

void CallGate::Leave() {
  const std::scoped_lock lock(mutex_);
  --open_;
  // Under the lock: whoever waits may destroy the gate as soon as it is released.
  left_.notify_all();
}

void CallGate::Close(ErrorReason reason) {
  if (reason == ErrorReason::kDeviceLost) {
    state_.store(State::kDeviceLost, std::memory_order_release);
    return;
  }
  State open = State::kOpen;
  state_.compare_exchange_strong(open, State::kDraining, std::memory_order_acq_rel);
}

absl::Status CallGate::refusal() const {
  if (state_.load(std::memory_order_acquire) == State::kDraining) {
    return MakeError(ErrorReason::kDraining, "this server is about to stop; send to another one");
  }
  return frame_refusal();
}

absl::Status CallGate::frame_refusal() const {
  if (state_.load(std::memory_order_acquire) != State::kDeviceLost) return absl::OkStatus();
  return MakeError(ErrorReason::kDeviceLost,
                   "a device of this server was lost and the server starts anew; try again");
}

bool CallGate::WaitUntilQuiet(std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kQuiet{100};
  const auto end = std::chrono::steady_clock::now() + timeout;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!left_.wait_until(lock, end, [this] { return open_ == 0; })) return false;
    const int64_t before = entered_;
    lock.unlock();
    std::this_thread::sleep_for(kQuiet);
    lock.lock();
    if (entered_ == before) return true;
    if (std::chrono::steady_clock::now() >= end) return open_ == 0;
  }
}

UnaryCall::UnaryCall(const CallServices& services, CallGate& gate,
                     grpc::CallbackServerContext* context, absl::string_view method)
    : services_(services),
      gate_(gate),
      context_(context),
      begin_(std::chrono::steady_clock::now()),
      method_(method) {
  gate_.Enter();
}

void UnaryCall::FinishWith(const absl::Status& status) {
  code_ = status.code();
  LogFailure(method_, status);
  Finish(StatusToGrpc(status, context_));
}

void UnaryCall::OnDone() {
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin_;
  services_.metrics->ObserveRequest(method_, code_, time.count());
  Drop();
}

void UnaryCall::Drop() {
  if (holds_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  CallGate& gate = gate_;
  delete this;
  gate.Leave();  // last: from here on the server may go
}

}  // namespace orbserve
