// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/stage_durations.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "server/telemetry/family_builder.h"

namespace orbserve {
namespace {

void AddSeries(const DurationHistogram& histogram, std::string stage, const MetricDevice& device,
               FamilyBuilder& family) {
  prometheus::ClientMetric::Histogram read = histogram.Read();
  if (read.sample_count == 0) return;
  MetricLabels labels = {{"stage", std::move(stage)}};
  const MetricLabels of_device = LabelsOf(device);
  labels.insert(labels.end(), of_device.begin(), of_device.end());
  family.AddHistogram(std::move(read), std::move(labels));
}

std::string NameOf(size_t phase) {
  return std::string(kFramePhaseNames[phase].data(), kFramePhaseNames[phase].size());
}

}  // namespace

StageDurations::StageDurations(const MetricDevices* devices)
    : devices_(*devices), phases_(devices->count()), stages_(devices->count()) {}

StageDurations::~StageDurations() {
  for (StageHistograms& sets : stages_) {
    for (auto& slot : sets) delete slot.load(std::memory_order_acquire);
  }
}

void StageDurations::ObserveHost(FramePhase phase, double seconds) {
  host_[static_cast<size_t>(phase)].Observe(seconds);
}

void StageDurations::ObservePhase(FramePhase phase, size_t device, double seconds) {
  phases_[device][static_cast<size_t>(phase)].Observe(seconds);
}

void StageDurations::ObserveStages(StageSet stages, size_t device, double seconds) {
  if (stages.empty()) return;
  std::atomic<DurationHistogram*>& slot = stages_[device][stages.bits()];
  DurationHistogram* histogram = slot.load(std::memory_order_acquire);
  if (histogram == nullptr) {
    auto made = std::make_unique<DurationHistogram>();
    // Another thread may have been first; `histogram` is then the one that it made.
    if (slot.compare_exchange_strong(histogram, made.get(), std::memory_order_acq_rel)) {
      histogram = made.release();
    }
  }
  histogram->Observe(seconds);
}

void StageDurations::Collect(std::vector<prometheus::MetricFamily>& families) const {
  FamilyBuilder family(
      "orbserve_stage_duration_seconds",
      "Time of one frame in one stage; a stage of a batch counts once for each of its frames.",
      prometheus::MetricType::Histogram);
  const MetricDevice host = {"host", "host"};
  for (size_t phase = 0; phase < host_.size(); ++phase) {
    AddSeries(host_[phase], NameOf(phase), host, family);
  }
  for (size_t device = 0; device < devices_.count(); ++device) {
    for (size_t phase = 0; phase < phases_[device].size(); ++phase) {
      AddSeries(phases_[device][phase], NameOf(phase), devices_.all()[device], family);
    }
    for (size_t bits = 0; bits < stages_[device].size(); ++bits) {
      const DurationHistogram* const histogram =
          stages_[device][bits].load(std::memory_order_acquire);
      if (histogram == nullptr) continue;
      AddSeries(*histogram, StageSet::FromBits(static_cast<uint16_t>(bits)).Name(),
                devices_.all()[device], family);
    }
  }
  family.MoveTo(families);
}

}  // namespace orbserve
