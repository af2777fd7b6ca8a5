// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/energy.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace orbserve {
namespace {

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

std::optional<EnergySegment> EnergyMeter::Add(SteadyTime time, const PowerReading& reading) {
  std::optional<EnergySegment> segment;
  if (reading.power_watts.has_value()) {
    const Point now = {time, std::max(*reading.power_watts, 0.0)};
    if (last_power_.has_value() && time - last_power_->time <= kLongestGap) {
      segment = {last_power_->time, time, 0};
      segment->joules = (last_power_->value + now.value) / 2 * segment->seconds();
    }
    last_power_ = now;
  }
  if (reading.energy_joules.has_value()) {
    const Point now = {time, *reading.energy_joules};
    if (segment.has_value()) bridge_joules_ += segment->joules;
    segment.reset();
    if (last_count_.has_value()) {
      if (now.value == last_count_->value) return std::nullopt;
      const bool went_back = now.value < last_count_->value;
      const double joules = went_back ? bridge_joules_ : now.value - last_count_->value;
      // Without power to bridge it the gap is unknown, which is not the same as no energy.
      if (joules > 0) segment = {last_count_->time, time, joules};
    }
    last_count_ = now;
    bridge_joules_ = 0;
  }
  if (!segment.has_value()) return std::nullopt;
  total_joules_ += segment->joules;
  return segment->end > segment->begin ? segment : std::nullopt;
}

void BatchEnergyShares::AddBatch(SteadyTime begin, SteadyTime end, int frames) {
  if (end <= begin || batches_.size() >= kMaxBatches) return;
  batches_.push_back({.begin = begin, .end = end, .frames = frames});
}

// One pass over the moments at which batches begin and end. `level` is the energy that one batch
// would have been charged if it had been busy since the segment's begin; a batch is charged by how
// much it grew from its begin to its end.
void BatchEnergyShares::Share(const EnergySegment& segment) {
  edges_.clear();
  for (size_t i = 0; i < batches_.size(); ++i) {
    Batch& batch = batches_[i];
    const SteadyTime begin = std::max(batch.begin, segment.begin);
    const SteadyTime end = std::min(batch.end, segment.end);
    if (begin >= end) continue;
    batch.covered += end - begin;
    edges_.push_back({begin, i, false});
    edges_.push_back({end, i, true});
  }
  std::sort(edges_.begin(), edges_.end(),
            [](const Edge& a, const Edge& b) { return a.time < b.time; });
  const double watts = segment.joules / segment.seconds();
  double level = 0;
  int busy = 0;
  SteadyTime before = segment.begin;
  for (const Edge& edge : edges_) {
    if (busy > 0) level += watts * Seconds(edge.time - before) / busy;
    before = edge.time;
    Batch& batch = batches_[edge.batch];
    if (edge.is_end) {
      batch.joules += level - batch.level;
      --busy;
    } else {
      batch.level = level;
      ++busy;
    }
  }
}

std::vector<BatchEnergyShares::Batch> BatchEnergyShares::TakeEnded(SteadyTime time) {
  const auto ended = std::partition(batches_.begin(), batches_.end(),
                                    [&](const Batch& batch) { return batch.end > time; });
  std::vector<Batch> covered;
  std::copy_if(ended, batches_.end(), std::back_inserter(covered),
               [](const Batch& batch) { return batch.covered >= batch.end - batch.begin; });
  batches_.erase(ended, batches_.end());
  return covered;
}

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

std::optional<double> BatchEnergyEstimate::AddBatch(SteadyTime begin, SteadyTime end) {
  if (end <= begin) return std::nullopt;
  const double seconds = Seconds(end - begin);
  const double fade =
      std::exp(-Seconds(std::max(end - last_end_, SteadyTime::duration(0))) / Seconds(kMemory));
  last_end_ = std::max(last_end_, end);
  batch_seconds_ = batch_seconds_ * fade + seconds;
  busy_seconds_ = busy_seconds_ * fade + Seconds(busy_.Add(begin, end));
  if (recent_.empty() || end - recent_.back().end > kStale) return std::nullopt;
  return recent_joules_ / recent_seconds_ * seconds * std::min(busy_seconds_ / batch_seconds_, 1.0);
}

}  // namespace orbserve
