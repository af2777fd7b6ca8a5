// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/sensors/sampler.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace orbserve {

// Held by the thread too, which may outlive the sampler. Waits do not depend on the system's clock,
// which may be set.
struct Sampler::Shared {
  std::function<void()> poll;
  std::mutex mutex;  // guards the two below
  std::condition_variable changed;
  bool stopping = false;
  bool stopped = false;
};

Sampler::Sampler(std::function<void()> poll, std::chrono::milliseconds period)
    : shared_(std::make_shared<Shared>()) {
  shared_->poll = std::move(poll);
  thread_ = std::thread([shared = shared_, period] {
    using Clock = std::chrono::steady_clock;
    Clock::time_point next = Clock::now() + period;
    std::unique_lock lock(shared->mutex);
    while (!shared->changed.wait_until(lock, next, [&] { return shared->stopping; })) {
      lock.unlock();
      shared->poll();
      lock.lock();
      // After a slow reading the next comes a period later, not at once.
      next = std::max(next, Clock::now()) + period;
    }
    shared->stopped = true;
    shared->changed.notify_all();
  });
}

Sampler::~Sampler() {
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  const bool stopped =
      shared_->changed.wait_for(lock, kStopTime, [this] { return shared_->stopped; });
  lock.unlock();
  if (stopped) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

}  // namespace orbserve
