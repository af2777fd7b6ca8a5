// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/batcher.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <new>
#include <utility>

#include "features/errors.h"
#include "features/work.h"

namespace orbserve {
namespace {

// Part of the time of a batch that a quick one takes at most.
constexpr double kQuickPart = 0.125;

constexpr std::chrono::seconds kHostDecodingTime{10};
constexpr size_t kMaxHostDecodingOwners = 1024;

}  // namespace

Batcher::Batcher(FeatureBackend* backend, Clock* clock, ServingObserver* observer,
                 const BatcherOptions& options)
    : WorkQueue(WorkKind::kFrames, clock, observer, options.queue),
      backend_(backend),
      options_(options) {}

void Batcher::Ready(Ticket ticket, std::shared_ptr<FeaturePlan> plan, FrameJob job,
                    std::shared_ptr<TaskMemory> memory, std::chrono::nanoseconds decode_time) {
  Work work;
  std::shared_ptr<FrameInput> read;  // freed outside the lock
  {
    absl::MutexLock lock(&mutex_);
    FrameRecord* const frame = FindWaiting(ticket);
    if (frame == nullptr) return;  // answered in the meantime
    PlanOfFrames& queue = plans_[plan.get()];
    if (queue.plan == nullptr) queue.plan = std::move(plan);
    const SteadyTime now = clock_->Now();
    read = std::move(frame->input);
    frame->outcome.times.Spend(FramePhase::kDecode, decode_time, now);
    frame->outcome.times.Enter(FramePhase::kQueue, now);
    frame->plan = &queue;
    frame->job = std::move(job);
    frame->memory = std::move(memory);
    // The message is freed, and the memory has room of its own.
    if (frame->memory != nullptr) frame->queue_bytes.Set(0);
    frame->job.cancelled = frame->cancelled;
    frame->ready_at = now;
    frame->work = FrameWork(queue.plan->spec(), frame->job.parameters);
    queue.work += frame->work;
    frame->place = queue.frames.Push(frame->account, frame);
    frame->age = queue.by_age.insert(queue.by_age.end(), frame);
    work = TakeWork(now);
  }
  read.reset();
  Do(std::move(work));
}

void Batcher::Enter(Ticket ticket, FramePhase phase) {
  absl::MutexLock lock(&mutex_);
  FrameRecord* const frame = FindWaiting(ticket);
  if (frame != nullptr) frame->outcome.times.Enter(phase, clock_->Now());
}

void Batcher::Dequeue(FrameRecord& frame) {
  if (frame.plan == nullptr) return;  // is being prepared
  PlanOfFrames& queue = *frame.plan;
  LeavePlan(frame);
  if (queue.frames.empty()) plans_.erase(queue.plan.get());
}

void Batcher::LeavePlan(FrameRecord& frame) {
  PlanOfFrames& queue = *std::exchange(frame.plan, nullptr);
  queue.frames.Remove(frame.place);
  queue.by_age.erase(frame.age);
  queue.work -= frame.work;
}

double Batcher::ExpectedNs(const FeaturePlan& plan, double work) const {
  for (const double rate : {plan.rate().value(), rate_.value()}) {
    if (rate > 0.0) return work * rate;
  }
  return work;
}

bool Batcher::MayLaunch(const PlanOfFrames& queue, SteadyTime now) const {
  const int full = std::min(options_.max_batch_frames, queue.plan->max_batch_frames());
  return is_draining() || queue.frames.size() >= static_cast<size_t>(full) ||
         ExpectedNs(*queue.plan, queue.work) >= MaxBatchNs() ||
         now >= queue.by_age.front()->ready_at + options_.max_delay;
}

template <typename IsCandidate>
PlanOfFrames* Batcher::NextPlan(SteadyTime now, const IsCandidate& is_candidate) {
  PlanOfFrames* next = nullptr;
  const auto is_before = [](const PlanOfFrames& a, const PlanOfFrames& b) {
    const FairShares::Account& of_a = *a.frames.front_account();
    const FairShares::Account& of_b = *b.frames.front_account();
    if (&of_a != &of_b) return Before(of_a, of_b);
    return a.by_age.front()->ready_at < b.by_age.front()->ready_at;
  };
  for (auto& [plan, queue] : plans_) {
    if (!is_candidate(*plan) || !MayLaunch(queue, now)) continue;
    if (next == nullptr || is_before(queue, *next)) next = &queue;
  }
  return next;
}

std::optional<FrameBatch> Batcher::NextBatch(SteadyTime now) {
  FrameBatch batch;
  double most_ns = MaxBatchNs();
  PlanOfFrames* next = NextPlan(now, [this](const FeaturePlan& plan) {
    mutex_.AssertHeld();
    return HasPlace(plan);
  });
  if (next == nullptr && quick_in_flight_ == 0) {
    most_ns *= kQuickPart;
    next = NextPlan(now, [](const FeaturePlan& plan) { return !plan.is_large(); });
    batch.is_quick = next != nullptr && !plans_in_flight_.contains(next->plan.get()) &&
                     ExpectedNs(*next->plan, next->frames.front()->work) <= most_ns;
    if (!batch.is_quick) return std::nullopt;
  }
  if (next == nullptr) return std::nullopt;

  batch.plan = next->plan;
  const int most = std::min({options_.max_batch_frames, batch.plan->max_batch_frames(),
                             static_cast<int>(next->frames.size())});
  batch.items.reserve(static_cast<size_t>(most));
  for (int i = 0; i < most; ++i) {
    FrameRecord& frame = *next->frames.front();
    if (i > 0 && ExpectedNs(*batch.plan, batch.work + frame.work) > most_ns) break;
    batch.work += frame.work;
    LeavePlan(frame);
    frame.outcome.times.Enter(FramePhase::kCompute, now);
    batch.items.push_back(Launch(frame, now, std::llround(ExpectedNs(*batch.plan, frame.work))));
  }
  if (batch.plan->is_large()) ++large_in_flight_;
  if (batch.is_quick) ++quick_in_flight_;
  ++plans_in_flight_[batch.plan.get()];
  if (next->frames.empty()) plans_.erase(batch.plan.get());
  return batch;
}

void Batcher::FreePlace(const FrameBatch& batch) {
  if (batch.plan->is_large()) --large_in_flight_;
  if (batch.is_quick) --quick_in_flight_;
  const auto in_flight = plans_in_flight_.find(batch.plan.get());
  if (--in_flight->second == 0) plans_in_flight_.erase(in_flight);
}

SteadyTime Batcher::NextBatchTime() const {
  SteadyTime next = kNever;
  for (const auto& [plan, queue] : plans_) {
    // A busy backend is asked again at the end of a batch, not by the alarm.
    if (!HasPlace(*plan)) continue;
    next = std::min(next, queue.by_age.front()->ready_at + options_.max_delay);
  }
  return next;
}

void Batcher::Send(FrameBatch& batch) {
  std::vector<FrameJob> jobs;
  jobs.reserve(batch.items.size());
  for (const auto& frame : batch.items) jobs.push_back(std::move(frame->job));
  std::shared_ptr<FeaturePlan> plan = batch.plan;
  Hand(batch, &Batcher::OnBatchDone, [&](FrameBatchDone done) {
    backend_->Submit(std::move(plan), std::move(jobs), std::move(done));
  });
}

bool Batcher::ShouldDecodeOnHost(const std::string& owner) const {
  absl::MutexLock lock(&mutex_);
  if (host_decoding_.empty()) return false;
  if (host_decoding_.size() >= kMaxHostDecodingOwners) return true;
  const auto entry = host_decoding_.find(owner);
  return entry != host_decoding_.end() && clock_->Now() < entry->second;
}

void Batcher::NoteHostDecoding(const FrameBatch& batch, const FrameBatchAnswer& answer) {
  if (std::none_of(answer.frames.begin(), answer.frames.end(),
                   [](const FrameAnswer& frame) { return frame.decoded_on_host; })) {
    return;
  }
  absl::MutexLock lock(&mutex_);
  const SteadyTime now = clock_->Now();
  absl::erase_if(host_decoding_, [now](const auto& entry) { return entry.second <= now; });
  try {
    for (size_t i = 0; i < batch.items.size(); ++i) {
      if (!answer.frames[i].decoded_on_host) continue;
      if (host_decoding_.size() >= kMaxHostDecodingOwners) break;
      host_decoding_[batch.items[i]->client.owner] = now + kHostDecodingTime;
    }
  } catch (const std::bad_alloc&) {  // the next such file is noted
  }
}

void Batcher::OnBatchDone(FrameBatch batch, FrameBatchAnswer answer) {
  FillUp(answer.frames, batch.items.size());
  double done_work = 0.0;  // a frame that failed or was cancelled took less
  for (size_t i = 0; i < batch.items.size(); ++i) {
    if (answer.frames[i].status.ok()) done_work += batch.items[i]->work;
  }
  const int64_t taken_ns = TakenNs(answer.cost);
  for (WorkRate* const rate : {&batch.plan->rate(), &rate_}) {
    rate->Note(done_work, static_cast<double>(taken_ns));
  }
  NoteHostDecoding(batch, answer);
  BatchReturned(batch);
  const int batch_frames = static_cast<int>(batch.items.size());
  const std::optional<double> joules =
      observer_->OnBatchFinished(WorkKind::kFrames, batch_frames, answer.cost);
  CloseBatch(batch, taken_ns);
  for (size_t i = 0; i < batch.items.size(); ++i) {
    FrameRecord& frame = *batch.items[i];
    frame.memory.reset();
    observer_->OnStagesTimed(answer.cost, answer.frames[i].stages);
    if (frame.is_answered) continue;
    FrameOutcome& outcome = frame.outcome;
    outcome.cost = answer.cost;
    EndCompute(outcome);
    outcome.batch_frames = batch_frames;
    if (joules.has_value()) outcome.energy_joules = *joules / batch_frames;
    outcome.stages = answer.frames[i].stages;
    outcome.status =
        frame.is_late ? LateStatus(WorkKind::kFrames) : std::move(answer.frames[i].status);
    if (outcome.status.ok()) {
      outcome.features = std::move(answer.frames[i].features);
      outcome.state = std::move(answer.frames[i].state);
    }
    observer_->OnFrameComputed(frame.client, outcome);
    Answer(frame);
  }
  Leave();
}

void Batcher::AnswerFailed(FrameRecord& frame, const absl::Status& status) {
  frame.outcome.status = status;
  if (!frame.is_answered) {  // in no batch
    frame.input.reset();
    frame.job = {};
    frame.memory.reset();
  }
  Answer(frame);
}

void Batcher::EndCompute(FrameOutcome& outcome) const {
  const SteadyTime now = clock_->Now();
  FrameTimes& times = outcome.times;
  times.backend = outcome.cost.backend;
  times.device = outcome.cost.device;
  const BatchTimings& batch = outcome.cost.timings;
  times.Spend(FramePhase::kUpload, std::chrono::nanoseconds(batch.upload_ns), now);
  times.Spend(FramePhase::kCompute, std::chrono::nanoseconds(batch.compute_ns), now);
  times.Spend(FramePhase::kDownload, std::chrono::nanoseconds(batch.download_ns), now);
  // The rest: other batches were first on the device, or the answers of this one.
  times.Spend(FramePhase::kQueue, std::chrono::nanoseconds::max(), now);
  times.Enter(FramePhase::kEncode, now);  // unless the owner has other plans
}

}  // namespace orbserve
