// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/plan_graphs.h"

#include <iterator>

#include "features/errors.h"

namespace orbserve::gpu {
absl::StatusOr<const Graph*> PlanGraphs::Get(const std::shared_ptr<GpuPlan>& plan,
                                             const GraphKind& kind,
                                             absl::FunctionRef<absl::StatusOr<Graph>()> capture) {
  auto found = plans_.find(plan->id());
  if (found == plans_.end()) {
    DropExpired();
    found = plans_.try_emplace(plan->id(), plan, device_meter_).first;
  }
  OfPlan& own = found->second;
  Graph& graph = own.graphs[kind.index()];
  if (graph.empty()) {
    ORBSERVE_ASSIGN_OR_RETURN(graph, capture());
    own.Count(static_cast<int64_t>(graph.nodes()));
  }
  return &graph;
}

void PlanGraphs::DropExpired() {
  for (auto own = plans_.begin(); own != plans_.end();) {
    own = own->second.plan.expired() ? plans_.erase(own) : std::next(own);
  }
}

}  // namespace orbserve::gpu
