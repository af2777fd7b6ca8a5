// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/batch_energy_shares.h"

#include <algorithm>
#include <iterator>

namespace orbserve {

void BatchEnergyShares::AddBatch(SteadyTime begin, SteadyTime end, int frames) {
  if (end <= begin || batches_.size() >= kMaxBatches) return;
  batches_.push_back({.begin = begin, .end = end, .frames = frames});
}

// One pass over the moments at which batches begin and end. `level` is the energy that one batch
// would have been charged if it had been busy since the segment's begin; a batch is charged by how
// much it grew from its begin to its end.
void BatchEnergyShares::Share(const EnergySegment& segment) {
  edges_.clear();
  for (size_t i = 0; i < batches_.size(); ++i) {
    Batch& batch = batches_[i];
    const SteadyTime begin = std::max(batch.begin, segment.begin);
    const SteadyTime end = std::min(batch.end, segment.end);
    if (begin >= end) continue;
    batch.covered += end - begin;
    edges_.push_back({begin, i, false});
    edges_.push_back({end, i, true});
  }
  std::sort(edges_.begin(), edges_.end(),
            [](const Edge& a, const Edge& b) { return a.time < b.time; });
  const double watts = segment.joules / segment.seconds();
  double level = 0;
  int busy = 0;
  SteadyTime before = segment.begin;
  for (const Edge& edge : edges_) {
    if (busy > 0) {
      level += watts * std::chrono::duration<double>(edge.time - before).count() / busy;
    }
    before = edge.time;
    Batch& batch = batches_[edge.batch];
    if (edge.is_end) {
      batch.joules += level - batch.level;
      --busy;
    } else {
      batch.level = level;
      ++busy;
    }
  }
}

std::vector<BatchEnergyShares::Batch> BatchEnergyShares::TakeEnded(SteadyTime time) {
  const auto ended = std::partition(batches_.begin(), batches_.end(),
                                    [&](const Batch& batch) { return batch.end > time; });
  std::vector<Batch> covered;
  std::copy_if(ended, batches_.end(), std::back_inserter(covered),
               [](const Batch& batch) { return batch.covered >= batch.end - batch.begin; });
  batches_.erase(ended, batches_.end());
  return covered;
}

}  // namespace orbserve
