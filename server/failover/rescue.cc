// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/failover/rescue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "features/errors.h"

namespace orbserve {
namespace {

absl::Status TooLate() {
  return MakeError(ErrorReason::kDeviceLost,
                   "a device of this server was lost and there was no time left to compute this on "
                   "the processor; the server starts anew");
}

// Returns the loss that an item of an answer reports, or OK when none does.
template <typename Items>
absl::Status LossIn(const Items& items) {
  for (const auto& item : items) {
    if (IsDeviceLoss(item.status)) return item.status;
  }
  return absl::OkStatus();
}

// Gives the items that the primary has not computed a status of their own, and returns their
// places.
template <typename Items>
std::vector<size_t> MarkMissing(size_t count, Items* items) {
  std::vector<size_t> missing;
  const size_t answered = items->size();
  items->resize(count);
  for (size_t i = 0; i < count; ++i) {
    if (i < answered && !IsDeviceLoss((*items)[i].status)) continue;
    (*items)[i].status = TooLate();
    missing.push_back(i);
  }
  return missing;
}

// Adds the cost of one more rescued part to the cost of its batch, `all`. The first part's cost
// replaces the primary's.
void Extend(const BatchCost& cost, bool is_first, BatchCost* all) {
  if (is_first) {
    *all = cost;
    return;
  }
  all->busy_begin = std::min(all->busy_begin, cost.busy_begin);
  all->busy_end = std::max(all->busy_end, cost.busy_end);
  all->timings.compute_ns = std::chrono::nanoseconds(all->busy_end - all->busy_begin).count();
}

}  // namespace

bool IsDeviceLoss(const absl::Status& status) {
  return !status.ok() && ReasonOf(status) == ErrorReason::kDeviceLost;
}

Rescue::Rescue(FeatureBackend* primary, FeatureBackend* fallback)
    : primary_(*primary), fallback_(*fallback) {}

template <typename Kind>
uint64_t Rescue::Add(typename Kind::Common common, std::vector<typename Kind::Job> jobs,
                     typename Kind::Done done) {
  auto batch = std::make_unique<Batch<Kind>>();
  batch->common = std::move(common);
  batch->jobs = std::move(jobs);
  batch->done = std::move(done);
  absl::MutexLock lock(&mutex_);
  const uint64_t id = ++last_id_;
  TableOf<Kind>().emplace(id, std::move(batch));
  return id;
}

template <typename Kind>
std::unique_ptr<Rescue::Batch<Kind>> Rescue::Take(uint64_t id) {
  Table<Kind>& table = TableOf<Kind>();
  const auto entry = table.find(id);
  if (entry == table.end()) return nullptr;
  std::unique_ptr<Batch<Kind>> batch = std::move(entry->second);
  table.erase(entry);
  return batch;
}

template <typename Kind>
bool Rescue::Withdraw(uint64_t id) {
  std::unique_ptr<Batch<Kind>> withdrawn;  // freed after the lock
  absl::MutexLock lock(&mutex_);
  Table<Kind>& table = TableOf<Kind>();
  const auto entry = table.find(id);
  if (entry == table.end() || entry->second->is_rescued) return false;
  withdrawn = Take<Kind>(id);
  return true;
}

template <typename Kind>
void Rescue::AnswerBatch(std::unique_ptr<Batch<Kind>> batch) {
  if (batch == nullptr) return;
  auto done = std::move(batch->done);
  auto answer = std::move(batch->answer);
  batch.reset();  // the slots go back before the next frames ask for some
  std::move(done)(std::move(answer));
}

template <typename Kind>
absl::Status Rescue::Done(uint64_t id, typename Kind::Answer answer) {
  const absl::Status loss = LossIn(Kind::Items(answer));
  std::unique_ptr<Batch<Kind>> complete;
  {
    absl::MutexLock lock(&mutex_);
    Table<Kind>& table = TableOf<Kind>();
    const auto entry = table.find(id);
    if (entry == table.end() || entry->second->is_rescued) return absl::OkStatus();
    entry->second->answer = std::move(answer);
    if (!loss.ok()) return loss;
    complete = Take<Kind>(id);
  }
  AnswerBatch(std::move(complete));
  return absl::OkStatus();
}

template <typename Kind>
void Rescue::RescueBatch(uint64_t id) {
  typename Kind::Common common;
  std::vector<typename Kind::Job> jobs;
  std::vector<size_t> missing;
  {
    absl::MutexLock lock(&mutex_);
    Table<Kind>& table = TableOf<Kind>();
    const auto entry = table.find(id);
    if (entry == table.end() || entry->second->is_rescued) return;
    Batch<Kind>& batch = *entry->second;
    batch.is_rescued = true;
    missing = MarkMissing(batch.jobs.size(), &Kind::Items(batch.answer));
    if (has_given_up_) missing.clear();
    common = batch.common;
    jobs = batch.jobs;
  }
  std::vector<RescuePart<typename Kind::Job>> parts;
  if (!missing.empty()) {
    parts = Kind::Divide(primary_, fallback_, common, std::move(jobs), missing);
  }
  std::unique_ptr<Batch<Kind>> complete;
  {
    absl::MutexLock lock(&mutex_);
    Table<Kind>& table = TableOf<Kind>();
    const auto entry = table.find(id);
    if (entry == table.end()) return;  // given up
    entry->second->parts_missing = parts.size();
    if (parts.empty()) complete = Take<Kind>(id);
  }
  AnswerBatch(std::move(complete));
  for (auto& part : parts) {
    Kind::SubmitToFallback(
        fallback_, common, std::move(part.jobs),
        [this, id, places = std::move(part.places)](typename Kind::Answer answer) {
          PartRescued<Kind>(id, places, std::move(answer));
        });
  }
}

template <typename Kind>
void Rescue::PartRescued(uint64_t id, const std::vector<size_t>& places,
                         typename Kind::Answer answer) {
  std::unique_ptr<Batch<Kind>> complete;
  {
    absl::MutexLock lock(&mutex_);
    Table<Kind>& table = TableOf<Kind>();
    const auto entry = table.find(id);
    if (entry == table.end()) return;  // given up
    Batch<Kind>& batch = *entry->second;
    auto& from = Kind::Items(answer);
    auto& to = Kind::Items(batch.answer);
    for (size_t i = 0; i < std::min(places.size(), from.size()); ++i) {
      to[places[i]] = std::move(from[i]);
    }
    Extend(answer.cost, !std::exchange(batch.is_cost_known, true), &batch.answer.cost);
    if (--batch.parts_missing == 0) complete = Take<Kind>(id);
  }
  AnswerBatch(std::move(complete));
}

template <typename Kind>
void Rescue::RescueAllOf() {
  std::vector<uint64_t> ids;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, batch] : TableOf<Kind>()) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  for (const uint64_t id : ids) RescueBatch<Kind>(id);
}

