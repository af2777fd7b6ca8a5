// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Keeps compiled plans and finds them by their spec. The least recently used plan goes first.
//
// Building a plan takes milliseconds and memory. The executor builds it, once for all frames that
// ask for it meanwhile. The cache keeps the `max_plans` most recently used plans, and of those only
// as many as fit into `max_bytes`. An evicted plan lives until its last batch is done. A failure is
// not kept: the next frame tries again.
//
// A plan may grow while it works (workspace, graphs), so the cache asks for its size again at every
// hit. Every kHitsPerSizeCheck hits it asks all plans, which finds those that grew after their last
// hit. Plans that no longer fit are evicted at once, except the plan that was just hit or built.
// Plans that nobody has asked for in a long time are dropped, too.

#ifndef ORBSERVE_SERVER_SERVING_PLAN_CACHE_H_
#define ORBSERVE_SERVER_SERVING_PLAN_CACHE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/node_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "server/clients/client_id.h"
#include "server/serving/worker_pool.h"

namespace orbserve {

struct PlanCacheOptions {
  int max_plans = 64;                  // >= 1
  size_t max_bytes = size_t{2} << 30;  // of FeaturePlan::size_bytes(); the latest plan always stays
};

// Use of a PlanCache at one moment, beside its bounds, and its events since it was made.
struct PlanCacheUse {
  int64_t plans = 0;
  int64_t bytes = 0;  // sum of FeaturePlan::size_bytes() now
  int64_t max_plans = 0;
  int64_t max_bytes = 0;
  int64_t hits = 0;       // calls of Find() and Get() that found a plan
  int64_t misses = 0;     // calls of Get() that had to wait for one
  int64_t evictions = 0;  // plans taken out because they did not fit
  int64_t building = 0;   // plans that the executor builds or will build
  int64_t builds = 0;     // plans that were built
  int64_t failed_builds = 0;
  std::chrono::nanoseconds build_time{};  // of both, summed
};

// Thread-safe. Backend and executor must outlive it, and the executor must have run its tasks
// before it is destroyed.
class PlanCache {
 public:
  using PlanOr = absl::StatusOr<std::shared_ptr<FeaturePlan>>;
  using Callback = absl::AnyInvocable<void(PlanOr) &&>;

  PlanCache(FeatureBackend* backend, Executor* executor, const PlanCacheOptions& options);

  // All plans are asked for their size once in this number of hits.
  static constexpr int kHitsPerSizeCheck = 64;

  // Returns the plan, or null when there is none yet.
  std::shared_ptr<FeaturePlan> Find(const PlanSpec& spec) ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls `callback` once with the plan, or with the status of a failed build: inside the call when
  // the plan exists, otherwise from the executor. Never under a lock. A new plan is built in the
  // executor's turn of `client`.
  void Get(const PlanSpec& spec, const ClientId& client, Callback callback)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Drops the plans that were not found in the last kIdlePeriods calls.
  void FreeIdle() ABSL_LOCKS_EXCLUDED(mutex_);
  static constexpr int kIdlePeriods = 60;

  // Asks all plans for their size.
  PlanCacheUse use() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Plan {
    PlanSpec spec;
    std::shared_ptr<FeaturePlan> plan;
    size_t bytes = 0;    // its size when it was last asked for
    int64_t period = 0;  // in which it was last found
  };
  using Plans = std::list<Plan>;

  void Build(const PlanSpec& spec) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the plan of `spec`, or null, and moves plans that it no longer leaves room for to
  // `surplus`, which the caller frees outside the lock.
  std::shared_ptr<FeaturePlan> Hit(const PlanSpec& spec, Plans* surplus)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Asks the plan for its size.
  void Measure(Plan& plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const size_t bytes = plan.plan->size_bytes();
    bytes_ += bytes - plan.bytes;  // unsigned: a plan may shrink, too
    plan.bytes = bytes;
  }
  void MeasureAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (Plan& plan : plans_) Measure(plan);
  }
  void MoveOldest(Plans* to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves the least recently used plans to `surplus` until the rest is within the bounds.
  void TakeSurplus(Plans* surplus) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Frees plans on the executor: freeing device memory may take longer than a caller has time.
  void Free(Plans surplus);

  FeatureBackend* const backend_;
  Executor* const executor_;
  const PlanCacheOptions options_;

  mutable absl::Mutex mutex_;
  Plans plans_ ABSL_GUARDED_BY(mutex_);         // most recently used first
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;    // sum of Plan::bytes
  int64_t period_ ABSL_GUARDED_BY(mutex_) = 0;  // number of calls of FreeIdle()
  PlanCacheUse use_ ABSL_GUARDED_BY(mutex_);    // bounds and events
  absl::node_hash_map<PlanSpec, Plans::iterator> by_spec_ ABSL_GUARDED_BY(mutex_);
  absl::node_hash_map<PlanSpec, std::deque<Callback>> building_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_PLAN_CACHE_H_
