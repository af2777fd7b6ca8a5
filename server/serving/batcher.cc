// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/batcher.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "features/errors.h"

namespace orbserve {
namespace {

// Says whether a frame that came back with this status, but after its deadline, is late.
bool MayBeLate(const absl::Status& status) {
  return status.ok() || ReasonOf(status) == ErrorReason::kCancelled;
}

}  // namespace

Batcher::Batcher(FeatureBackend* backend, Clock* clock, ServingObserver* observer,
                 const BatcherOptions& options)
    : WorkQueue(clock, observer,
                {.kind = WorkKind::kFrames,
                 .max_items = options.max_frames,
                 .max_items_per_client = options.max_frames_per_client,
                 .max_bytes = options.max_bytes}),
      backend_(backend),
      options_(options) {}

Batcher::~Batcher() { Shut(); }

absl::StatusOr<Batcher::Ticket> Batcher::Admit(FrameAdmission admission) {
  observer_->OnFrameReceived(admission.image_bytes);
  absl::Status refusal;
  Ticket ticket = 0;
  Work work;
  {
    absl::MutexLock lock(&mutex_);
    refusal = Reserve(admission.client, admission.deadline, admission.message_bytes);
    if (refusal.ok()) {
      auto frame = std::make_unique<QueuedFrame>();
      frame->client = std::move(admission.client);
      frame->deadline = admission.deadline;
      frame->bytes = admission.message_bytes;
      frame->done = std::move(admission.done);
      frame->reports_end = admission.reports_end;
      ticket = Enter(std::move(frame)).ticket;
      if (AlarmIsLate()) work = TakeWork(clock_->Now());
    }
  }
  if (!refusal.ok()) {
    if (admission.reports_end) observer_->OnFrameFinished(refusal, 0);
    std::move(admission.done)({.status = refusal});
    return refusal;
  }
  Do(std::move(work));
  return ticket;
}

void Batcher::Ready(Ticket ticket, std::shared_ptr<FeaturePlan> plan, FrameJob job) {
  Work work;
  {
    absl::MutexLock lock(&mutex_);
    QueuedFrame* const frame = FindWaiting(ticket);
    if (frame == nullptr) return;  // answered in the meantime
    std::unique_ptr<QueuedFrame::Plan>& queue = plans_[plan.get()];
    if (queue == nullptr) {
      queue = std::make_unique<QueuedFrame::Plan>();
      queue->plan = std::move(plan);
    }
    const SteadyTime now = clock_->Now();
    frame->plan = queue.get();
    frame->job = std::move(job);
    frame->job.cancelled = frame->cancelled;
    frame->ready_at = now;
    frame->place = queue->frames.Push(frame->client, frame);
    frame->age = queue->by_age.insert(queue->by_age.end(), frame);
    work = TakeWork(now);
  }
  Do(std::move(work));
}

void Batcher::Dequeue(QueuedFrame& frame) {
  if (frame.plan == nullptr) return;  // is being prepared
  QueuedFrame::Plan& queue = *std::exchange(frame.plan, nullptr);
  queue.frames.Remove(frame.place);
  queue.by_age.erase(frame.age);
  if (queue.frames.empty()) plans_.erase(queue.plan.get());
}

bool Batcher::MayLaunch(const QueuedFrame::Plan& queue, SteadyTime now) const {
  const int full = std::min(options_.max_batch_frames, queue.plan->max_batch_frames());
  return is_draining() || queue.frames.size() >= static_cast<size_t>(full) ||
         now >= queue.by_age.front()->ready_at + options_.max_delay;
}

std::optional<QueuedFrameBatch> Batcher::NextBatch(SteadyTime now) {
  if (!HasPlace()) return std::nullopt;
  QueuedFrame::Plan* next = nullptr;
  std::pair<uint64_t, SteadyTime> next_rank;
  for (const auto& [plan, queue] : plans_) {
    if (!MayLaunch(*queue, now)) continue;
    const std::pair<uint64_t, SteadyTime> rank(LastTurn(queue->frames.front_client()),
                                               queue->by_age.front()->ready_at);
    if (next == nullptr || rank < next_rank) {
      next = queue.get();
      next_rank = rank;
    }
  }
  if (next == nullptr) return std::nullopt;

  QueuedFrameBatch batch;
  batch.plan = next->plan;
  const int count = std::min({options_.max_batch_frames, batch.plan->max_batch_frames(),
                              static_cast<int>(next->frames.size())});
  batch.items.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    QueuedFrame& frame = *next->frames.Pop();
    next->by_age.erase(frame.age);
    frame.plan = nullptr;
    batch.items.push_back(Launch(frame, now));
  }
  if (next->frames.empty()) plans_.erase(batch.plan.get());
  return batch;
}

