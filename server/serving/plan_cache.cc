// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/plan_cache.h"

#include <algorithm>
#include <utility>

namespace orbserve {

PlanCache::PlanCache(FeatureBackend* backend, Executor* executor, const PlanCacheOptions& options)
    : backend_(backend), executor_(executor), options_(options) {}

std::shared_ptr<FeaturePlan> PlanCache::Find(const PlanSpec& spec) {
  absl::MutexLock lock(&mutex_);
  const auto entry = by_spec_.find(spec);
  if (entry == by_spec_.end()) return nullptr;
  plans_.splice(plans_.begin(), plans_, entry->second);
  return entry->second->plan;
}

void PlanCache::Get(const PlanSpec& spec, absl::string_view client, Callback callback) {
  std::shared_ptr<FeaturePlan> plan;
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = by_spec_.find(spec);
    if (entry != by_spec_.end()) {
      plans_.splice(plans_.begin(), plans_, entry->second);
      plan = entry->second->plan;
    } else {
      std::vector<Callback>& waiting = building_[spec];
      waiting.push_back(std::move(callback));
      if (waiting.size() > 1) return;  // is being built
    }
  }
  if (plan != nullptr) {
    std::move(callback)(std::move(plan));
    return;
  }
  executor_->Run(client, [this, spec] { Build(spec); });
}

int PlanCache::plan_count() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(plans_.size());
}

void PlanCache::Build(const PlanSpec& spec) {
  PlanOr plan = backend_->MakePlan(spec);
  std::vector<Callback> waiting;
  std::list<Plan> surplus;
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = building_.find(spec);
    waiting = std::move(entry->second);
    building_.erase(entry);
    if (plan.ok()) {
      plans_.push_front({spec, *plan});
      by_spec_.emplace(spec, plans_.begin());
      surplus = TakeSurplus();
    }
  }
  for (Callback& callback : waiting) std::move(callback)(plan);
}

std::list<PlanCache::Plan> PlanCache::TakeSurplus() {
  std::list<Plan> surplus;
  // A plan's size changes while it works, so it is asked for each time.
  size_t bytes = 0;
  for (const Plan& plan : plans_) bytes += plan.plan->size_bytes();
  while (plans_.size() > 1 &&
         (plans_.size() > static_cast<size_t>(options_.max_plans) || bytes > options_.max_bytes)) {
    const Plan& oldest = plans_.back();
    bytes -= std::min(bytes, oldest.plan->size_bytes());
    by_spec_.erase(oldest.spec);
    surplus.splice(surplus.begin(), plans_, std::prev(plans_.end()));
  }
  return surplus;
}

}  // namespace orbserve
