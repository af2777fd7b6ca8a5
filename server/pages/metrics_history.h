// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_PAGES_METRICS_HISTORY_H_
#define ORBSERVE_SERVER_PAGES_METRICS_HISTORY_H_

#include <prometheus/metric_family.h>

#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/process/clock.h"
#include "server/telemetry/pages.pb.h"

namespace orbserve {

// The last two minutes of the metrics that the live page draws over time, for pages that are opened
// later. Thread-safe.
class MetricsHistory {
 public:
  static constexpr std::chrono::milliseconds kPeriod{2000};
  static constexpr std::chrono::seconds kKept{120};

  // The clock outlives the object.
  explicit MetricsHistory(const Clock* clock) : clock_(clock) {}

  // Keeps what is drawn of the families of this moment. To be called once a period.
  void Take(std::vector<prometheus::MetricFamily> families);
  server::MetricsHistory Samples() const;

 private:
  struct Sample {
    SteadyTime time;
    std::string metrics;
  };

  const Clock* const clock_;
  mutable absl::Mutex mutex_;
  std::deque<Sample> samples_ ABSL_GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PAGES_METRICS_HISTORY_H_
