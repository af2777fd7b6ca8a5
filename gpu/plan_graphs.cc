// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/plan_graphs.h"

#include <iterator>

#include "features/errors.h"

namespace orbserve::gpu {
namespace {

// Memory of an instantiated graph, on host and device together: measured, not documented by CUDA.
constexpr int64_t kBytesPerGraph = 4096;
constexpr int64_t kBytesPerNode = 4096;

}  // namespace

absl::StatusOr<const Graph*> PlanGraphs::Get(const std::shared_ptr<GpuPlan>& plan,
                                             const GraphKind& kind,
                                             absl::FunctionRef<absl::StatusOr<Graph>()> capture) {
  auto found = plans_.find(plan->id());
  if (found == plans_.end()) {
    DropExpired();
    found = plans_.try_emplace(plan->id(), plan).first;
  }
  OfPlan& own = found->second;
  Graph& graph = own.graphs[kind.index()];
  if (graph.empty()) {
    ORBSERVE_ASSIGN_OR_RETURN(graph, capture());
    const int64_t bytes = kBytesPerGraph + kBytesPerNode * static_cast<int64_t>(graph.nodes());
    own.bytes += bytes;
    own.meter->Add(bytes);
  }
  return &graph;
}

void PlanGraphs::DropExpired() {
  for (auto own = plans_.begin(); own != plans_.end();) {
    own = own->second.plan.expired() ? plans_.erase(own) : std::next(own);
  }
}

}  // namespace orbserve::gpu
