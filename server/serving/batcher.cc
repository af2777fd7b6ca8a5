// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/batcher.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace orbserve {

struct Batcher::Frame {
  Ticket ticket = 0;
  std::string client;
  SteadyTime deadline = kNever;
  int64_t message_bytes = 0;
  FrameDone done;
  std::shared_ptr<std::atomic<bool>> cancelled;

  // From Ready() on.
  PlanQueue* queue = nullptr;
  FrameJob job;
  SteadyTime ready_at;
  FairQueue<Frame*>::Handle place;
  std::list<Frame*>::iterator age;

  // From the launch on.
  std::chrono::nanoseconds queued{};
};

struct Batcher::PlanQueue {
  std::shared_ptr<FeaturePlan> plan;
  FairQueue<Frame*> frames;
  std::list<Frame*> by_age;  // oldest first
};

struct Batcher::Launch {
  std::shared_ptr<FeaturePlan> plan;
  std::vector<std::unique_ptr<Frame>> frames;
};

struct Batcher::Work {
  std::vector<std::unique_ptr<Frame>> expired;
  std::vector<Launch> launches;
};

namespace {

absl::Status Late() {
  return MakeError(ErrorReason::kDeadlineExceeded, "the frame's deadline passed before its answer");
}

absl::Status Cancelled() { return MakeError(ErrorReason::kCancelled, "the client cancelled"); }

absl::Status Draining() {
  return MakeError(ErrorReason::kDraining, "this server is about to stop; send to another one");
}

// Whether a frame that came back with this status, but after its deadline, is late: one that failed
// by itself would have failed in time too.
bool MayBeLate(const absl::Status& status) {
  return status.ok() || ReasonOf(status) == ErrorReason::kCancelled;
}

}  // namespace

Batcher::Batcher(FeatureBackend* backend, Clock* clock, ServingObserver* observer,
                 const BatcherOptions& options)
    : backend_(backend), clock_(clock), observer_(observer), options_(options) {
  alarm_ = clock_->MakeAlarm([this] { OnAlarm(); });
}

Batcher::~Batcher() {
  {
    absl::MutexLock lock(&mutex_);
    draining_ = true;
    closed_ = true;
  }
  FailWaiting(Draining());
  {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Batcher::IsIdle));
  }
  alarm_.reset();
}

absl::StatusOr<Batcher::Ticket> Batcher::Admit(FrameAdmission admission) {
  observer_->OnFrameReceived(admission.image_bytes);
  absl::Status refusal;
  Ticket ticket = 0;
  bool wake_earlier = false;
  {
    absl::MutexLock lock(&mutex_);
    ++counts_.received;
    if (draining_) {
      refusal = Draining();
    } else if (clock_->Now() >= admission.deadline) {
      refusal = Late();
    } else if (waiting_.size() >= static_cast<size_t>(options_.max_frames) ||
               (!waiting_.empty() &&
                waiting_bytes_ + admission.message_bytes > options_.max_bytes)) {
      refusal = MakeError(ErrorReason::kQueueFull,
                          absl::StrCat("the queue is full: ", waiting_.size(), " frames with ",
                                       waiting_bytes_, " bytes wait; at most ", options_.max_frames,
                                       " frames and ", options_.max_bytes, " bytes may"));
    } else if (Client& client = clients_[admission.client];
               client.waiting >= options_.max_frames_per_client) {
      refusal =
          MakeError(ErrorReason::kQuotaExceeded,
                    absl::StrCat("this client has ", client.waiting, " frames waiting; at most ",
                                 options_.max_frames_per_client, " may"));
    } else {
      ticket = next_ticket_++;
      if (client.open == 0) client.last_turn = next_turn_++;  // after those who wait already
      ++client.waiting;
      ++client.open;
      ++open_frames_;
      waiting_bytes_ += admission.message_bytes;
      auto frame = std::make_unique<Frame>();
      frame->ticket = ticket;
      frame->client = std::move(admission.client);
      frame->deadline = admission.deadline;
      frame->message_bytes = admission.message_bytes;
      frame->done = std::move(admission.done);
      frame->cancelled = std::make_shared<std::atomic<bool>>(false);
      if (frame->deadline != kNever) {
        wake_earlier = deadlines_.empty() || frame->deadline < deadlines_.begin()->first;
        deadlines_.insert({frame->deadline, ticket});
      }
      waiting_.emplace(ticket, std::move(frame));
    }
    if (!refusal.ok()) Count(refusal);
  }
  if (!refusal.ok()) {
    observer_->OnFrameFinished(refusal, 0);
    std::move(admission.done)({.status = refusal});
    return refusal;
  }
  observer_->OnQueueChanged(WorkKind::kFrames, 1);
  if (wake_earlier) Pump();
  return ticket;
}