SteadyTime Batcher::NextBatchTime() const {
  // A busy backend is asked again at the end of a batch, not by the alarm.
  if (!HasPlace()) return kNever;
  SteadyTime next = kNever;
  for (const auto& [plan, queue] : plans_) {
    next = std::min(next, queue->by_age.front()->ready_at + options_.max_delay);
  }
  return next;
}

void Batcher::Send(QueuedFrameBatch batch) {
  std::vector<FrameJob> jobs;
  jobs.reserve(batch.items.size());
  for (const auto& frame : batch.items) jobs.push_back(std::move(frame->job));
  std::shared_ptr<FeaturePlan> plan = std::move(batch.plan);
  backend_->Submit(std::move(plan), std::move(jobs),
                   [this, batch = std::move(batch)](FrameBatchAnswer answer) mutable {
                     OnBatchDone(std::move(batch), std::move(answer));
                   });
}

void Batcher::OnBatchDone(QueuedFrameBatch batch, FrameBatchAnswer answer) {
  const SteadyTime now = BatchReturned(batch);
  const int batch_frames = static_cast<int>(batch.items.size());
  const std::optional<double> joules =
      observer_->OnBatchFinished(WorkKind::kFrames, batch_frames, answer.cost);
  std::vector<FrameOutcome> outcomes(batch.items.size());
  for (size_t i = 0; i < batch.items.size(); ++i) {
    const QueuedFrame& frame = *batch.items[i];
    FrameOutcome& outcome = outcomes[i];
    outcome.cost = answer.cost;
    outcome.batch_frames = batch_frames;
    outcome.queued = frame.queued;
    if (joules.has_value()) outcome.energy_joules = *joules / batch_frames;
    if (i < answer.frames.size()) outcome.stages = answer.frames[i].stages;
    observer_->OnItemComputed(WorkKind::kFrames, outcome.queued, answer.cost, outcome.stages);
    if (i >= answer.frames.size()) {
      outcome.status = MakeError(ErrorReason::kInternal, "the backend answered too few frames");
    } else if (now >= frame.deadline && MayBeLate(answer.frames[i].status)) {
      outcome.status = LateStatus(WorkKind::kFrames);
    } else if (!answer.frames[i].status.ok()) {
      outcome.status = std::move(answer.frames[i].status);
    } else {
      outcome.features = std::move(answer.frames[i].features);
      outcome.state = std::move(answer.frames[i].state);
    }
  }
  CloseBatch(batch, [&](size_t i) -> const absl::Status& { return outcomes[i].status; });
  for (size_t i = 0; i < batch.items.size(); ++i) Answer(*batch.items[i], std::move(outcomes[i]));
  Leave();
}

void Batcher::AnswerUnlaunched(QueuedFrame& frame, const absl::Status& status) {
  Answer(frame, {.status = status});
}

void Batcher::Answer(QueuedFrame& frame, FrameOutcome outcome) {
  if (frame.reports_end) {
    observer_->OnFrameFinished(outcome.status,
                               outcome.features == nullptr ? 0 : outcome.features->count());
  }
  std::move(frame.done)(std::move(outcome));
}

}  // namespace orbserve
