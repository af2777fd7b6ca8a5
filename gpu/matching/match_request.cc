// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/matching/match_request.h"

#include <algorithm>

#include "gpu/lane.h"

namespace orbserve::gpu {

MatchRequest::MatchRequest(std::vector<MatchJob> jobs, MatchBatchDone done)
    : jobs_(std::move(jobs)),
      done_(std::move(done)),
      remaining_(std::max<size_t>(jobs_.size(), 1)) {
  answer_.pairs.resize(jobs_.size());
}

void MatchRequest::Finish(size_t index, const PairCost& cost) {
  {
    absl::MutexLock lock(&mutex_);
    BatchCost& total = answer_.cost;
    if (total.backend.empty()) {
      total.backend = kBackendName;
      total.busy_begin = cost.begin;
      total.busy_end = cost.end;
    }
    // A request on several devices is the first pair's device's.
    if (index == 0) total.device = cost.device;
    total.busy_begin = std::min(total.busy_begin, cost.begin);
    total.busy_end = std::max(total.busy_end, cost.end);
    total.timings.compute_ns += cost.compute_ns;
    if (--remaining_ > 0) return;
  }
  jobs_.clear();
  std::move(done_)(std::move(answer_));
}

}  // namespace orbserve::gpu
