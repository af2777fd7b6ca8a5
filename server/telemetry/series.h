// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What is counted between scrapes: numbers and histograms, thread-safe and without locks.

#ifndef ORBSERVE_SERVER_TELEMETRY_SERIES_H_
#define ORBSERVE_SERVER_TELEMETRY_SERIES_H_

#include <prometheus/client_metric.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace orbserve {

// A counter or gauge on a cache line of its own, because atomics on one line serialise.
class alignas(64) AtomicCell {
 public:
  // Release and acquire: a reader that sees a later event of a frame also sees its earlier ones.
  void Add(int64_t change) { value_.fetch_add(change, std::memory_order_release); }
  int64_t Read() const { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<int64_t> value_ = 0;
};

// A histogram whose writer makes two relaxed additions. `kBounds`: inclusive upper bounds in
// ascending order, an array with static storage. `kUnitsPerOne`: resolution of the sum, which is an
// integer and therefore exact in any order of addition.
template <const auto& kBounds, int64_t kUnitsPerOne>
class alignas(64) Histogram {
 public:
  // A value that is negative or not a number counts as 0. `times`: number of equal observations.
  void Observe(double value, uint64_t times = 1) {
    if (!(value > 0)) value = 0;
    const size_t bucket = std::lower_bound(kBounds.begin(), kBounds.end(), value) - kBounds.begin();
    counts_[bucket].fetch_add(times, std::memory_order_relaxed);
    const double sum = value * static_cast<double>(times);
    sum_units_.fetch_add(std::llround(sum * static_cast<double>(kUnitsPerOne)),
                         std::memory_order_relaxed);
  }

  // The count is the sum of the buckets that were read, so that the two always agree.
  prometheus::ClientMetric::Histogram Read() const {
    prometheus::ClientMetric::Histogram histogram;
    histogram.bucket.reserve(kBounds.size());
    for (size_t i = 0; i < kBounds.size(); ++i) {
      histogram.sample_count += counts_[i].load(std::memory_order_relaxed);
      histogram.bucket.push_back({histogram.sample_count, kBounds[i]});
    }
    histogram.sample_count += counts_.back().load(std::memory_order_relaxed);
    histogram.sample_sum = static_cast<double>(sum_units_.load(std::memory_order_relaxed)) /
                           static_cast<double>(kUnitsPerOne);
    return histogram;
  }

 private:
  std::array<std::atomic<uint64_t>, kBounds.size() + 1> counts_ =
      {};  // the last is for values above all bounds
  std::atomic<int64_t> sum_units_ = 0;
};

// 0.1 ms to 100 s, ten to the decade: a quantile that is read from them is off by a quarter at
// worst.
inline constexpr std::array<double, 61> kDurationBounds = {
    1e-4,    1.25e-4, 1.6e-4,  2e-4,    2.5e-4,  3.15e-4, 4e-4,   5e-4,   6.3e-4, 8e-4,    1e-3,
    1.25e-3, 1.6e-3,  2e-3,    2.5e-3,  3.15e-3, 4e-3,    5e-3,   6.3e-3, 8e-3,   1e-2,    1.25e-2,
    1.6e-2,  2e-2,    2.5e-2,  3.15e-2, 4e-2,    5e-2,    6.3e-2, 8e-2,   1e-1,   1.25e-1, 1.6e-1,
    2e-1,    2.5e-1,  3.15e-1, 4e-1,    5e-1,    6.3e-1,  8e-1,   1,      1.25,   1.6,     2,
    2.5,     3.15,    4,       5,       6.3,     8,       10,     12.5,   16,     20,      25,
    31.5,    40,      50,      63,      80,      100};

// In seconds, with a resolution of 1 ns. Joules of a frame have the same numbers: from 0.1 mJ (a
// small frame of a full batch on a large GPU) to above 10 J (one large frame alone on it).
using DurationHistogram = Histogram<kDurationBounds, 1'000'000'000>;

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_SERIES_H_
