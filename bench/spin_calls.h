// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Batches of a backend whose caller waits without sleeping: only the latency counts.

#ifndef ORBSERVE_BENCH_SPIN_CALLS_H_
#define ORBSERVE_BENCH_SPIN_CALLS_H_

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "features/backend.h"

namespace orbserve::bench {

// `submit` gets what it has to call with the answer.
template <typename Answer, typename Submit>
Answer SpinFor(const Submit& submit) {
  std::atomic<bool> ready{false};
  Answer answer;
  submit([&](Answer given) {
    answer = std::move(given);
    ready.store(true, std::memory_order_release);
  });
  while (!ready.load(std::memory_order_acquire)) {
  }
  return answer;
}

inline FrameBatchAnswer Extract(FeatureBackend& backend, const std::shared_ptr<FeaturePlan>& plan,
                                std::vector<FrameJob> jobs) {
  return SpinFor<FrameBatchAnswer>(
      [&](auto done) { backend.Submit(plan, std::move(jobs), std::move(done)); });
}

inline TrackBatchAnswer Track(FeatureBackend& backend, std::vector<TrackJob> jobs) {
  return SpinFor<TrackBatchAnswer>(
      [&](auto done) { backend.SubmitTracks(std::move(jobs), std::move(done)); });
}

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_SPIN_CALLS_H_
