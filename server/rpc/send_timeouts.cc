// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/send_timeouts.h"

#include <utility>

#include "spdlog/spdlog.h"

namespace orbserve {

SendTimeouts::SendTimeouts(Clock* clock, Metrics* metrics, std::chrono::milliseconds limit)
    : clock_(clock), metrics_(metrics), limit_(limit) {}

void SendTimeouts::Begin(Watch& watch, grpc::CallbackServerContext* context) {
  const SteadyTime now = clock_->Now();
  absl::MutexLock lock(&mutex_);
  watch.context = context;
  watch.since = now;
  watch.place = watched_.insert(watched_.end(), &watch);
}

void SendTimeouts::End(Watch& watch) {
  absl::MutexLock lock(&mutex_);
  if (std::exchange(watch.context, nullptr) != nullptr) watched_.erase(watch.place);
}

void SendTimeouts::Shorten(std::chrono::milliseconds limit) {
  if (limit < this->limit()) limit_.store(limit, std::memory_order_relaxed);
}

void SendTimeouts::Look() {
  const SteadyTime now = clock_->Now();
  int count = 0;
  {
    absl::MutexLock lock(&mutex_);
    for (; !watched_.empty() && watched_.front()->since + limit() <= now; ++count) {
      // Under the lock, because the context lives until End(). gRPC calls nothing of ours inside.
      std::exchange(watched_.front()->context, nullptr)->TryCancel();
      watched_.pop_front();
      metrics_->CallAborted(AbortCause::kSendTimeout);
    }
  }
  if (count > 0) {
    spdlog::warn("event=send_timeout calls={} timeout_ms={}", count, limit().count());
  }
}

}  // namespace orbserve
