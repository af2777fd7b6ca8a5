// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/sensors/sampler.h"

#include <algorithm>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace orbserve {

// Held by the thread too, which may outlive the sampler.
struct Sampler::Shared {
  std::function<void()> poll;
  absl::Notification stopping;
  absl::Notification stopped;
};

Sampler::Sampler(std::function<void()> poll, std::chrono::milliseconds period)
    : shared_(std::make_shared<Shared>()) {
  shared_->poll = std::move(poll);
  thread_ = std::thread([shared = shared_, period] {
    using Clock = std::chrono::steady_clock;
    Clock::time_point next = Clock::now() + period;
    while (!shared->stopping.WaitForNotificationWithTimeout(
        absl::FromChrono(std::max(next - Clock::now(), Clock::duration(0))))) {
      shared->poll();
      // After a slow reading the next comes a period later, not at once.
      next = std::max(next, Clock::now()) + period;
    }
    shared->stopped.Notify();
  });
}

Sampler::~Sampler() {
  shared_->stopping.Notify();
  if (shared_->stopped.WaitForNotificationWithTimeout(absl::FromChrono(kStopTime))) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

}  // namespace orbserve
