// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Matching on one device.
//
// Small pairs: a few threads, each with a lane of its own. One that is free takes whatever waits,
// of all requests, and computes it together, so that while one is on the device the next ones
// gather, and the host's work for one overlaps the device's for another. A thread never waits for
// further pairs: one that is alone goes at once.
//
// Large pairs: one thread takes one after the other, in slices of about a millisecond. Between
// slices it looks whether the pair was cancelled and whether others work on the device, which then
// keep most of it. So neither frames nor small pairs wait for a large one longer than for a slice,
// and the deadline of the device holds for a slice.

#ifndef ORBSERVE_GPU_MATCHING_MATCHER_H_
#define ORBSERVE_GPU_MATCHING_MATCHER_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/backend.h"
#include "gpu/device_request.h"
#include "gpu/health.h"
#include "gpu/lane.h"
#include "gpu/matching/match_lane.h"

namespace orbserve::gpu {

// Thread-safe. Destruction waits for what was submitted.
class Matcher {
 public:
  // `frame_batches`: those that the device has now. All must outlive the matcher.
  static absl::StatusOr<std::unique_ptr<Matcher>> Create(const LaneContext& context,
                                                         const MatchLane::Device& device,
                                                         const std::atomic<int>* frame_batches,
                                                         Health* health);
  ~Matcher();

  // Computes the pairs `indexes` of a request. For a request without pairs: {0}, which answers it.
  // None of them is taken if this throws std::bad_alloc.
  void Submit(const std::shared_ptr<MatchRequest>& request, const std::vector<size_t>& indexes);

  // Share of a pair in the load of a device. A unit is about ten microseconds of an H200.
  static int64_t LoadOf(const MatchJob& job);
  // Load of the pairs that were submitted and are not answered.
  int64_t load() const { return load_.load(std::memory_order_relaxed); }

 private:
  struct Job {
    std::shared_ptr<MatchRequest> request;
    size_t index = 0;
  };

  Matcher(const LaneContext& context, const std::atomic<int>* frame_batches, Health* health)
      : context_(context), frame_batches_(*frame_batches), health_(*health) {}

  static bool IsLarge(const MatchJob& job);
  void RunSmall(MatchLane* lane);
  void RunLarge(MatchLane* lane);
  // Takes waiting pairs that may be computed together, oldest first. Under mutex_.
  void TakeSmall(std::vector<Job>* jobs);
  // `works` is used for them, and has room for all.
  void AnswerSmall(MatchLane* lane, std::vector<Job>* jobs, std::vector<MatchWork>* works);
  void AnswerLarge(MatchLane* lane, const Job& job);
  void Finish(const Job& job, absl::Status status, SteadyTime begin, int64_t compute_ns);

  const LaneContext& context_;
  const std::atomic<int>& frame_batches_;
  Health& health_;
  std::vector<std::unique_ptr<MatchLane>> lanes_;
  std::atomic<int64_t> load_{0};
  std::atomic<int> small_pairs_{0};  // submitted and not answered

  std::mutex mutex_;
  std::condition_variable small_wake_;
  std::condition_variable large_wake_;
  bool stopping_ = false;  // this and the next two guarded by mutex_
  std::deque<Job> small_;
  std::deque<Job> large_;
  std::vector<std::thread> threads_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_MATCHING_MATCHER_H_
