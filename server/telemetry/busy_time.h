// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_BUSY_TIME_H_
#define ORBSERVE_SERVER_TELEMETRY_BUSY_TIME_H_

#include <chrono>
#include <cstddef>
#include <vector>

namespace orbserve {

// Measures the union of time intervals that arrive one by one, roughly in order. Batches of one
// device overlap; time in which the device works for several of them counts once. Not thread-safe.
class BusyTime {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  BusyTime() { covered_.reserve(kMaxStretches + 1); }

  // Adds [begin, end) and returns the part that was not covered before. Never allocates.
  std::chrono::nanoseconds Add(TimePoint begin, TimePoint end);

 private:
  // Number of stretches kept; an interval older than all of them counts as covered.
  static constexpr size_t kMaxStretches = 64;

  struct Stretch {
    TimePoint begin;
    TimePoint end;
  };
  std::vector<Stretch> covered_;  // disjoint, ascending
  TimePoint horizon_ = TimePoint::min();
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_BUSY_TIME_H_
