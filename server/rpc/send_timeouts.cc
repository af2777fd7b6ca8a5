// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/send_timeouts.h"

#include <algorithm>
#include <utility>

#include "spdlog/spdlog.h"

namespace orbserve {
namespace {

// Calls are cancelled at most so often, because each time has a line in the log.
constexpr std::chrono::milliseconds kPace{1000};

}  // namespace

SendTimeouts::SendTimeouts(Clock* clock, Metrics* metrics, std::chrono::milliseconds limit)
    : clock_(clock),
      metrics_(metrics),
      limit_(limit),
      alarm_(clock->MakeAlarm([this] { OnAlarm(); })) {}

void SendTimeouts::Begin(Watch& watch, grpc::CallbackServerContext* context) {
  const SteadyTime now = clock_->Now();
  absl::MutexLock lock(&mutex_);
  watch.context = context;
  watch.since = now;
  watch.place = watched_.insert(watched_.end(), &watch);
  if (now + limit() < alarm_at_) SetAlarm(now + limit());
}

void SendTimeouts::End(Watch& watch) {
  absl::MutexLock lock(&mutex_);
  if (std::exchange(watch.context, nullptr) != nullptr) watched_.erase(watch.place);
}

void SendTimeouts::Shorten(std::chrono::milliseconds limit) {
  absl::MutexLock lock(&mutex_);
  if (limit >= this->limit()) return;
  limit_.store(limit, std::memory_order_relaxed);
  if (!watched_.empty()) SetAlarm(watched_.front()->since + limit);
}

void SendTimeouts::SetAlarm(SteadyTime when) {
  alarm_at_ = when;
  alarm_->Set(when);
}

void SendTimeouts::OnAlarm() {
  const SteadyTime now = clock_->Now();
  int count = 0;
  {
    absl::MutexLock lock(&mutex_);
    alarm_at_ = kNever;  // it has fired
    for (; !watched_.empty() && watched_.front()->since + limit() <= now; ++count) {
      // Under the lock, because the context lives until End(). gRPC calls nothing of ours inside.
      std::exchange(watched_.front()->context, nullptr)->TryCancel();
      watched_.pop_front();
      metrics_->CallAborted(AbortCause::kSendTimeout);
    }
    if (!watched_.empty()) {
      const SteadyTime next = watched_.front()->since + limit();
      SetAlarm(count == 0 ? next : std::max(next, now + kPace));
    }
  }
  if (count > 0) {
    spdlog::warn("event=send_timeout calls={} timeout_ms={}", count, limit().count());
  }
}

}  // namespace orbserve
