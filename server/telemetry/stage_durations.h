// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_STAGE_DURATIONS_H_
#define ORBSERVE_SERVER_TELEMETRY_STAGE_DURATIONS_H_

#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <vector>

#include "features/pipeline/stage.h"
#include "server/telemetry/duration_histogram.h"
#include "server/telemetry/frame_phase.h"
#include "server/telemetry/metric_devices.h"

namespace orbserve {

// The family orbserve_stage_duration_seconds: how long frames took in each phase of their way and
// in each stage of the pipeline. Recording takes no lock. A series of a set of stages is allocated
// when the set is first observed on a device; every other observation allocates nothing.
class StageDurations {
 public:
  // `devices` must outlive it.
  explicit StageDurations(const MetricDevices* devices);
  ~StageDurations();
  StageDurations(const StageDurations&) = delete;
  StageDurations& operator=(const StageDurations&) = delete;

  // A phase of the host.
  void ObserveHost(FramePhase phase, double seconds);
  // `device`: index into MetricDevices::all().
  void ObservePhase(FramePhase phase, size_t device, double seconds);
  // Stages that one step carried out together. An empty set is not recorded.
  void ObserveStages(StageSet stages, size_t device, double seconds);

  // Only series that have an observation: most pairs of a device and a stage do not exist.
  void Collect(std::vector<prometheus::MetricFamily>& families) const;

 private:
  using PhaseHistograms = std::array<DurationHistogram, kFramePhaseNames.size()>;
  // [StageSet::bits()], null where the set was never observed. Owned.
  using StageHistograms = std::array<std::atomic<DurationHistogram*>, 1 << kStageCount>;

  const MetricDevices& devices_;
  PhaseHistograms host_;
  std::deque<PhaseHistograms> phases_;  // [device]
  std::deque<StageHistograms> stages_;  // [device]
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_STAGE_DURATIONS_H_
