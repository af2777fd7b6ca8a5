// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/plan_cache.h"

#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

#include "features/work.h"

namespace orbserve {

PlanCache::PlanCache(FeatureBackend* backend, Executor* executor, const PlanCacheOptions& options)
    : backend_(backend), executor_(executor), options_(options) {
  use_.max_plans = options.max_plans;
  use_.max_bytes = static_cast<int64_t>(options.max_bytes);
}

std::shared_ptr<FeaturePlan> PlanCache::Find(const PlanSpec& spec) {
  std::shared_ptr<FeaturePlan> plan;
  Plans surplus;
  {
    absl::MutexLock lock(&mutex_);
    plan = Hit(spec, &surplus);
  }
  Free(std::move(surplus));
  return plan;
}

void PlanCache::Get(const PlanSpec& spec, const ClientId& client, Callback callback) {
  std::shared_ptr<FeaturePlan> plan;
  Plans surplus;
  {
    absl::MutexLock lock(&mutex_);
    plan = Hit(spec, &surplus);
    if (plan == nullptr) {
      ++use_.misses;
      std::deque<Callback>& waiting = building_[spec];
      waiting.push_back(std::move(callback));
      if (waiting.size() > 1) return;  // is being built
    }
  }
  Free(std::move(surplus));
  if (plan != nullptr) {
    std::move(callback)(std::move(plan));
    return;
  }
  executor_->Run(client, {.time = std::chrono::nanoseconds(std::llround(PlanWork(spec)))},
                 [this, spec] { Build(spec); });
}

void PlanCache::FreeIdle() {
  Plans idle;  // freed after the lock
  absl::MutexLock lock(&mutex_);
  ++period_;
  while (!plans_.empty() && plans_.back().period + kIdlePeriods < period_) {
    MoveOldest(&idle);
  }
}

PlanCacheUse PlanCache::use() const {
  absl::MutexLock lock(&mutex_);
  PlanCacheUse use = use_;
  use.plans = static_cast<int64_t>(plans_.size());
  use.building = static_cast<int64_t>(building_.size());
  for (const Plan& plan : plans_) use.bytes += static_cast<int64_t>(plan.plan->size_bytes());
  return use;
}

void PlanCache::Build(const PlanSpec& spec) {
  const auto begin = std::chrono::steady_clock::now();
  PlanOr plan = backend_->MakePlan(spec);
  const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - begin;
  std::deque<Callback> waiting;
  Plans surplus;  // freed by this thread, which is the executor's
  {
    absl::MutexLock lock(&mutex_);
    ++(plan.ok() ? use_.builds : use_.failed_builds);
    use_.build_time += time;
    const auto entry = building_.find(spec);
    waiting = std::move(entry->second);
    building_.erase(entry);
    if (plan.ok()) {
      plans_.push_front({.spec = spec, .plan = *plan, .period = period_});
      by_spec_.emplace(spec, plans_.begin());
      MeasureAll();
      TakeSurplus(&surplus);
    }
  }
  for (Callback& callback : waiting) std::move(callback)(plan);
}

std::shared_ptr<FeaturePlan> PlanCache::Hit(const PlanSpec& spec, Plans* surplus) {
  const auto entry = by_spec_.find(spec);
  if (entry == by_spec_.end()) return nullptr;
  plans_.splice(plans_.begin(), plans_, entry->second);
  plans_.front().period = period_;
  if (++use_.hits % kHitsPerSizeCheck == 0) {
    MeasureAll();
  } else {
    Measure(plans_.front());
  }
  TakeSurplus(surplus);
  return plans_.front().plan;
}

void PlanCache::MoveOldest(Plans* to) {
  bytes_ -= plans_.back().bytes;
  by_spec_.erase(plans_.back().spec);
  to->splice(to->begin(), plans_, std::prev(plans_.end()));
}

void PlanCache::TakeSurplus(Plans* surplus) {
  while (plans_.size() > 1 &&
         (plans_.size() > static_cast<size_t>(options_.max_plans) || bytes_ > options_.max_bytes)) {
    MoveOldest(surplus);
    ++use_.evictions;
  }
}

void PlanCache::Free(Plans surplus) {
  if (surplus.empty()) return;
  executor_->Run(ClientId{}, {}, [surplus = std::move(surplus)]() mutable { surplus.clear(); });
}

}  // namespace orbserve
