// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/rescue.h"

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

// Why the items of an answer say that the device is lost; OK when they do not.
template <typename Items>
absl::Status LossIn(const Items& items) {
  for (const auto& item : items) {
    if (IsDeviceLoss(item.status)) return item.status;
  }
  return absl::OkStatus();
}

// Marks what the primary has not computed, and returns where it is.
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

template <typename Table>
typename Table::mapped_type Take(uint64_t id, Table* table) {
  const auto entry = table->find(id);
  if (entry == table->end()) return nullptr;
  auto batch = std::move(entry->second);
  table->erase(entry);
  return batch;
}

template <typename Batch>
void Answer(std::unique_ptr<Batch> batch) {
  auto done = std::move(batch->done);
  auto answer = std::move(batch->answer);
  batch.reset();  // the slots go back before the next frames ask for some
  std::move(done)(std::move(answer));
}

// The cost of a batch, `all`, with that of one more of its rescued frames; the first replaces what
// the primary said.
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

void KeepForEver(std::shared_ptr<const void> object) {
  static absl::Mutex* const mutex = new absl::Mutex;
  static auto* const kept = new std::vector<std::shared_ptr<const void>>;
  absl::MutexLock lock(mutex);
  kept->push_back(std::move(object));
}

RescuablePlan::RescuablePlan(std::shared_ptr<FeaturePlan> primary,
                             std::shared_ptr<FeaturePlan> fallback,
                             std::shared_ptr<const std::atomic<bool>> lost)
    : spec_(primary != nullptr ? primary->spec() : fallback->spec()),
      max_batch_frames_((primary != nullptr ? primary : fallback)->max_batch_frames()),
      lost_(std::move(lost)),
      primary_(std::move(primary)),
      fallback_(std::move(fallback)) {}

RescuablePlan::~RescuablePlan() {
  if (primary_ != nullptr && lost_->load(std::memory_order_acquire)) {
    KeepForEver(std::move(primary_));
  }
}

absl::StatusOr<std::shared_ptr<FeaturePlan>> RescuablePlan::Fallback(FeatureBackend& backend) {
  {
    absl::MutexLock lock(&mutex_);
    if (fallback_ != nullptr) return fallback_;
  }
  // Outside the lock, which size_bytes() takes. If two threads make one, the first to end wins.
  ORBSERVE_ASSIGN_OR_RETURN(std::shared_ptr<FeaturePlan> made, backend.MakePlan(spec_));
  absl::MutexLock lock(&mutex_);
  if (fallback_ == nullptr) fallback_ = std::move(made);
  return fallback_;
}

size_t RescuablePlan::size_bytes() const {
  size_t bytes = 0;
  if (primary_ != nullptr && !lost_->load(std::memory_order_acquire)) {
    bytes += primary_->size_bytes();
  }
  absl::MutexLock lock(&mutex_);
  if (fallback_ != nullptr) bytes += fallback_->size_bytes();
  return bytes;
}

Rescue::Rescue(FeatureBackend* primary, FeatureBackend* fallback)
    : primary_(*primary), fallback_(*fallback) {}

template <typename Batch>
uint64_t Rescue::Add(std::unique_ptr<Batch> batch, Table<Batch>* table) {
  absl::MutexLock lock(&mutex_);
  const uint64_t id = ++last_id_;
  table->emplace(id, std::move(batch));
  return id;
}

uint64_t Rescue::AddFrames(std::shared_ptr<RescuablePlan> plan, std::vector<FrameJob> jobs,
                           FrameBatchDone done) {
  auto batch = std::make_unique<FrameBatch>();
  batch->plan = std::move(plan);
  batch->jobs = std::move(jobs);
  batch->done = std::move(done);
  return Add(std::move(batch), &frames_);
}

uint64_t Rescue::AddMatches(std::vector<MatchJob> jobs, MatchBatchDone done) {
  auto batch = std::make_unique<MatchBatch>();
  batch->jobs = std::move(jobs);
  batch->done = std::move(done);
  return Add(std::move(batch), &matches_);
}

template <typename Batch, typename BatchAnswer>
absl::Status Rescue::Done(uint64_t id, const absl::Status& loss, BatchAnswer answer,
                          Table<Batch>* table) {
  std::unique_ptr<Batch> complete;
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = table->find(id);
    if (entry == table->end() || entry->second->rescued) return absl::OkStatus();
    entry->second->answer = std::move(answer);
    if (!loss.ok()) return loss;
    complete = Take(id, table);
  }
  Answer(std::move(complete));
  return absl::OkStatus();
}

absl::Status Rescue::FramesDone(uint64_t id, FrameBatchAnswer answer) {
  const absl::Status loss = LossIn(answer.frames);
  return Done(id, loss, std::move(answer), &frames_);
}

absl::Status Rescue::MatchesDone(uint64_t id, MatchBatchAnswer answer) {
  const absl::Status loss = LossIn(answer.pairs);
  return Done(id, loss, std::move(answer), &matches_);
}

template <typename Batch>
void Rescue::AnswerOpen(uint64_t id, Table<Batch>* table) {
  std::unique_ptr<Batch> batch;
  {
    absl::MutexLock lock(&mutex_);
    batch = Take(id, table);
  }
  if (batch != nullptr) Answer(std::move(batch));
}

