// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Plans by what they are for, least recently used first out.
//
// A plan takes milliseconds and memory to build, so it is built by the executor, once however many
// frames ask for it meanwhile, and kept while it is among the latest `max_plans` used and within
// `max_bytes`. A plan that is forgotten lives on until its last batch is done. Failures are not
// kept: the next frame tries again.

#ifndef ORBSERVE_SERVER_SERVING_PLAN_CACHE_H_
#define ORBSERVE_SERVER_SERVING_PLAN_CACHE_H_

#include <list>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "server/serving/worker_pool.h"

namespace orbserve {

struct PlanCacheOptions {
  int max_plans = 64;                  // >= 1
  size_t max_bytes = size_t{2} << 30;  // of FeaturePlan::size_bytes(); the latest plan always stays
};

// Thread-safe. Backend and executor must outlive it, and the executor must have run its tasks
// before it is destroyed.
class PlanCache {
 public:
  using PlanOr = absl::StatusOr<std::shared_ptr<FeaturePlan>>;
  using Callback = absl::AnyInvocable<void(PlanOr) &&>;

  PlanCache(FeatureBackend* backend, Executor* executor, const PlanCacheOptions& options);

  // The plan when it is there, else null.
  std::shared_ptr<FeaturePlan> Find(const PlanSpec& spec) ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls `callback` once with the plan or with why there is none: inside the call when the plan is
  // there, else from the executor. Never under a lock. `client`: whose turn with the executor a
  // new plan takes.
  void Get(const PlanSpec& spec, absl::string_view client, Callback callback)
      ABSL_LOCKS_EXCLUDED(mutex_);

  int plan_count() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Plan {
    PlanSpec spec;
    std::shared_ptr<FeaturePlan> plan;
  };

  void Build(const PlanSpec& spec) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes out what is beyond the bounds, so that it is freed outside the lock.
  std::list<Plan> TakeSurplus() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  FeatureBackend* const backend_;
  Executor* const executor_;
  const PlanCacheOptions options_;

  mutable absl::Mutex mutex_;
  std::list<Plan> plans_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  absl::flat_hash_map<PlanSpec, std::list<Plan>::iterator> by_spec_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<PlanSpec, std::vector<Callback>> building_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_PLAN_CACHE_H_
