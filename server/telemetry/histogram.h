// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_HISTOGRAM_H_
#define ORBSERVE_SERVER_TELEMETRY_HISTOGRAM_H_

#include <prometheus/client_metric.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace orbserve {

// A histogram whose writer makes two relaxed additions and takes no lock. Thread-safe. `kBounds`:
// inclusive upper bounds in ascending order, an array with static storage. `kUnitsPerOne`:
// resolution of the sum, which is an integer and therefore exact in any order of addition.
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

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_HISTOGRAM_H_
