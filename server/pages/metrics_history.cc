// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/pages/metrics_history.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace orbserve {
namespace {

// The series that takePoints() in live.js reads, in the order of the alphabet.
constexpr std::array<absl::string_view, 17> kDrawn = {
    "orbserve_batch_size_frames_count",
    "orbserve_batch_size_frames_sum",
    "orbserve_device_busy_seconds_total",
    "orbserve_energy_joules_total",
    "orbserve_frame_duration_seconds_bucket",
    "orbserve_frame_duration_seconds_count",
    "orbserve_frame_energy_joules_count",
    "orbserve_frame_energy_joules_sum",
    "orbserve_frames_received_total",
    "orbserve_frames_total",
    "orbserve_limit_processors",
    "orbserve_power_watts",
    "orbserve_queue_frames",
    "orbserve_stage_duration_seconds_count",
    "orbserve_stage_duration_seconds_sum",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
};

bool IsDrawn(absl::string_view line) {
  const absl::string_view name = line.substr(0, line.find_first_of("{ "));
  // An empty bucket reads like a missing one.
  if (absl::EndsWith(name, "_bucket") && absl::EndsWith(line, " 0")) return false;
  return std::binary_search(kDrawn.begin(), kDrawn.end(), name);
}

}  // namespace

void MetricsHistory::Take(absl::string_view metrics) {
  Sample sample = {clock_->Now(), ""};
  for (const absl::string_view line : absl::StrSplit(metrics, '\n')) {
    if (IsDrawn(line)) absl::StrAppend(&sample.metrics, line, "\n");
  }
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
