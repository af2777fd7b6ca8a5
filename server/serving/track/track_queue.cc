// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/track/track_queue.h"

#include <cmath>
#include <utility>

#include "features/errors.h"
#include "features/work.h"

namespace orbserve {

TrackQueue::TrackQueue(FeatureBackend* backend, Clock* clock, ServingObserver* observer,
                       const TrackQueueOptions& options)
    : WorkQueue(clock, observer,
                {.kind = WorkKind::kTracks,
                 .max_items = options.max_requests,
                 .max_items_per_client = options.max_requests_per_client,
                 .max_bytes = options.max_bytes,
                 .ledger = options.ledger,
                 .answerers = options.answerers}),
      backend_(backend),
      options_(options) {}

TrackQueue::~TrackQueue() { Shut(); }

TrackQueue::Ticket TrackQueue::Submit(const ClientId& client, SteadyTime deadline, TrackJob job,
                                      TrackDone done) {
  auto request = std::make_shared<QueuedTrack>();
  request->client = client;
  request->deadline = deadline;
  request->points = job.points->count();
  request->work = TrackWork(job);
  request->done = std::move(done);
  job.cancelled = request->cancelled;
  request->job = std::move(job);
  Admit(request);
  return request->ticket;
}

int64_t TrackQueue::StartsWaiting(const QueuedTrack& request) {
  const TrackJob& job = request.job;
  return static_cast<int64_t>(job.from->size_bytes() + job.to->size_bytes() +
                              job.points->size_bytes());
}

bool TrackQueue::Enqueue(QueuedTrack& request) {
  request.place = queue_.Push(request.account, &request);
  return true;
}

void TrackQueue::Dequeue(QueuedTrack& request) { queue_.Remove(request.place); }

std::optional<QueuedTrackBatch> TrackQueue::NextBatch(SteadyTime now) {
  if (batches_in_flight() >= options_.max_in_flight || queue_.empty()) return std::nullopt;
  QueuedTrackBatch batch;
  size_t points = 0;
  while (!queue_.empty() && batch.items.size() < static_cast<size_t>(options_.max_batch_jobs)) {
    const QueuedTrack& next = *queue_.front();
    if (!batch.items.empty() && points + next.points > options_.max_batch_points) break;
    points += next.points;
    QueuedTrack& request = *queue_.Pop();
    batch.items.push_back(Launch(request, now, std::llround(rate_.Expect(request.work))));
  }
  return batch;
}

void TrackQueue::Send(QueuedTrackBatch& batch) {
  std::vector<TrackJob> jobs;
  jobs.reserve(batch.items.size());
  for (const auto& request : batch.items) jobs.push_back(std::exchange(request->job, {}));
  Hand(batch, &TrackQueue::OnBatchDone,
       [&](TrackBatchDone done) { backend_->SubmitTracks(std::move(jobs), std::move(done)); });
}

void TrackQueue::OnBatchDone(QueuedTrackBatch batch, TrackBatchAnswer answer) {
  const int64_t taken_ns = TakenNs(answer.cost);
  double work = 0.0;
  for (const auto& request : batch.items) work += request->work;
  rate_.Note(work, static_cast<double>(taken_ns));
  BatchReturned(batch);
  const size_t count = batch.items.size();
  const std::optional<double> joules =
      observer_->OnBatchFinished(WorkKind::kTracks, static_cast<int>(count), answer.cost);
  for (size_t i = 0; i < count; ++i) {
    QueuedTrack& request = *batch.items[i];
    TrackOutcome& outcome = request.outcome;
    outcome.cost = answer.cost;
    outcome.queued = request.queued;
    if (i >= answer.jobs.size()) {
      outcome.status =
          MakeError(ErrorReason::kInternal, "the backend answered too few searches for tracks");
    } else {
      outcome.status = std::move(answer.jobs[i].status);
      outcome.tracked = std::move(answer.jobs[i].tracked);
    }
    // A request that was cancelled too late has its answer.
    if (outcome.status.ok() && joules.has_value()) {
      outcome.energy_joules = *joules / static_cast<double>(count);
    }
  }
  GiveOutcomes(std::move(batch), taken_ns);
}

void TrackQueue::AnswerFailed(QueuedTrack& request, const absl::Status& status) {
  TrackDone done = std::move(request.done);  // freed before the request, which may be in a batch
  std::move(done)({.status = status});
}

}  // namespace orbserve
