// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_PLAN_GRAPHS_H_
#define ORBSERVE_GPU_PLAN_GRAPHS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "gpu/graph_kind.h"
#include "gpu/plan.h"
#include "gpu/runtime/stream.h"

namespace orbserve::gpu {

// Graphs of one lane, of every plan that it has worked for. All belong to one arena. Not
// thread-safe.
class PlanGraphs {
 public:
  // `device_meter` counts the graphs of a device, besides the meter of each plan.
  explicit PlanGraphs(std::shared_ptr<GraphMeter> device_meter)
      : device_meter_(std::move(device_meter)) {}

  // The graph of `plan` and `kind`; `capture` makes it when there is none yet. Valid until the next
  // call.
  absl::StatusOr<const Graph*> Get(const std::shared_ptr<GpuPlan>& plan, const GraphKind& kind,
                                   absl::FunctionRef<absl::StatusOr<Graph>()> capture);
  // Drops all graphs: the arena moved.
  void Clear() { plans_.clear(); }
  // Drops the graphs of plans that do not exist any more.
  void DropExpired();

 private:
  struct OfPlan {
    OfPlan(const std::shared_ptr<GpuPlan>& owner, std::shared_ptr<GraphMeter> of_device)
        : plan(owner), plan_meter(owner->graph_meter()), device_meter(std::move(of_device)) {}
    OfPlan(const OfPlan&) = delete;
    OfPlan& operator=(const OfPlan&) = delete;
    ~OfPlan() { Count(-nodes); }

    void Count(int64_t more) {
      nodes += more;
      plan_meter->AddNodes(more);
      device_meter->AddNodes(more);
    }

    const std::weak_ptr<GpuPlan> plan;
    const std::shared_ptr<GraphMeter> plan_meter;
    const std::shared_ptr<GraphMeter> device_meter;
    int64_t nodes = 0;
    std::array<Graph, kGraphKinds> graphs;
  };

  const std::shared_ptr<GraphMeter> device_meter_;
  std::unordered_map<uint64_t, OfPlan> plans_;  // by GpuPlan::id()
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_PLAN_GRAPHS_H_
