// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/pages/metrics_history.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/string_view.h"

namespace orbserve {
namespace {

// The families that takePoints() in live.js reads, in the order of the alphabet.
constexpr std::array<absl::string_view, 13> kDrawn = {
    "orbserve_batch_size_frames",
    "orbserve_device_busy_seconds_total",
    "orbserve_energy_joules_total",
    "orbserve_frame_duration_seconds",
    "orbserve_frame_energy_joules",
    "orbserve_frames_received_total",
    "orbserve_frames_total",
    "orbserve_limit_processors",
    "orbserve_power_watts",
    "orbserve_queue_frames",
    "orbserve_stage_duration_seconds",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
};
// The only one whose buckets are read.
constexpr absl::string_view kWithBuckets = "orbserve_frame_duration_seconds";

}  // namespace

void MetricsHistory::Take(std::vector<prometheus::MetricFamily> families) {
  std::erase_if(families, [](const prometheus::MetricFamily& family) {
    return !std::binary_search(kDrawn.begin(), kDrawn.end(), family.name);
  });
  for (prometheus::MetricFamily& family : families) {
    family.help.clear();
    for (prometheus::ClientMetric& series : family.metric) {
      // An empty bucket reads like a missing one.
      std::erase_if(series.histogram.bucket, [&](const prometheus::ClientMetric::Bucket& bucket) {
        return bucket.cumulative_count == 0 || family.name != kWithBuckets;
      });
    }
  }
  Sample sample = {clock_->Now(), prometheus::TextSerializer().Serialize(families)};
  const absl::MutexLock lock(&mutex_);
  while (!samples_.empty() && sample.time - samples_.front().time > kKept) samples_.pop_front();
  samples_.push_back(std::move(sample));
}

server::MetricsHistory MetricsHistory::Samples() const {
  server::MetricsHistory history;
  const absl::MutexLock lock(&mutex_);
  for (const Sample& sample : samples_) {
    server::MetricsSample& row = *history.add_samples();
    row.set_age_seconds(std::chrono::duration<double>(clock_->Now() - sample.time).count());
    row.set_metrics(sample.metrics);
  }
  return history;
}

}  // namespace orbserve