void Batcher::Ready(Ticket ticket, std::shared_ptr<FeaturePlan> plan, FrameJob job) {
  Work work;
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = waiting_.find(ticket);
    if (entry == waiting_.end()) return;  // answered in the meantime
    Frame& frame = *entry->second;
    std::unique_ptr<PlanQueue>& queue = plans_[plan.get()];
    if (queue == nullptr) {
      queue = std::make_unique<PlanQueue>();
      queue->plan = std::move(plan);
    }
    frame.queue = queue.get();
    frame.job = std::move(job);
    frame.job.cancelled = frame.cancelled;
    frame.ready_at = clock_->Now();
    frame.place = queue->frames.Push(frame.client, &frame);
    frame.age = queue->by_age.insert(queue->by_age.end(), &frame);
    work = TakeWork();
  }
  Do(std::move(work));
}

void Batcher::Fail(Ticket ticket, absl::Status status) {
  std::unique_ptr<Frame> frame;
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = waiting_.find(ticket);
    if (entry == waiting_.end()) return;
    frame = Withdraw(*entry->second);
  }
  FinishUnlaunched(std::move(frame), std::move(status));
}

void Batcher::Cancel(Ticket ticket) {
  std::unique_ptr<Frame> frame;
  {
    absl::MutexLock lock(&mutex_);
    const auto launched = launched_.find(ticket);
    if (launched != launched_.end()) launched->second->store(true, std::memory_order_relaxed);
    const auto entry = waiting_.find(ticket);
    if (entry == waiting_.end()) return;
    frame = Withdraw(*entry->second);
  }
  // A call whose deadline has passed is cancelled by gRPC, perhaps before the alarm comes.
  const bool is_late = clock_->Now() >= frame->deadline;
  FinishUnlaunched(std::move(frame), is_late ? Late() : Cancelled());
}

void Batcher::BeginDrain() {
  {
    absl::MutexLock lock(&mutex_);
    draining_ = true;
  }
  Pump();
}

void Batcher::FailWaiting(const absl::Status& status) {
  std::vector<std::unique_ptr<Frame>> left;
  {
    absl::MutexLock lock(&mutex_);
    while (!waiting_.empty()) left.push_back(Withdraw(*waiting_.begin()->second));
  }
  for (auto& frame : left) FinishUnlaunched(std::move(frame), status);
}

int Batcher::open_frames() const {
  absl::MutexLock lock(&mutex_);
  return open_frames_;
}

Batcher::Counts Batcher::counts() const {
  absl::MutexLock lock(&mutex_);
  return counts_;
}

QueueUse Batcher::use() const {
  absl::MutexLock lock(&mutex_);
  return {.items = static_cast<int64_t>(waiting_.size()),
          .bytes = waiting_bytes_,
          .max_items = options_.max_frames,
          .max_bytes = options_.max_bytes};
}

void Batcher::Count(const absl::Status& status) {
  if (status.ok()) {
    ++counts_.ok;
  } else {
    ++counts_.failed[static_cast<size_t>(ReasonOf(status))];
  }
}

