// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/metrics_observer.h"

namespace orbserve {

void MetricsObserver::OnStagesTimed(const BatchCost& cost, const StageTimes& stages) {
  for (const StageTime& time : stages.entries()) {
    metrics_.ObserveStages(time.stages, cost.backend, cost.device,
                           static_cast<double>(time.duration_ns) * 1e-9);
  }
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
  metrics_.AddBusyInterval(cost.backend, cost.device, cost.busy_begin, cost.busy_end);
  return power_.AddBatch(cost.device, 0, cost.busy_begin, cost.busy_end);
}

void MetricsObserver::OnTrackBytes(int64_t change) { metrics_.AddTrackBytes(change); }

}  // namespace orbserve
