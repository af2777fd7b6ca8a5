// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/batch_energy_estimate.h"

#include <algorithm>
#include <cmath>

namespace orbserve {
namespace {

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void BatchEnergyEstimate::AddEnergy(const EnergySegment& segment) {
  recent_.push_back(segment);
  while (recent_.front().end + kMemory <= segment.end) recent_.pop_front();
  // Summed anew: a dozen segments, and no rounding errors that add up over years.
  recent_joules_ = 0;
  recent_seconds_ = 0;
  for (const EnergySegment& one : recent_) {
    recent_joules_ += one.joules;
    recent_seconds_ += one.seconds();
  }
}

std::optional<double> BatchEnergyEstimate::MeanWatts(SteadyTime now) const {
  if (recent_.empty() || now - recent_.back().end > kStale) return std::nullopt;
  return recent_joules_ / recent_seconds_;
}

std::optional<double> BatchEnergyEstimate::AddBatch(SteadyTime begin, SteadyTime end) {
  if (end <= begin) return std::nullopt;
  const double seconds = Seconds(end - begin);
  const double fade =
      std::exp(-Seconds(std::max(end - last_end_, SteadyTime::duration(0))) / Seconds(kMemory));
  last_end_ = std::max(last_end_, end);
  batch_seconds_ = batch_seconds_ * fade + seconds;
  busy_seconds_ = busy_seconds_ * fade + Seconds(busy_.Add(begin, end));
  const std::optional<double> watts = MeanWatts(end);
  if (!watts.has_value()) return std::nullopt;
  return *watts * seconds * std::min(busy_seconds_ / batch_seconds_, 1.0);
}

}  // namespace orbserve