void Batcher::Close(const Frame& frame, const absl::Status& status) {
  Count(status);
  --open_frames_;
  launched_.erase(frame.ticket);
  const auto client = clients_.find(frame.client);
  if (--client->second.open == 0) clients_.erase(client);
}

void Batcher::Answer(Frame& frame, FrameOutcome outcome) {
  observer_->OnFrameFinished(outcome.status,
                             outcome.features == nullptr ? 0 : outcome.features->count());
  std::move(frame.done)(std::move(outcome));
}

void Batcher::FinishUnlaunched(std::unique_ptr<Frame> frame, absl::Status status) {
  observer_->OnQueueChanged(WorkKind::kFrames, -1);
  {
    absl::MutexLock lock(&mutex_);
    Close(*frame, status);
  }
  Answer(*frame, {.status = std::move(status)});
}

std::unique_ptr<Batcher::Frame> Batcher::Withdraw(Frame& frame) {
  if (frame.queue != nullptr) {
    PlanQueue& queue = *frame.queue;
    queue.frames.Remove(frame.place);
    queue.by_age.erase(frame.age);
    frame.queue = nullptr;
    if (queue.frames.empty()) plans_.erase(queue.plan.get());
  }
  if (frame.deadline != kNever) deadlines_.erase({frame.deadline, frame.ticket});
  waiting_bytes_ -= frame.message_bytes;
  --clients_.at(frame.client).waiting;
  const auto entry = waiting_.find(frame.ticket);
  std::unique_ptr<Frame> owned = std::move(entry->second);
  waiting_.erase(entry);
  return owned;
}

bool Batcher::MayLaunch(const PlanQueue& queue, SteadyTime now) const {
  const int full = std::min(options_.max_batch_frames, queue.plan->max_batch_frames());
  return draining_ || queue.frames.size() >= static_cast<size_t>(full) ||
         now >= queue.by_age.front()->ready_at + options_.max_delay;
}

std::vector<Batcher::Launch> Batcher::FormBatches(SteadyTime now) {
  std::vector<Launch> launches;
  while (!closed_ && batches_in_flight_ < options_.max_batches_in_flight) {
    PlanQueue* next = nullptr;
    std::pair<uint64_t, SteadyTime> next_rank;
    for (const auto& [plan, queue] : plans_) {
      if (!MayLaunch(*queue, now)) continue;
      const std::pair<uint64_t, SteadyTime> rank(
          clients_.at(queue->frames.front_client()).last_turn, queue->by_age.front()->ready_at);
      if (next == nullptr || rank < next_rank) {
        next = queue.get();
        next_rank = rank;
      }
    }
    if (next == nullptr) break;
    launches.push_back(FormBatch(*next, now));
    ++batches_in_flight_;
  }
  return launches;
}

Batcher::Launch Batcher::FormBatch(PlanQueue& queue, SteadyTime now) {
  Launch launch;
  launch.plan = queue.plan;
  const int count = std::min({options_.max_batch_frames, launch.plan->max_batch_frames(),
                              static_cast<int>(queue.frames.size())});
  launch.frames.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    Frame& frame = *queue.frames.Pop();
    queue.by_age.erase(frame.age);
    frame.queue = nullptr;  // out of its queue already
    frame.queued = now - frame.ready_at;
    clients_.at(frame.client).last_turn = next_turn_++;
    launched_.emplace(frame.ticket, frame.cancelled);
    launch.frames.push_back(Withdraw(frame));
  }
  if (queue.frames.empty()) plans_.erase(launch.plan.get());
  return launch;
}

std::vector<std::unique_ptr<Batcher::Frame>> Batcher::TakeExpired(SteadyTime now) {
  std::vector<std::unique_ptr<Frame>> expired;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    expired.push_back(Withdraw(*waiting_.at(deadlines_.begin()->second)));
  }
  return expired;
}

