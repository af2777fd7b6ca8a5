// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Turns in which connections are read. A thread of gRPC goes on with a connection as long as there
// is something to read, so that a few clients that send without end keep all threads, and others
// wait for a second. A turn ends when what was read costs enough, although there is more to read.
// The connection then stands behind the others. Where more connections than processors go on so,
// their turns begin no faster than the processors can serve them: gRPC's threads would otherwise
// never come to the end of what one connection has brought, with others behind it.

#ifndef ORBSERVE_SERVER_EDGE_GUARD_READ_TURN_H_
#define ORBSERVE_SERVER_EDGE_GUARD_READ_TURN_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace orbserve {

// Turns of one connection. Not thread-safe.
class ReadTurn {
 public:
  static constexpr int64_t kTurnNs = 250'000;
  static constexpr size_t kLeastBytes = 512;
  // A turn ends with less than this left: smaller reads cost more than they bring.
  static constexpr int64_t kLeastReadNs = kTurnNs / 8;

  // The connection is about to be read. Returns how many bytes may be: by what the last ones cost,
  // as many as the turn has left. 0: the turn is over, and the next call begins a new one.
  size_t Begin() {
    if (used_ns_ > kTurnNs - kLeastReadNs) {
      used_ns_ = 0;
      return 0;
    }
    const double most = static_cast<double>(kTurnNs - used_ns_) / ns_per_byte_;
    return std::max(static_cast<size_t>(most), kLeastBytes);
  }

  // So many bytes were read. gRPC will take about so long for them.
  void Add(size_t bytes, int64_t cost_ns) {
    used_ns_ += cost_ns;
    const double read = static_cast<double>(cost_ns) / static_cast<double>(bytes);
    ns_per_byte_ = std::max(kLeastNsPerByte, (ns_per_byte_ + read) / 2);
  }

  // True for a connection whose bytes are messages rather than calls and frames without work.
  bool is_bulk() const { return ns_per_byte_ < kBulkNsPerByte; }

  // There was nothing left to read.
  void End() { used_ns_ = 0; }

 private:
  static constexpr double kLeastNsPerByte = 0.1;
  // Frames of 16 KiB cost 0.53.
  static constexpr double kBulkNsPerByte = 0.8;

  int64_t used_ns_ = 0;
  // Before anything is known: as if all were calls, so that 1 KB is read then.
  double ns_per_byte_ = 250.0;
};

// Counts the connections that have more to read than a turn takes. Thread-safe; an event that many
// threads see at once may be counted for the window before or after it.
class TurnContention {
 public:
  static constexpr int64_t kWindowMs = 16;

  constexpr TurnContention() = default;
  // A turn of a connection is over, and there is more. `last_window` is of the connection, at first
  // -1. Returns how many connections were seen here in this window or in the one before, whichever
  // were more.
  int64_t Add(int64_t& last_window, int64_t now_ms) {
    const int64_t window = now_ms / kWindowMs;
    int64_t newest = window_.load(std::memory_order_relaxed);
    if (newest != window && window_.compare_exchange_strong(newest, window)) {
      const int64_t count = count_.exchange(0, std::memory_order_relaxed);
      count_before_.store(newest == window - 1 ? count : 0, std::memory_order_relaxed);
    }
    if (last_window != window) {
      last_window = window;
      count_.fetch_add(1, std::memory_order_relaxed);
    }
    return std::max(count_.load(std::memory_order_relaxed),
                    count_before_.load(std::memory_order_relaxed));
  }

 private:
  std::atomic<int64_t> window_{0};
  std::atomic<int64_t> count_{0};  // in that window
  std::atomic<int64_t> count_before_{0};
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_GUARD_READ_TURN_H_
