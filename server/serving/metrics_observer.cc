// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/metrics_observer.h"

namespace orbserve {
namespace {

double Seconds(int64_t duration_ns) { return static_cast<double>(duration_ns) * 1e-9; }

}  // namespace

void MetricsObserver::OnItemComputed(WorkKind kind, std::chrono::nanoseconds queued,
                                     const BatchCost& cost, const StageTimes& stages) {
  switch (kind) {
    case WorkKind::kFrames:
      ObservePhase(FramePhase::kQueue, cost, queued.count());
      ObservePhase(FramePhase::kCompute, cost, cost.timings.compute_ns);
      // A phase that did not happen has no duration.
      if (cost.timings.upload_ns > 0) {
        ObservePhase(FramePhase::kUpload, cost, cost.timings.upload_ns);
      }
      if (cost.timings.download_ns > 0) {
        ObservePhase(FramePhase::kDownload, cost, cost.timings.download_ns);
      }
      break;
    case WorkKind::kMatches:
      metrics_.ObserveMatchWait(cost.backend, cost.device, Seconds(queued.count()));
      break;
    case WorkKind::kTracks:
      metrics_.ObserveTrackWait(cost.backend, cost.device, Seconds(queued.count()));
      break;
  }
  for (const StageTime& time : stages.entries()) {
    ObserveStages(time.stages, cost, time.duration_ns);
  }
}

void MetricsObserver::OnFrameDecoded(std::chrono::nanoseconds time) {
  metrics_.ObservePhase(FramePhase::kDecode, std::chrono::duration<double>(time).count());
}

void MetricsObserver::OnFrameComputed(const ClientId& client, const FrameOutcome& outcome) {
  if (clients_ != nullptr) clients_->FrameComputed(client, outcome);
}

std::optional<double> MetricsObserver::OnBatchFinished(WorkKind kind, int items,
                                                       const BatchCost& cost) {
  if (kind == WorkKind::kFrames) {
    metrics_.ObserveBatch(cost.backend, cost.device, items, cost.busy_begin, cost.busy_end);
    return power_.AddBatch(cost.device, items, cost.busy_begin, cost.busy_end);
  }
  const std::chrono::nanoseconds busy = cost.busy_end - cost.busy_begin;
  ObserveStages(kind == WorkKind::kTracks ? Stage::kTrack : Stage::kMatch, cost, busy.count());
  metrics_.AddBusyInterval(cost.backend, cost.device, cost.busy_begin, cost.busy_end);
  return power_.AddBatch(cost.device, 0, cost.busy_begin, cost.busy_end);
}

void MetricsObserver::OnTrackBytes(int64_t change) { metrics_.AddTrackBytes(change); }

void MetricsObserver::ObservePhase(FramePhase phase, const BatchCost& cost, int64_t duration_ns) {
  metrics_.ObservePhase(phase, cost.backend, cost.device, Seconds(duration_ns));
}

void MetricsObserver::ObserveStages(StageSet stages, const BatchCost& cost, int64_t duration_ns) {
  metrics_.ObserveStages(stages, cost.backend, cost.device, Seconds(duration_ns));
}

}  // namespace orbserve
