// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Brings match requests to the backend. Two sets of 100,000 descriptors keep a processor busy for
// seconds, so matching waits in a fair queue, as frames do. Tickets, bounds, deadlines,
// cancellation and draining are those of every queue of work (work_queue.h). This page
// is about what only matching has.
//
// Small requests go to the backend in batches, because a device takes nearly as long for one of
// them as for many. The backend never has more than `max_in_flight` of these batches. While it has
// fewer, a request goes at once and alone. Requests that have to wait go together at the end of a
// batch, by the shares of their clients.
//
// Large requests have a queue and places of their own, so that they delay neither small requests
// nor each other without bound. Each goes alone. The backend has at most `max_in_flight` of them,
// and more than one only while they have `max_large_pairs_in_flight` pairs in sum.
//
// A request holds the states of its jobs while it waits. A state that several requests hold counts
// once towards `max_bytes`.
//
// A request is answered once, with one answer per job in their order. After its launch Cancel()
// stops the backend, and the answer comes when the backend has stopped. Each request of a batch has
// its own deadline and its own cancellation.
//
// Threads. Answering takes longer than many a match, so other threads (`answerers`) answer the
// requests of a batch, and the backend's thread is free for the next batch. The backend's thread
// answers a request that went alone.

#ifndef ORBSERVE_SERVER_SERVING_MATCH_MATCH_QUEUE_H_
#define ORBSERVE_SERVER_SERVING_MATCH_MATCH_QUEUE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
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

struct MatchQueueOptions {
  int max_in_flight = 4;              // batches, and large requests, each >= 1
  int max_batch_jobs = 16;            // >= 1; one request may have more
  int max_requests = 1024;            // waiting, of all clients, >= 1
  int max_requests_per_client = 256;  // waiting, >= 1
  // Sum of the states that waiting requests hold, of both sides, each once. One request always
  // fits.
  int64_t max_bytes = int64_t{1} << 30;
  // Pairs of a query and a train descriptor. A request with more than `max_small_pairs` is large;
  // one of 2048 x 2048 takes some 3 ms of a processor.
  uint64_t max_small_pairs = uint64_t{1} << 22;
  uint64_t max_batch_pairs = uint64_t{1} << 24;  // sum of a batch
  uint64_t max_large_pairs_in_flight = uint64_t{1} << 26;
  WorkerPool* answerers = nullptr;  // see WorkQueueOptions
  Ledger* ledger = nullptr;         // see WorkQueueOptions
};

// Answer to a request.
struct MatchOutcome {
  absl::Status status;  // of the request; when OK, `pairs` has one answer per job
  std::vector<MatchAnswer> pairs;
  BatchCost cost;
  std::chrono::nanoseconds queued{};  // from Submit() to the launch
  // Estimate of the request's share of its batch's energy, where the device's power is known.
  std::optional<double> energy_joules;
};
using MatchDone = absl::AnyInvocable<void(MatchOutcome) &&>;

// A request from its admission to its answer. Internal to the queue.
struct QueuedMatch final : WorkItem {
  std::vector<MatchJob> jobs;  // until the launch
  size_t job_count = 0;
  uint64_t pairs = 0;  // sum over the jobs
  double work = 0.0;   // MatchWork() of all jobs
  MatchDone done;
  MatchOutcome outcome;  // once the batch has returned
  FairQueue<QueuedMatch*>::Handle place;
};

struct QueuedMatchBatch {
  std::vector<std::shared_ptr<QueuedMatch>> items;  // all small, or one large
};

class MatchQueue final : public WorkQueue<QueuedMatch, QueuedMatchBatch> {
 public:
  // All three must outlive the queue.
  MatchQueue(FeatureBackend* backend, Clock* clock, ServingObserver* observer,
             const MatchQueueOptions& options);
  // Answers DRAINING to the requests that wait, and waits for those in flight.
  ~MatchQueue() override;

  // `jobs` must not be empty; the queue sets their `cancelled`. `done` is called once, never under
  // a lock, possibly inside the call. Never blocks.
  Ticket Submit(const ClientId& client, SteadyTime deadline, std::vector<MatchJob> jobs,
                MatchDone done) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A state that waiting requests hold.
  struct HeldState {
    int uses = 0;  // in their jobs
    int64_t bytes = 0;
    Holding holding;  // of these bytes, by the client whose request brought the state
  };

  // Requests of one size: small or large.
  struct Class {
    FairQueue<QueuedMatch*> queue;
    int in_flight = 0;  // batches
    uint64_t pairs_in_flight = 0;
  };

  // Counts the states of the request's jobs, and returns the bytes of those that no other request
  // holds. Enqueue() gives each of these its part of them.
  int64_t StartsWaiting(const QueuedMatch& request) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Enqueue(QueuedMatch& request) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Dequeue(QueuedMatch& request) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StopsWaiting(const QueuedMatch& request) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<QueuedMatchBatch> NextBatch(SteadyTime now) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FreePlace(const QueuedMatchBatch& batch) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Send(QueuedMatchBatch& batch) override ABSL_LOCKS_EXCLUDED(mutex_);
  void AnswerFailed(QueuedMatch& request, const absl::Status& status) override
      ABSL_LOCKS_EXCLUDED(mutex_);

  bool IsLarge(const QueuedMatch& request) const {
    return request.pairs > options_.max_small_pairs;
  }
  WorkRate& RateOf(const QueuedMatch& request) {
    return IsLarge(request) ? large_rate_ : small_rate_;
  }
  Class& ClassOf(const QueuedMatch& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return IsLarge(request) ? large_ : small_;
  }
  bool HasPlace(const Class& requests, const QueuedMatch& next) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnBatchDone(QueuedMatchBatch batch, MatchBatchAnswer answer) ABSL_LOCKS_EXCLUDED(mutex_);

  FeatureBackend* const backend_;
  const MatchQueueOptions options_;
  Class small_ ABSL_GUARDED_BY(mutex_);
  Class large_ ABSL_GUARDED_BY(mutex_);
  absl::btree_map<const FrameState*, HeldState> held_states_ ABSL_GUARDED_BY(mutex_);
  WorkRate small_rate_;
  WorkRate large_rate_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_MATCH_MATCH_QUEUE_H_