SteadyTime Batcher::NextAlarm() const {
  SteadyTime next = deadlines_.empty() ? kNever : deadlines_.begin()->first;
  // A backend that is busy is asked again at the end of a batch, not by the alarm.
  if (batches_in_flight_ < options_.max_batches_in_flight) {
    for (const auto& [plan, queue] : plans_) {
      next = std::min(next, queue->by_age.front()->ready_at + options_.max_delay);
    }
  }
  return next;
}

void Batcher::OnAlarm() { Pump(); }

void Batcher::Pump() {
  Work work;
  {
    absl::MutexLock lock(&mutex_);
    work = TakeWork();
  }
  Do(std::move(work));
}

Batcher::Work Batcher::TakeWork() {
  Work work;
  const SteadyTime now = clock_->Now();
  work.expired = TakeExpired(now);
  work.launches = FormBatches(now);
  // Only arms a timer: no callback runs inside, and the order of two pumps' settings is kept.
  alarm_->Set(NextAlarm());
  if (!work.expired.empty() || !work.launches.empty()) ++callers_inside_;
  return work;
}

void Batcher::Do(Work work) {
  // Most frames of a busy server only join their queue.
  if (work.expired.empty() && work.launches.empty()) return;
  for (Launch& launch : work.launches) {
    std::vector<FrameJob> jobs;
    jobs.reserve(launch.frames.size());
    observer_->OnQueueChanged(WorkKind::kFrames, -static_cast<int>(launch.frames.size()));
    for (const auto& frame : launch.frames) {
      jobs.push_back(std::move(frame->job));
    }
    backend_->Submit(std::move(launch.plan), std::move(jobs),
                     [this, frames = std::move(launch.frames)](FrameBatchAnswer answer) mutable {
                       OnBatchDone(std::move(frames), std::move(answer));
                     });
  }
  for (auto& frame : work.expired) FinishUnlaunched(std::move(frame), Late());
  absl::MutexLock lock(&mutex_);
  --callers_inside_;
}

void Batcher::OnBatchDone(std::vector<std::unique_ptr<Frame>> frames, FrameBatchAnswer answer) {
  Work work;
  {
    absl::MutexLock lock(&mutex_);
    --batches_in_flight_;
    ++callers_inside_;
    work = TakeWork();
  }
  Do(std::move(work));
  const SteadyTime now = clock_->Now();
  const int batch_frames = static_cast<int>(frames.size());
  const std::optional<double> joules =
      observer_->OnBatchFinished(WorkKind::kFrames, batch_frames, answer.cost);
  std::vector<FrameOutcome> outcomes(frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    FrameOutcome& outcome = outcomes[i];
    outcome.cost = answer.cost;
    outcome.batch_frames = batch_frames;
    outcome.queued = frames[i]->queued;
    if (joules.has_value()) outcome.energy_joules = *joules / batch_frames;
    if (i < answer.frames.size()) outcome.stages = answer.frames[i].stages;
    observer_->OnItemComputed(WorkKind::kFrames, outcome.queued, answer.cost, outcome.stages);
    if (i >= answer.frames.size()) {
      outcome.status = MakeError(ErrorReason::kInternal, "the backend answered too few frames");
    } else if (now >= frames[i]->deadline && MayBeLate(answer.frames[i].status)) {
      outcome.status = Late();
    } else if (!answer.frames[i].status.ok()) {
      outcome.status = std::move(answer.frames[i].status);
    } else {
      outcome.features = std::move(answer.frames[i].features);
      outcome.state = std::move(answer.frames[i].state);
    }
  }
  {
    absl::MutexLock lock(&mutex_);
    for (size_t i = 0; i < frames.size(); ++i) Close(*frames[i], outcomes[i].status);
  }
  for (size_t i = 0; i < frames.size(); ++i) Answer(*frames[i], std::move(outcomes[i]));
  absl::MutexLock lock(&mutex_);
  --callers_inside_;
}

}  // namespace orbserve