template <typename Kind>
void Rescue::GiveUpAll(Table<Kind>& batches) {
  for (auto& [id, batch] : batches) {
    if (!batch->is_rescued) MarkMissing(batch->jobs.size(), &Kind::Items(batch->answer));
    AnswerBatch(std::move(batch));
  }
}

void Rescue::RescueAll() {
  const auto rescue_each = [this]<typename... Kind>(TablesOf<Kind...>*) {
    (RescueAllOf<Kind>(), ...);
  };
  rescue_each(static_cast<Kinds*>(nullptr));
}

void Rescue::GiveUp() {
  Kinds tables;
  {
    absl::MutexLock lock(&mutex_);
    has_given_up_ = true;
    tables.swap(tables_);
  }
  std::apply([](auto&... table) { (GiveUpAll(table), ...); }, tables);
}

bool Rescue::IsEmpty() const {
  return std::apply([](const auto&... table) { return (table.empty() && ...); }, tables_);
}

void Rescue::WaitUntilEmpty() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &Rescue::IsEmpty));
}

// Every kind, for FailoverBackend.
template uint64_t Rescue::Add<FrameRescue>(FrameRescue::Common, std::vector<FrameJob>,
                                           FrameBatchDone);
template uint64_t Rescue::Add<MatchRescue>(MatchRescue::Common, std::vector<MatchJob>,
                                           MatchBatchDone);
template uint64_t Rescue::Add<TrackRescue>(TrackRescue::Common, std::vector<TrackJob>,
                                           TrackBatchDone);
template bool Rescue::Withdraw<FrameRescue>(uint64_t);
template bool Rescue::Withdraw<MatchRescue>(uint64_t);
template bool Rescue::Withdraw<TrackRescue>(uint64_t);
template absl::Status Rescue::Done<FrameRescue>(uint64_t, FrameBatchAnswer);
template absl::Status Rescue::Done<MatchRescue>(uint64_t, MatchBatchAnswer);
template absl::Status Rescue::Done<TrackRescue>(uint64_t, TrackBatchAnswer);
template void Rescue::RescueBatch<FrameRescue>(uint64_t);
template void Rescue::RescueBatch<MatchRescue>(uint64_t);
template void Rescue::RescueBatch<TrackRescue>(uint64_t);

}  // namespace orbserve
