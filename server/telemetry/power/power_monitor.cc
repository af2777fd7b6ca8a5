// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/power_monitor.h"

#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/telemetry/histogram.h"
#include "server/telemetry/power/energy_estimate.h"
#include "server/telemetry/power/energy_meter.h"
#include "server/telemetry/power/energy_shares.h"

namespace orbserve {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// 0.1 mJ (a small frame of a full batch on a large GPU) to 10 J (one large frame alone on it), in
// steps of about 1.6.
constexpr std::array<double, 26> kJoulesBounds = {
    1e-4, 1.6e-4, 2.5e-4, 4e-4, 6.3e-4, 1e-3, 1.6e-3, 2.5e-3, 4e-3, 6.3e-3, 1e-2, 1.6e-2, 2.5e-2,
    4e-2, 6.3e-2, 0.1,    0.16, 0.25,   0.4,  0.63,   1.0,    1.6,  2.5,    4.0,  6.3,    10.0};
using JoulesHistogram = Histogram<kJoulesBounds, 1'000'000'000>;

// A figure older than this is not shown: the reader hangs.
constexpr std::chrono::seconds kStale{3};

}  // namespace

class PowerMonitor::Impl : public prometheus::Collectable {
 public:
  Impl(std::vector<std::unique_ptr<PowerReader>> readers, Now now) : now_(std::move(now)) {
    for (auto& reader : readers) {
      rails_.emplace_back();
      rails_.back().info = reader->rail();
      rails_.back().reader = std::move(reader);
    }
    Poll();
  }

  bool has_rails() const { return !rails_.empty(); }
  absl::string_view source() const {
    return rails_.empty() ? absl::string_view("none") : rails_.front().info.source;
  }

  void Poll() ABSL_LOCKS_EXCLUDED(mutex_) {
    for (Rail& rail : rails_) {
      const absl::StatusOr<PowerReading> reading = rail.reader->Read();
      const SteadyTime time = now_();
      std::optional<EnergySegment> segment;
      {
        absl::MutexLock lock(&mutex_);
        segment = Take(rail.state, reading, time);
        std::swap(rail.ended, rail.state.ended);
      }
      for (const EnergyShares::Batch& batch : rail.ended) {
        rail.shares.AddBatch(batch.begin, batch.end, batch.frames);
      }
      rail.ended.clear();
      if (segment.has_value()) rail.shares.AddEnergy(*segment);
      rail.shares.Settle(time, [&rail](const EnergyShares::Batch& batch) {
        if (batch.frames == 0) return;
        rail.frame_joules.Observe(batch.joules / batch.frames, static_cast<uint64_t>(batch.frames));
      });
    }
  }

  std::optional<double> AddBatch(absl::string_view device, int frames, SteadyTime begin,
                                 SteadyTime end) ABSL_LOCKS_EXCLUDED(mutex_) {
    const auto rail = std::find_if(rails_.begin(), rails_.end(), [&](const Rail& candidate) {
      return !device.empty() && candidate.info.device == device;
    });
    if (rail == rails_.end()) return std::nullopt;
    absl::MutexLock lock(&mutex_);
    RailState& state = rail->state;
    if (state.ended.size() < EnergyShares::kMaxBatches) {
      state.ended.push_back({.begin = begin, .end = end, .frames = frames});
    }
    return state.estimate.AddBatch(begin, end);
  }

