// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_MATCHING_MATCH_REQUEST_H_
#define ORBSERVE_GPU_MATCHING_MATCH_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"

namespace orbserve::gpu {

// What one call of SubmitMatches asked for. Its pairs are computed by anybody in any order, each by
// one thread; whoever ends the last one gives the answer.
class MatchRequest {
 public:
  MatchRequest(std::vector<MatchJob> jobs, MatchBatchDone done);

  size_t size() const { return jobs_.size(); }
  const MatchJob& job(size_t index) const { return jobs_[index]; }
  // Until Finish(index).
  MatchAnswer& answer(size_t index) { return answer_.pairs[index]; }

  // What a pair cost: when work began and ended that it had a part in, and its share of that.
  struct PairCost {
    absl::string_view device;  // lives as long as the backend
    SteadyTime begin;
    SteadyTime end;
    int64_t compute_ns = 0;
  };
  // Pair number `index` has its answer. The last of max(size(), 1) calls lets go of the states and
  // then calls `done`.
  void Finish(size_t index, const PairCost& cost) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::vector<MatchJob> jobs_;
  MatchBatchDone done_;
  absl::Mutex mutex_;
  size_t remaining_ ABSL_GUARDED_BY(mutex_);
  // Its pairs are not guarded: each has one writer.
  MatchBatchAnswer answer_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_MATCHING_MATCH_REQUEST_H_
