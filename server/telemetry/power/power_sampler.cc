// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/power_sampler.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace orbserve {

// Held by the thread too, which may outlive the sampler.
struct PowerSampler::Shared {
  std::shared_ptr<PowerMonitor> monitor;
  std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;  // guarded by mutex
  bool stopped = false;   // guarded by mutex
};

PowerSampler::PowerSampler(std::shared_ptr<PowerMonitor> monitor, std::chrono::milliseconds period)
    : shared_(std::make_shared<Shared>()) {
  shared_->monitor = std::move(monitor);
  thread_ = std::thread([shared = shared_, period] {
    SteadyTime next = std::chrono::steady_clock::now() + period;
    std::unique_lock<std::mutex> lock(shared->mutex);
    while (!shared->changed.wait_until(lock, next, [&] { return shared->stopping; })) {
      lock.unlock();
      shared->monitor->Poll();
      // After a slow reading the next comes a period later, not at once.
      next = std::max(next, std::chrono::steady_clock::now()) + period;
      lock.lock();
    }
    shared->stopped = true;
    shared->changed.notify_all();
  });
}

PowerSampler::~PowerSampler() {
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