  std::vector<RailFigures> Figures() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const SteadyTime now = now_();
    std::vector<RailFigures> all;
    for (const Rail& rail : rails_) {
      RailFigures& figures = all.emplace_back();
      figures.rail = rail.info;
      const ClientMetric::Histogram of_frames = rail.frame_joules.Read();
      figures.frames = of_frames.sample_count;
      figures.frame_joules = of_frames.sample_sum;
      absl::MutexLock lock(&mutex_);
      const RailState& state = rail.state;
      if (!state.readable || now - state.read_at > kStale) continue;
      figures.watts = state.watts;
      figures.joules = state.meter.total_joules();
    }
    return all;
  }

  std::vector<MetricFamily> Collect() const override ABSL_LOCKS_EXCLUDED(mutex_) {
    MetricFamily watts{"orbserve_power_watts",
                       "Power of a rail, as its sensor last told it.",
                       MetricType::Gauge,
                       {}};
    MetricFamily joules{"orbserve_energy_joules_total",
                        "Energy of a rail since the server started, measured.",
                        MetricType::Counter,
                        {}};
    MetricFamily frames{"orbserve_frame_energy_joules",
                        "Measured energy of the frame's device while it worked for the frame's "
                        "batch, shared among batches at the same time and frames of a batch.",
                        MetricType::Histogram,
                        {}};
    MetricFamily errors{"orbserve_power_read_errors_total",
                        "Readings of a rail that failed; while they do its figures are absent.",
                        MetricType::Counter,
                        {}};
    MetricFamily source{"orbserve_power_source_info",
                        "1; the labels name what power is measured by. Source none: by nothing.",
                        MetricType::Gauge,
                        {}};
    const auto add = [](MetricFamily& family, std::vector<ClientMetric::Label> labels) {
      ClientMetric& metric = family.metric.emplace_back();
      metric.label = std::move(labels);
      return &metric;
    };
    const SteadyTime now = now_();
    for (const Rail& rail : rails_) {
      const PowerRail& info = rail.info;
      std::vector<ClientMetric::Label> labels = {
          {"rail", info.rail}, {"source", info.source}, {"scope", info.scope}};
      if (!info.device.empty()) {
        add(frames, {{"device", info.device}})->histogram = rail.frame_joules.Read();
      }
      {
        absl::MutexLock lock(&mutex_);
        const RailState& state = rail.state;
        add(errors, labels)->counter.value = static_cast<double>(state.read_errors);
        if (state.readable && now - state.read_at <= kStale) {
          if (state.watts.has_value()) add(watts, labels)->gauge.value = *state.watts;
          add(joules, labels)->counter.value = state.meter.total_joules();
        }
      }
      labels.insert(labels.end(), {{"energy", info.counts_energy ? "counted" : "integrated"},
                                   {"driver", info.driver},
                                   {"model", info.model}});
      add(source, std::move(labels))->gauge.value = 1;
    }
    if (rails_.empty()) add(source, {{"source", "none"}})->gauge.value = 1;
    std::vector<MetricFamily> families;
    for (MetricFamily* family : {&watts, &joules, &frames, &errors, &source}) {
      if (!family->metric.empty()) families.push_back(std::move(*family));
    }
    return families;
  }

 private:
  // State that several threads use, under the lock.
  struct RailState {
    EnergyMeter meter;
    EnergyEstimate estimate;
    bool readable = false;
    SteadyTime read_at;
    std::optional<double> watts;
    int64_t read_errors = 0;
    std::vector<EnergyShares::Batch> ended;  // since the last Poll()
  };

  struct Rail {
    PowerRail info;
    std::unique_ptr<PowerReader> reader;
    RailState state;
    JoulesHistogram frame_joules;
    // Used by the thread that polls.
    EnergyShares shares;
    std::vector<EnergyShares::Batch> ended;
  };

  static std::optional<EnergySegment> Take(RailState& state,
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

  const Now now_;
  mutable absl::Mutex mutex_;  // of every Rail::state
  std::deque<Rail> rails_;     // fixed after construction
};

PowerMonitor::PowerMonitor(std::vector<std::unique_ptr<PowerReader>> readers, Now now)
    : impl_(std::make_shared<Impl>(std::move(readers), std::move(now))) {}
PowerMonitor::~PowerMonitor() = default;

bool PowerMonitor::has_rails() const { return impl_->has_rails(); }
absl::string_view PowerMonitor::source() const { return impl_->source(); }
void PowerMonitor::Poll() { impl_->Poll(); }

std::optional<double> PowerMonitor::AddBatch(absl::string_view device, int frames, SteadyTime begin,
                                             SteadyTime end) {
  return impl_->AddBatch(device, frames, begin, end);
}

std::vector<RailFigures> PowerMonitor::Figures() const { return impl_->Figures(); }

std::shared_ptr<prometheus::Collectable> PowerMonitor::families() const { return impl_; }

}  // namespace orbserve
