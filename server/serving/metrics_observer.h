// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_SERVING_METRICS_OBSERVER_H_
#define ORBSERVE_SERVER_SERVING_METRICS_OBSERVER_H_

#include <optional>

#include "server/serving/client_activity.h"
#include "server/serving/observer.h"
#include "server/telemetry/metrics.h"
#include "server/telemetry/power/power_monitor.h"

namespace orbserve {

// Records the events of the serving layer: the one way of batches and stage times into metrics and
// the pages about clients. The phases of a frame are recorded when it ends (FrameAccount). How much
// waits at the moment is not an event; a scrape reads it (ResourceMetrics).
class MetricsObserver final : public ServingObserver {
 public:
  // All must outlive the observer. `clients` may be null.
  MetricsObserver(Metrics* metrics, PowerMonitor* power, ClientActivity* clients = nullptr)
      : metrics_(*metrics), power_(*power), clients_(clients) {}

  void OnStagesTimed(const BatchCost& cost, const StageTimes& stages) override {
    for (const StageTime& time : stages.entries()) {
      metrics_.ObserveStages(time.stages, cost.backend, cost.device,
                             static_cast<double>(time.duration_ns) * 1e-9);
    }
  }
  void OnFrameComputed(const ClientId& client, const FrameOutcome& outcome) override {
    if (clients_ != nullptr) clients_->FrameComputed(client, outcome);
  }
  std::optional<double> OnBatchFinished(WorkKind kind, int items, const BatchCost& cost) override {
    if (kind == WorkKind::kFrames) {
      metrics_.ObserveBatch(cost.backend, cost.device, items, cost.busy_begin, cost.busy_end);
      return power_.AddBatch(cost.device, items, cost.busy_begin, cost.busy_end);
    }
    metrics_.AddBusyInterval(cost.backend, cost.device, cost.busy_begin, cost.busy_end);
    return power_.AddBatch(cost.device, 0, cost.busy_begin, cost.busy_end);
  }
  void OnTrackBytes(int64_t change) override { metrics_.AddTrackBytes(change); }

 private:
  Metrics& metrics_;
  PowerMonitor& power_;
  ClientActivity* const clients_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_METRICS_OBSERVER_H_
