// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The way of matching work to the backend. Two sets of 100,000 descriptors keep a processor busy
// for seconds, so matching waits in a fair queue as frames do: clients take turns for the next
// place with the backend, and both the whole queue and each client's part of it are bounded.
//
// Small requests go to the backend in batches, since a device takes nearly as long for one of them
// as for many. At most `max_in_flight` batches are with the backend: as long as there are fewer, a
// request goes at once and alone; what comes meanwhile goes together at the end of a batch, clients
// taking turns request by request.
//
// Large requests have a queue and places of their own, so that they hold up neither small ones nor
// each other without measure: each goes alone, at most `max_in_flight` are with the backend, and
// more than one only as long as they have `max_large_pairs_in_flight` pairs in sum.
//
// A request is answered once, with one answer per job in their order. Up to its launch Cancel()
// answers CANCELLED at once, and its deadline DEADLINE_EXCEEDED. After its launch both stop the
// backend, and the answer with the same reason comes when it has stopped; one that comes back after
// its deadline is answered DEADLINE_EXCEEDED in any case. Each request has its own deadline and its
// own cancellation, also in a batch.
//
// Threads. Answering takes longer than many a match, so the requests of a batch are answered by
// threads of the queue, and the backend's thread is free for the next batch. One that went alone is
// answered by the backend's thread at once.

#ifndef ORBSERVE_SERVER_SERVING_MATCH_QUEUE_H_
#define ORBSERVE_SERVER_SERVING_MATCH_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "server/serving/clock.h"
#include "server/serving/fair_queue.h"
#include "server/serving/observer.h"
#include "server/serving/queue_use.h"
#include "server/serving/worker_pool.h"

namespace orbserve {

struct MatchQueueOptions {
  int max_in_flight = 4;              // batches and large requests, each, >= 1
  int max_batch_jobs = 16;            // >= 1; of one request there may be more
  int max_requests = 1024;            // waiting, of all clients, >= 1
  int max_requests_per_client = 256;  // waiting, >= 1
  // Of the states of both sides that those waiting hold, each once; one request always fits.
  int64_t max_bytes = int64_t{1} << 30;
  // Pairs of a query and a train descriptor. Requests with more than the first are large; one of
  // 2048 x 2048 takes some 3 ms of a processor.
  uint64_t max_small_pairs = uint64_t{1} << 22;
  uint64_t max_batch_pairs = uint64_t{1} << 24;  // of a batch in sum
  uint64_t max_large_pairs_in_flight = uint64_t{1} << 26;
  int answer_threads = 4;  // >= 0; 0 = the backend's threads give all answers
};

struct MatchOutcome {
  absl::Status status;  // of the request; OK: `pairs` has one answer per job
  std::vector<MatchAnswer> pairs;
  BatchCost cost;
  // Estimate of the request's share of its batch's energy, where the device's power is known.
  std::optional<double> energy_joules;
};
using MatchDone = absl::AnyInvocable<void(MatchOutcome) &&>;

class MatchQueue {
 public:
  using Ticket = uint64_t;  // never 0

  // All three must outlive the queue.
  MatchQueue(FeatureBackend* backend, Clock* clock, ServingObserver* observer,
             const MatchQueueOptions& options);
  // Answers DRAINING to what waits and waits for what is in flight.
  ~MatchQueue();

  // `jobs` must not be empty; their `cancelled` is set here. `done` is called once, never under a
  // lock; possibly inside the call. Must not block.
  Ticket Submit(const std::string& client, SteadyTime deadline, std::vector<MatchJob> jobs,
                MatchDone done) ABSL_LOCKS_EXCLUDED(mutex_);
  // Nobody waits for the request any more.
  void Cancel(Ticket ticket) ABSL_LOCKS_EXCLUDED(mutex_);
  // Requests that wait, and the bytes of the states that they hold, each state once.
  QueueUse use() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Request {
    Ticket ticket = 0;
    std::string client;
    SteadyTime deadline = kNever;
    std::vector<MatchJob> jobs;  // until the launch
    size_t job_count = 0;
    uint64_t pairs = 0;  // of all jobs
    MatchDone done;
    std::shared_ptr<std::atomic<bool>> cancelled;
    FairQueue<Request*>::Handle place;
  };

  // A state that requests wait with.
  struct HeldState {
    int uses = 0;  // in their jobs
    int64_t bytes = 0;
  };

  using Batch = std::vector<std::unique_ptr<Request>>;  // not empty, all of one size
  struct Answer {
    MatchDone done;
    MatchOutcome outcome;
  };

  // Requests of one size.
  struct Class {
    FairQueue<Request*> queue;
    int in_flight = 0;  // batches
    uint64_t pairs_in_flight = 0;
  };

  bool IsLarge(const Request& request) const { return request.pairs > options_.max_small_pairs; }
  Class& ClassOf(const Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return IsLarge(request) ? large_ : small_;
  }
  // Counts the states of jobs that wait from now on, and no more.
  void HoldStates(const std::vector<MatchJob>& jobs) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LetGoStates(const std::vector<MatchJob>& jobs) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the request out of the queue and of every other structure.
  std::unique_ptr<Request> Take(Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes one that is out of the queue out of those that wait.
  std::unique_ptr<Request> Forget(Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The next requests for which there is a place; empty when there are none.
  Batch TakeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasPlace(const Class& requests, const Request& next) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetAlarm() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnAlarm() ABSL_LOCKS_EXCLUDED(mutex_);
  void Pump() ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDone(Batch batch, MatchBatchAnswer answer) ABSL_LOCKS_EXCLUDED(mutex_);
  // Gives the answers, which count as busy, on threads of the queue if that is worth it.
  void GiveAnswers(std::vector<Answer> answers) ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return busy_ == 0; }

  FeatureBackend* const backend_;
  Clock* const clock_;
  ServingObserver* const observer_;
  const MatchQueueOptions options_;

  mutable absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  Ticket next_ticket_ ABSL_GUARDED_BY(mutex_) = 1;
  // Batches with the backend, and sets of answers that are being given.
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;
  Class small_ ABSL_GUARDED_BY(mutex_);
  Class large_ ABSL_GUARDED_BY(mutex_);
  int64_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of held_states_
  absl::flat_hash_map<const FrameState*, HeldState> held_states_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Ticket, std::unique_ptr<Request>> waiting_ ABSL_GUARDED_BY(mutex_);
  // With the backend: their cancellation flags.
  absl::flat_hash_map<Ticket, std::shared_ptr<std::atomic<bool>>> launched_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, int> waiting_of_client_ ABSL_GUARDED_BY(mutex_);
  // Of all that wait or are with the backend.
  std::set<std::pair<SteadyTime, Ticket>> deadlines_ ABSL_GUARDED_BY(mutex_);
  // Last: what they call uses everything above.
  std::unique_ptr<WorkerPool> answer_threads_;  // null where there are none
  std::unique_ptr<Alarm> alarm_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_MATCH_QUEUE_H_
