// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Says when memory runs short, so that new work is refused before an allocation fails. gRPC's own
// allocations end the process when they fail, and a cgroup ends it without asking.

#ifndef ORBSERVE_SERVER_PROCESS_MEMORY_MEMORY_WATCH_H_
#define ORBSERVE_SERVER_PROCESS_MEMORY_MEMORY_WATCH_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "server/process/limits.h"

namespace orbserve {

struct MemoryWatchOptions {
  int64_t limit_bytes = 0;          // resident memory, > 0
  int64_t address_limit_bytes = 0;  // RLIMIT_AS; 0 = none
  // Called by Look() when memory pressure begins and ends.
  std::function<void(bool)> on_change;
  std::function<MemoryState()> read = [] { return ReadMemoryState(); };
  // True while the heap has no memory, and small blocks come from a reserve. May be null.
  std::function<bool()> heap_is_exhausted = nullptr;
};

// Memory is under pressure while the process holds more than 90 % of a limit, or the machine has
// less than 2 % of it left. The pressure ends below 85 %. Thread-safe but for Look().
class MemoryWatch {
 public:
  static constexpr std::chrono::milliseconds kPeriod{20};  // of Look()

  explicit MemoryWatch(MemoryWatchOptions options) : options_(std::move(options)) {}

  bool is_under_pressure() const { return is_under_pressure_.load(std::memory_order_relaxed); }
  // OUT_OF_MEMORY for a request of so many bytes under memory pressure. Small requests, which need
  // little more than what their predecessors have left, are served until 95 % are reached.
  absl::Status Check(size_t message_bytes) const;
  // False while a message of so many bytes may take only memory that is kept for messages. That is
  // when 60 % of a limit are used, or 75 % for a small one. The use of other programs counts, too.
  bool HasRoomFor(size_t message_bytes) const;
  // Reads how much memory is used. To be called every kPeriod, by one thread.
  void Look();

  int64_t limit_bytes() const { return options_.limit_bytes; }

 private:
  const MemoryWatchOptions options_;
  std::atomic<bool> is_under_pressure_{false};
  std::atomic<bool> is_under_high_pressure_{false};
  // This is the use of the tightest limit.
  std::atomic<int64_t> used_percent_{0};
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_MEMORY_MEMORY_WATCH_H_
