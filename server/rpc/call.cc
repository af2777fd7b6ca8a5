// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/call.h"

#include <optional>
#include <thread>
#include <utility>

#include "features/errors.h"
#include "server/process/log.h"
#include "server/rpc/call_deadline.h"
#include "server/rpc/status.h"

namespace orbserve {

CallGate::Ticket CallGate::Enter() {
  const std::scoped_lock lock(mutex_);
  if (state_.load(std::memory_order_acquire) != State::kOpen) return Ticket::kRefused;
  ++accepted_;
  return Ticket::kAccepted;
}

void CallGate::Leave(Ticket ticket) {
  if (ticket == Ticket::kRefused) return;
  const std::scoped_lock lock(mutex_);
  --accepted_;
  // Notified under the lock: the waiting thread may destroy the gate once the lock is released.
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
  if (!left_.wait_until(lock, end, [this] { return accepted_ == 0; })) return false;
  lock.unlock();
  std::this_thread::sleep_for(kQuiet);
  return true;
}

UnaryCall::UnaryCall(const CallServices& services, CallGate& gate,
                     grpc::CallbackServerContext* context, absl::string_view method)
    : services_(services),
      gate_(gate),
      context_(context),
      begin_(std::chrono::steady_clock::now()),
      deadline_(DeadlineOf(*context)),
      method_(method),
      ticket_(gate_.Enter()) {}

absl::Status UnaryCall::Identify() {
  ORBSERVE_ASSIGN_OR_RETURN(client_, services_.identity->ClientOf(*context_));
  answer_ = Holding(services_.ledger->Open(client_), Resource::kCallBytes);
  return absl::OkStatus();
}

absl::Status UnaryCall::ExpectAnswer(int64_t wire_bytes) {
  constexpr int64_t kForms = 2;  // gRPC keeps the message beside its bytes
  const std::optional<Refusal> full = answer_.Resize(kForms * wire_bytes);
  return full.has_value() ? full->status() : absl::OkStatus();
}

void UnaryCall::FinishWith(const absl::Status& status, size_t wire_bytes) {
  FreeRequest();
  absl::Status sent = status;
  if (sent.ok()) sent = ExpectAnswer(static_cast<int64_t>(wire_bytes));
  if (sent.ok()) {
    sent = WithoutBadAlloc([this] {
      SendResponse();
      return absl::OkStatus();
    });
  }
  // The last moment on the server's own clock: nothing but gRPC comes behind.
  if (sent.ok()) sent = StillWanted();
  if (!sent.ok()) answer_.Set(0);
  code_ = sent.code();
  LogFailure(method_, sent, [this] { return DisplayName(client_); });
  for (int i = 0; i < frames_; ++i) {
    services_.frames->Ended(method_, client_, begin_, sent,
                            sent.ok() ? std::exchange(keypoints_, 0) : 0);
  }
  // Only an answer can wait for its client: a status alone needs no leave from HTTP/2 flow control.
  if (sent.ok()) services_.send_timeouts->Begin(watch_, context_);
  Finish(StatusToGrpc(sent, context_));
}

absl::Status UnaryCall::StillWanted() const {
  if (services_.clock->Now() >= deadline_) {
    return MakeError(ErrorReason::kDeadlineExceeded,
                     "the deadline of the call passed before its answer was ready");
  }
  return context_->IsCancelled() ? CancelledStatus() : absl::OkStatus();
}

void UnaryCall::CountFrame(const v1::Frame& frame) {
  services_.frames->Received(client_, ImageBytes(frame));
  ++frames_;
}

void UnaryCall::FreeRequest() { DropRequest(); }

void UnaryCall::OnDone() {
  services_.send_timeouts->End(watch_);
  answer_.Set(0);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin_;
  services_.metrics->ObserveRequest(method_, code_, time.count());
  Drop();
}

void UnaryCall::Drop() {
  if (holds_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  CallGate& gate = gate_;
  const CallGate::Ticket ticket = ticket_;
  delete this;
  gate.Leave(ticket);  // last, because the server may be destroyed from here on
}

}  // namespace orbserve
