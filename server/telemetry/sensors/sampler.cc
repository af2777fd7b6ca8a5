// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/sensors/sampler.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace orbserve {

// Held by the thread too, which may outlive the sampler.
struct Sampler::Shared {
  std::function<void()> poll;
  std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;  // guarded by mutex
  bool stopped = false;   // guarded by mutex
};

Sampler::Sampler(std::function<void()> poll, std::chrono::milliseconds period)
    : shared_(std::make_shared<Shared>()) {
  shared_->poll = std::move(poll);
  thread_ = std::thread([shared = shared_, period] {
    std::chrono::steady_clock::time_point next = std::chrono::steady_clock::now() + period;
    std::unique_lock<std::mutex> lock(shared->mutex);
    while (!shared->changed.wait_until(lock, next, [&] { return shared->stopping; })) {
      lock.unlock();
      shared->poll();
      // After a slow reading the next comes a period later, not at once.
      next = std::max(next, std::chrono::steady_clock::now()) + period;
      lock.lock();
    }
    shared->stopped = true;
    shared->changed.notify_all();
  });
}

Sampler::~Sampler() {
  bool stopped = false;
  {
    std::unique_lock<std::mutex> lock(shared_->mutex);
    shared_->stopping = true;
    shared_->changed.notify_all();
    stopped = shared_->changed.wait_for(lock, kStopTime, [&] { return shared_->stopped; });
  }
  if (stopped) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

}  // namespace orbserve
