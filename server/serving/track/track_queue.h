// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Brings searches for the tracks of streams to the backend. Tickets, bounds, deadlines,
// cancellation and draining are those of every queue of work (work_queue.h). This page
// is about what only tracks have.
//
// A request is the search for all tracks of one stream in one of its frames. A stream has at most
// one at a time, because each search begins where the one before ended. Requests of many streams go
// to the backend in batches, because a device takes nearly as long for one of them as for many. The
// backend never has more than `max_in_flight` of these batches. While it has fewer, a request goes
// at once and alone. Requests that have to wait go together at the end of a batch, by the shares of
// their clients.
//
// A request that waits holds the states of its two frames, with their pyramids, and its points.
//
// After its launch Cancel() stops the backend, and the answer comes when the backend has stopped.
//
// Threads. Other threads (`answerers`) answer the requests of a batch, so that the backend's thread
// is free for the next batch. The backend's thread answers a request that went alone.

#ifndef ORBSERVE_SERVER_SERVING_TRACK_TRACK_QUEUE_H_
#define ORBSERVE_SERVER_SERVING_TRACK_TRACK_QUEUE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "features/backend.h"
#include "server/clients/client_id.h"
#include "server/clients/fair_queue.h"
#include "server/process/clock.h"
#include "server/serving/observer.h"
#include "server/serving/work_queue.h"
#include "server/serving/worker_pool.h"

namespace orbserve {

struct TrackQueueOptions {
  int max_in_flight = 4;              // batches, >= 1
  int max_batch_jobs = 64;            // >= 1
  size_t max_batch_points = 1 << 16;  // sum of a batch; one request may have more
  int max_requests = 1024;            // waiting, of all clients, >= 1
  int max_requests_per_client = 256;  // waiting, >= 1
  // Sum of what waiting requests hold. One request always fits.
  int64_t max_bytes = int64_t{1} << 30;
  WorkerPool* answerers = nullptr;  // see WorkQueueOptions
  Ledger* ledger = nullptr;         // see WorkQueueOptions
};

// Answer to a request.
struct TrackOutcome {
  absl::Status status;
  TrackedPoints tracked;  // when OK
  BatchCost cost;
  std::chrono::nanoseconds queued{};  // from Submit() to the launch
  // Estimate of the request's share of its batch's energy, where the device's power is known.
  std::optional<double> energy_joules;
};
using TrackDone = absl::AnyInvocable<void(TrackOutcome) &&>;

// A request from its admission to its answer. Internal to the queue.
struct QueuedTrack final : WorkItem {
  TrackJob job;  // until the launch
  size_t points = 0;
  double work = 0.0;  // TrackWork()
  TrackDone done;
  TrackOutcome outcome;  // once the batch has returned
  FairQueue<QueuedTrack*>::Handle place;
};

struct QueuedTrackBatch {
  std::vector<std::shared_ptr<QueuedTrack>> items;
};

class TrackQueue final : public WorkQueue<QueuedTrack, QueuedTrackBatch> {
 public:
  // All three must outlive the queue.
  TrackQueue(FeatureBackend* backend, Clock* clock, ServingObserver* observer,
             const TrackQueueOptions& options);
  // Answers DRAINING to the requests that wait, and waits for those in flight.
  ~TrackQueue() override;

  // The states and the points of `job` must be set; the queue sets its `cancelled`. `done` is
  // called once, never under a lock, possibly inside the call. Never blocks.
  Ticket Submit(const ClientId& client, SteadyTime deadline, TrackJob job, TrackDone done)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  int64_t StartsWaiting(const QueuedTrack& request) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Enqueue(QueuedTrack& request) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Dequeue(QueuedTrack& request) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<QueuedTrackBatch> NextBatch(SteadyTime now) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Send(QueuedTrackBatch& batch) override ABSL_LOCKS_EXCLUDED(mutex_);
  void AnswerFailed(QueuedTrack& request, const absl::Status& status) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void OnBatchDone(QueuedTrackBatch batch, TrackBatchAnswer answer) ABSL_LOCKS_EXCLUDED(mutex_);

  FeatureBackend* const backend_;
  const TrackQueueOptions options_;
  FairQueue<QueuedTrack*> queue_ ABSL_GUARDED_BY(mutex_);
  WorkRate rate_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_TRACK_TRACK_QUEUE_H_
