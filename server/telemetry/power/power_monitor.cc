// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/power_monitor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "server/telemetry/metric_page.h"

namespace orbserve {
namespace {

// A figure older than this is not shown: the reader hangs.
constexpr std::chrono::seconds kStaleReading{3};

}  // namespace

PowerMonitor::PowerMonitor(std::vector<PowerReader> readers, Now now) : now_(std::move(now)) {
  for (PowerReader& reader : readers) rails_.emplace_back().reader = std::move(reader);
  Poll();
}

absl::string_view PowerMonitor::source() const {
  return rails_.empty() ? absl::string_view("none") : rails_.front().reader.rail.source;
}

void PowerMonitor::Poll() {
  for (Rail& rail : rails_) {
    const absl::StatusOr<PowerReading> reading = rail.reader.read();
    const SteadyTime time = now_();
    std::optional<EnergySegment> segment;
    {
      absl::MutexLock lock(&mutex_);
      segment = Take(rail.state, reading, time);
      std::swap(rail.ended, rail.state.ended);
    }
    for (const BatchEnergyShares::Batch& batch : rail.ended) {
      rail.shares.AddBatch(batch.begin, batch.end, batch.frames);
    }
    rail.ended.clear();
    if (segment.has_value()) rail.shares.AddEnergy(*segment);
    rail.shares.Settle(time, [&rail](const BatchEnergyShares::Batch& batch) {
      if (batch.frames == 0) return;
      rail.frame_joules.Observe(batch.joules / batch.frames, static_cast<uint64_t>(batch.frames));
    });
  }
}

std::optional<EnergySegment> PowerMonitor::Take(RailState& state,
                                                const absl::StatusOr<PowerReading>& reading,
                                                SteadyTime time) {
  state.readable = reading.ok();
  if (!reading.ok()) {
    ++state.read_errors;
    state.meter.Interrupt();
    state.watts.reset();
    return std::nullopt;
  }
  state.read_at = time;
  const std::optional<EnergySegment> segment = state.meter.Add(time, *reading);
  if (segment.has_value()) state.estimate.AddEnergy(*segment);
  if (reading->power_watts.has_value()) {
    state.watts = reading->power_watts;
  } else if (segment.has_value()) {
    state.watts = segment->joules / segment->seconds();
  }
  return segment;
}

std::optional<double> PowerMonitor::AddBatch(absl::string_view device, int frames, SteadyTime begin,
                                             SteadyTime end) {
  const auto rail = std::find_if(rails_.begin(), rails_.end(), [&](const Rail& candidate) {
    return !device.empty() && candidate.reader.rail.device == device;
  });
  if (rail == rails_.end()) return std::nullopt;
  absl::MutexLock lock(&mutex_);
  RailState& state = rail->state;
  if (state.ended.size() < BatchEnergyShares::kMaxBatches) {
    state.ended.push_back({.begin = begin, .end = end, .frames = frames});
  }
  return state.estimate.AddBatch(begin, end);
}

std::vector<RailFigures> PowerMonitor::Figures() const {
  const SteadyTime now = now_();
  std::vector<RailFigures> all;
  for (const Rail& rail : rails_) {
    RailFigures& figures = all.emplace_back();
    figures.rail = rail.reader.rail;
    const prometheus::ClientMetric::Histogram of_frames = rail.frame_joules.Read();
    figures.frames = of_frames.sample_count;
    figures.frame_joules = of_frames.sample_sum;
    absl::MutexLock lock(&mutex_);
    const RailState& state = rail.state;
    figures.read_errors = state.read_errors;
    if (!state.readable || now - state.read_at > kStaleReading) continue;
    figures.watts = state.watts;
    figures.joules = state.meter.total_joules();
  }
  return all;
}

void PowerMonitor::Collect(MetricPage& page) const {
  auto& watts = page.Gauge("orbserve_power_watts", "Power of a rail, as its sensor last told it.");
  auto& joules = page.Counter("orbserve_energy_joules_total",
                              "Energy of a rail since the server started, measured.");
  auto& frames =
      page.Histogram("orbserve_frame_energy_joules",
                     "Measured energy of the frame's device while it worked for the frame's "
                     "batch, shared among batches at the same time and frames of a batch.");
  auto& errors =
      page.Counter("orbserve_power_read_errors_total",
                   "Readings of a rail that failed; while they do its figures are absent.");
  auto& source =
      page.Gauge("orbserve_power_source_info",
                 "1; the labels name what power is measured by. Source none: by nothing.");
  const std::vector<RailFigures> all = Figures();
  for (size_t i = 0; i < all.size(); ++i) {
    const PowerRail& info = all[i].rail;
    MetricLabels labels = {{"rail", info.rail}, {"source", info.source}, {"scope", info.scope}};
    if (!info.device.empty()) {
      frames.AddHistogram(rails_[i].frame_joules.Read(), {{"device", info.device}});
    }
    errors.Add(all[i].read_errors, labels);
    if (all[i].watts.has_value()) watts.Add(*all[i].watts, labels);
    if (all[i].joules.has_value()) joules.Add(*all[i].joules, labels);
    labels.insert(labels.end(), {{"energy", info.counts_energy ? "counted" : "integrated"},
                                 {"driver", info.driver},
                                 {"model", info.model}});
    source.Add(1, std::move(labels));
  }
  if (all.empty()) source.Add(1, {{"source", "none"}});
}

}  // namespace orbserve