void Rescue::RescueFrames(uint64_t id) {
  std::shared_ptr<RescuablePlan> plan;
  std::vector<FrameJob> jobs;
  std::vector<size_t> missing;
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = frames_.find(id);
    if (entry == frames_.end() || entry->second->rescued) return;
    FrameBatch& batch = *entry->second;
    batch.rescued = true;
    missing = MarkMissing(batch.jobs.size(), &batch.answer.frames);
    batch.missing = missing.size();
    if (!gave_up_) plan = batch.plan;
    jobs = batch.jobs;
  }
  std::shared_ptr<FeaturePlan> fallback_plan;
  if (plan != nullptr) {
    if (auto made = plan->Fallback(fallback_); made.ok()) fallback_plan = *std::move(made);
  }
  if (fallback_plan == nullptr) {
    AnswerOpen(id, &frames_);
    return;
  }
  // One by one: a plan of the fallback may allow smaller batches than the primary's.
  for (const size_t index : missing) {
    std::vector<FrameJob> one;
    one.push_back(std::move(jobs[index]));
    fallback_.Submit(fallback_plan, std::move(one), [this, id, index](FrameBatchAnswer answer) {
      FrameRescued(id, index, std::move(answer));
    });
  }
}

void Rescue::FrameRescued(uint64_t id, size_t index, FrameBatchAnswer answer) {
  std::unique_ptr<FrameBatch> complete;
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = frames_.find(id);
    if (entry == frames_.end()) return;  // given up
    FrameBatch& batch = *entry->second;
    if (!answer.frames.empty()) batch.answer.frames[index] = std::move(answer.frames.front());
    Extend(answer.cost, !std::exchange(batch.rescue_begun, true), &batch.answer.cost);
    if (--batch.missing == 0) complete = Take(id, &frames_);
  }
  if (complete != nullptr) Answer(std::move(complete));
}

void Rescue::RescueMatches(uint64_t id) {
  std::vector<MatchJob> jobs;
  std::vector<size_t> missing;
  bool give_up = false;
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = matches_.find(id);
    if (entry == matches_.end() || entry->second->rescued) return;
    MatchBatch& batch = *entry->second;
    batch.rescued = true;
    missing = MarkMissing(batch.jobs.size(), &batch.answer.pairs);
    give_up = gave_up_;
    jobs = batch.jobs;
  }
  std::vector<MatchJob> movable;
  std::vector<size_t> places;
  for (const size_t index : missing) {
    MatchJob& job = jobs[index];
    if (give_up || !MoveToFallback(&job.query) || !MoveToFallback(&job.train)) continue;
    movable.push_back(std::move(job));
    places.push_back(index);
  }
  if (movable.empty()) {
    AnswerOpen(id, &matches_);
    return;
  }
  fallback_.SubmitMatches(std::move(movable),
                          [this, id, places = std::move(places)](MatchBatchAnswer answer) {
                            MatchesRescued(id, places, std::move(answer));
                          });
}

void Rescue::MatchesRescued(uint64_t id, const std::vector<size_t>& places,
                            MatchBatchAnswer answer) {
  std::unique_ptr<MatchBatch> batch;
  {
    absl::MutexLock lock(&mutex_);
    batch = Take(id, &matches_);
  }
  if (batch == nullptr) return;  // given up
  for (size_t i = 0; i < std::min(places.size(), answer.pairs.size()); ++i) {
    batch->answer.pairs[places[i]] = std::move(answer.pairs[i]);
  }
  batch->answer.cost = answer.cost;
  Answer(std::move(batch));
}

bool Rescue::MoveToFallback(std::shared_ptr<const FrameState>* state) {
  if (*state == nullptr) return false;
  auto features = primary_.ExportState(**state);
  if (!features.ok()) return fallback_.ExportState(**state).ok();  // there already
  auto moved = fallback_.ImportState(*std::move(features));
  if (!moved.ok()) return false;
  *state = *std::move(moved);
  return true;
}

void Rescue::RescueAll() {
  std::vector<uint64_t> frames;
  std::vector<uint64_t> matches;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, batch] : frames_) frames.push_back(id);
    for (const auto& [id, batch] : matches_) matches.push_back(id);
  }
  std::sort(frames.begin(), frames.end());
  std::sort(matches.begin(), matches.end());
  for (const uint64_t id : matches) RescueMatches(id);
  for (const uint64_t id : frames) RescueFrames(id);
}

void Rescue::GiveUp() {
  Table<FrameBatch> frames;
  Table<MatchBatch> matches;
  {
    absl::MutexLock lock(&mutex_);
    gave_up_ = true;
    frames.swap(frames_);
    matches.swap(matches_);
  }
  for (auto& [id, batch] : frames) {
    if (!batch->rescued) MarkMissing(batch->jobs.size(), &batch->answer.frames);
    Answer(std::move(batch));
  }
  for (auto& [id, batch] : matches) {
    if (!batch->rescued) MarkMissing(batch->jobs.size(), &batch->answer.pairs);
    Answer(std::move(batch));
  }
}

void Rescue::WaitUntilEmpty() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &Rescue::IsEmpty));
}

}  // namespace orbserve
