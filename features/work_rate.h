// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_FEATURES_WORK_RATE_H_
#define ORBSERVE_FEATURES_WORK_RATE_H_

#include <algorithm>
#include <atomic>

namespace orbserve {

// Ratio of what work of one kind took to its size (features/work.h), as it was of late: an
// exponentially weighted mean. Thread-safe.
class WorkRate {
 public:
  // 0 until something was noted.
  double value() const { return value_.load(std::memory_order_relaxed); }

  // Expected time of work of this size, in nanoseconds.
  double Expect(double size) const { return value() > 0.0 ? value() * size : size; }

  // Work of this size took so long; sizes and times of 0 or less are ignored.
  void Note(double size, double taken_ns) {
    if (size <= 0.0 || taken_ns <= 0.0) return;
    const double ratio = std::clamp(taken_ns / size, kLeast, kMax);
    const double old = value();
    // When two threads write at once, one value is lost, which does no harm.
    value_.store(old == 0.0 ? ratio : old + kNewest * (ratio - old), std::memory_order_relaxed);
  }

 private:
  // The first batch of a plan may take several times as long as the next ones: ten batches later a
  // twentieth of that is left.
  static constexpr double kNewest = 0.25;
  // A clock that jumps must not make work free, or a client wait for hours.
  static constexpr double kLeast = 1e-4;
  static constexpr double kMax = 1e4;

  std::atomic<double> value_ = 0.0;
};

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_WORK_RATE_H_
