// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/upkeep.h"

#include <atomic>
#include <cstdint>
#include <utility>

#include "features/this_thread.h"

namespace orbserve {
namespace {

std::atomic<int64_t> upkeep_ns{0};

}  // namespace

void CountUpkeep() {
  thread_local int64_t counted_ns = 0;
  const int64_t now_ns = TimeOfThisThread().count();
  upkeep_ns.fetch_add(now_ns - std::exchange(counted_ns, now_ns), std::memory_order_relaxed);
}

std::chrono::nanoseconds UpkeepTime() {
  return std::chrono::nanoseconds(upkeep_ns.load(std::memory_order_relaxed));
}

}  // namespace orbserve
