// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <utility>

#include "client/src/answer_check.h"
#include "client/src/status.h"
#include "grpcpp/alarm.h"
#include "orbserve/client.h"

namespace orbserve::client {
namespace {

constexpr int64_t kFirstRetryMs = 100;
// Longest wait, whatever the server advises.
constexpr int64_t kLongestRetryMs = 60'000;

// RESOURCE_EXHAUSTED without a reason is gRPC's own: the message is larger than the server takes.
bool MayTryAgain(const absl::Status& status) {
  if (absl::IsResourceExhausted(status)) return !WireStatusOf(status).reason().empty();
  return absl::IsUnavailable(status);
}

}  // namespace

// A frame under way. Finish() deletes it after the last callback.
struct ExtractPipeline::Call {
  v1::ExtractRequest request;
  Done done;
  v1::ExtractResponse response;
  std::shared_ptr<grpc::ClientContext> context;  // one per try
  std::shared_ptr<grpc::Alarm> alarm;            // one per wait
  int attempts = 0;
};

ExtractPipeline::ExtractPipeline(Client* client, const ExtractPipelineOptions& options)
    : client_(client), options_(options) {}

ExtractPipeline::~ExtractPipeline() {
  Cancel();
  Drain();
}

void ExtractPipeline::Submit(v1::ExtractRequest request, Done done) {
  auto* call = new Call{.request = std::move(request), .done = std::move(done)};
  {
    absl::MutexLock lock(&mutex_);
    const auto may_start = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return cancelled_ || static_cast<int>(calls_.size()) < std::max(options_.max_in_flight, 1);
    };
    mutex_.Await(absl::Condition(&may_start));
    calls_.insert(call);
  }
  Start(call);
}

void ExtractPipeline::Start(Call* call) {
  ++call->attempts;
  {
    absl::MutexLock lock(&mutex_);
    ++running_;
    call->context = std::make_shared<grpc::ClientContext>();
    // A cancelled context makes a call that ends at once with CANCELLED, on gRPC's own thread.
    if (cancelled_) call->context->TryCancel();
  }
  client_->Prepare(call->context.get());
  client_->stub_->async()->Extract(
      call->context.get(), &call->request, &call->response,
      [this, call](const grpc::Status& status) { Finish(call, status); });
}

void ExtractPipeline::Finish(Call* call, const grpc::Status& status) {
  bool cancelled = false;
  {
    absl::MutexLock lock(&mutex_);
    cancelled = cancelled_;
    --running_;
  }
  absl::Status error = FromGrpc(status, cancelled);
  if (error.ok()) error = CheckExtractAnswer(call->request, call->response);
  if (WaitsForRoom(call, error)) return;
  if (MayTryAgain(error) && call->attempts < options_.max_attempts) {
    int64_t wait_ms = WireStatusOf(error).retry_after_ms();
    if (wait_ms == 0) wait_ms = kFirstRetryMs;
    wait_ms = std::min(wait_ms << std::min(call->attempts - 1, 8), kLongestRetryMs);
    absl::MutexLock lock(&mutex_);
    if (!cancelled_) {
      call->alarm = std::make_shared<grpc::Alarm>();
      call->alarm->Set(std::chrono::system_clock::now() + std::chrono::milliseconds(wait_ms),
                       [this, call](bool) { Start(call); });
      return;
    }
  }
  if (error.ok()) {
    call->done(std::move(call->response));
  } else {
    call->done(error);
  }
  Call* next = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    if (!waiting_for_room_.empty()) {
      next = waiting_for_room_.front();
      waiting_for_room_.pop_front();
    }
    calls_.erase(call);
    // Deleted under the lock, as a waiting destructor may run once the set is empty.
    delete call;
  }
  if (next != nullptr) Start(next);
}

bool ExtractPipeline::WaitsForRoom(Call* call, const absl::Status& error) {
  if (!absl::IsResourceExhausted(error) || WireStatusOf(error).reason() != "QUOTA_EXCEEDED") {
    return false;
  }
  absl::MutexLock lock(&mutex_);
  if (cancelled_ || running_ == 0 || options_.max_attempts <= 1) return false;
  --call->attempts;
  waiting_for_room_.push_back(call);
  return true;
}

void ExtractPipeline::Drain() {
  absl::MutexLock lock(&mutex_);
  const auto idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return calls_.empty(); };
  mutex_.Await(absl::Condition(&idle));
}

void ExtractPipeline::Cancel() {
  // Cancelled outside the lock, because TryCancel() may run a callback that takes the lock.
  std::vector<std::shared_ptr<grpc::ClientContext>> contexts;
  std::vector<std::shared_ptr<grpc::Alarm>> alarms;
  std::deque<Call*> waiting;
  {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    waiting.swap(waiting_for_room_);
    for (const Call* call : calls_) {
      if (call->context != nullptr) contexts.push_back(call->context);
      if (call->alarm != nullptr) alarms.push_back(call->alarm);
    }
  }
  for (const auto& context : contexts) context->TryCancel();
  for (const auto& alarm : alarms) alarm->Cancel();
  for (Call* const call : waiting) Start(call);
}

}  // namespace orbserve::client
