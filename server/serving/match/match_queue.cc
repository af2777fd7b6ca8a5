// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/match/match_queue.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "features/errors.h"
#include "features/work.h"

namespace orbserve {

MatchQueue::MatchQueue(FeatureBackend* backend, Clock* clock, ServingObserver* observer,
                       const MatchQueueOptions& options)
    : WorkQueue(clock, observer,
                {.kind = WorkKind::kMatches,
                 .max_items = options.max_requests,
                 .max_items_per_client = options.max_requests_per_client,
                 .max_bytes = options.max_bytes,
                 .ledger = options.ledger,
                 .answerers = options.answerers}),
      backend_(backend),
      options_(options) {}

MatchQueue::~MatchQueue() { Shut(); }

MatchQueue::Ticket MatchQueue::Submit(const ClientId& client, SteadyTime deadline,
                                      std::vector<MatchJob> jobs, MatchDone done) {
  auto request = std::make_shared<QueuedMatch>();
  request->client = client;
  request->deadline = deadline;
  request->done = std::move(done);
  for (MatchJob& job : jobs) {
    request->pairs += job.pair_count();
    request->work += MatchWork(job);
    job.cancelled = request->cancelled;
  }
  request->job_count = jobs.size();
  request->jobs = std::move(jobs);
  Admit(request);
  return request->ticket;
}

int64_t MatchQueue::StartsWaiting(const QueuedMatch& request) {
  int64_t bytes = 0;
  for (const MatchJob& job : request.jobs) {
    for (const FrameState* const state : {job.query.get(), job.train.get()}) {
      HeldState& held = held_states_[state];
      if (held.uses++ > 0) continue;
      held.bytes = static_cast<int64_t>(state->size_bytes());
      bytes += held.bytes;
    }
  }
  return bytes;
}

bool MatchQueue::Enqueue(QueuedMatch& request) {
  for (const MatchJob& job : request.jobs) {
    for (const FrameState* const state : {job.query.get(), job.train.get()}) {
      HeldState& held = held_states_[state];
      if (held.holding.amount() == 0) held.holding = request.queue_bytes.Split(held.bytes);
    }
  }
  request.place = ClassOf(request).queue.Push(request.account, &request);
  return true;
}

void MatchQueue::StopsWaiting(const QueuedMatch& request) {
  for (const MatchJob& job : request.jobs) {
    for (const FrameState* const state : {job.query.get(), job.train.get()}) {
      const auto held = held_states_.find(state);
      if (--held->second.uses == 0) held_states_.erase(held);
    }
  }
}

void MatchQueue::Dequeue(QueuedMatch& request) { ClassOf(request).queue.Remove(request.place); }

bool MatchQueue::HasPlace(const Class& requests, const QueuedMatch& next) const {
  if (requests.in_flight >= options_.max_in_flight) return false;
  return !IsLarge(next) || requests.in_flight == 0 ||
         requests.pairs_in_flight + next.pairs <= options_.max_large_pairs_in_flight;
}

std::optional<QueuedMatchBatch> MatchQueue::NextBatch(SteadyTime now) {
  QueuedMatchBatch batch;
  for (Class* const requests : {&small_, &large_}) {
    uint64_t pairs = 0;
    size_t jobs = 0;
    while (!requests->queue.empty()) {
      const QueuedMatch& next = *requests->queue.front();
      if (batch.items.empty()) {
        if (!HasPlace(*requests, next)) break;
      } else if (IsLarge(next) || pairs + next.pairs > options_.max_batch_pairs ||
                 jobs + next.job_count > static_cast<size_t>(options_.max_batch_jobs)) {
        break;
      }
      pairs += next.pairs;
      jobs += next.job_count;
      QueuedMatch& request = *requests->queue.Pop();
      const double cost = RateOf(request).Expect(request.work);
      batch.items.push_back(Launch(request, now, std::llround(cost)));
    }
    if (batch.items.empty()) continue;
    ++requests->in_flight;
    requests->pairs_in_flight += pairs;
    return batch;
  }
  return std::nullopt;
}

void MatchQueue::FreePlace(const QueuedMatchBatch& batch) {
  Class& requests = ClassOf(*batch.items.front());
  --requests.in_flight;
  for (const auto& request : batch.items) requests.pairs_in_flight -= request->pairs;
}

void MatchQueue::Send(QueuedMatchBatch& batch) {
  size_t count = 0;
  for (const auto& request : batch.items) count += request->jobs.size();
  std::vector<MatchJob> jobs;
  jobs.reserve(count);
  for (const auto& request : batch.items) {
    std::move(request->jobs.begin(), request->jobs.end(), std::back_inserter(jobs));
    request->jobs.clear();
  }
  Hand(batch, &MatchQueue::OnBatchDone,
       [&](MatchBatchDone done) { backend_->SubmitMatches(std::move(jobs), std::move(done)); });
}

void MatchQueue::OnBatchDone(QueuedMatchBatch batch, MatchBatchAnswer answer) {
  const int64_t taken_ns = TakenNs(answer.cost);
  double work = 0.0;
  for (const auto& request : batch.items) work += request->work;
  RateOf(*batch.items.front()).Note(work, static_cast<double>(taken_ns));
  BatchReturned(batch);
  const std::optional<double> joules = observer_->OnBatchFinished(
      WorkKind::kMatches, static_cast<int>(answer.pairs.size()), answer.cost);
  size_t jobs = 0;
  for (const auto& request : batch.items) jobs += request->job_count;
  const size_t count = batch.items.size();
  // Answers stand in the order of the requests and of their jobs.
  auto next_pair = answer.pairs.begin();
  for (size_t i = 0; i < count; ++i) {
    QueuedMatch& request = *batch.items[i];
    MatchOutcome& outcome = request.outcome;
    outcome.cost = answer.cost;
    outcome.queued = request.queued;
    // When there are too few answers, the caller notices.
    const auto end = next_pair + std::min<ptrdiff_t>(static_cast<ptrdiff_t>(request.job_count),
                                                     answer.pairs.end() - next_pair);
    // A request that was cancelled too late has its answer.
    const bool is_cancelled =
        request.cancelled->load(std::memory_order_relaxed) &&
        std::any_of(next_pair, end, [](const MatchAnswer& pair) {
          return !pair.status.ok() && ReasonOf(pair.status) == ErrorReason::kCancelled;
        });
    if (is_cancelled) {
      outcome.status = CancelledStatus();
    } else {
      outcome.pairs.assign(std::make_move_iterator(next_pair), std::make_move_iterator(end));
      if (joules.has_value()) {
        outcome.energy_joules =
            *joules * static_cast<double>(request.job_count) / static_cast<double>(jobs);
      }
    }
    next_pair = end;
  }
  GiveOutcomes(std::move(batch), taken_ns);
}

void MatchQueue::AnswerFailed(QueuedMatch& request, const absl::Status& status) {
  MatchDone done = std::move(request.done);  // freed before the request, which may be in a batch
  std::move(done)({.status = status});
}

}  // namespace orbserve
