// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/memory/housekeeper.h"

#include <utility>

#include "absl/time/time.h"

namespace orbserve {

Housekeeper::Housekeeper(Options options) : options_(std::move(options)) {
  thread_ = std::thread([this] { Run(); });
}

Housekeeper::~Housekeeper() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void Housekeeper::Run() {
  const absl::Duration period = absl::FromChrono(options_.heap_period);
  auto last = std::chrono::steady_clock::now();
  for (;;) {
    {
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&stopping_), period)) return;
    }
    const auto now = std::chrono::steady_clock::now();
    if (now - last >= options_.idle_period) {
      last = now;
      options_.free_idle();
    }
    if (options_.look_at_heap) options_.look_at_heap();
  }
}

}  // namespace orbserve
