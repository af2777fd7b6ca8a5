// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_ATOMIC_CELL_H_
#define ORBSERVE_SERVER_TELEMETRY_ATOMIC_CELL_H_

#include <atomic>
#include <cstdint>

namespace orbserve {

// A counter or gauge on a cache line of its own, because atomics on one line serialise.
// Thread-safe.
class alignas(64) AtomicCell {
 public:
  // Release and acquire: a reader that sees a later event of a frame also sees its earlier ones.
  void Add(int64_t change) { value_.fetch_add(change, std::memory_order_release); }
  int64_t Read() const { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<int64_t> value_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_ATOMIC_CELL_H_
