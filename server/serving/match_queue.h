// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The way of matching work to the backend. Two sets of 100,000 descriptors keep a processor busy
// for seconds, so matching waits in a fair queue as frames do: at most `max_in_flight` requests are
// with the backend, clients take turns for the next place, and both the whole queue and each
// client's part of it are bounded.
//
// A request is answered once, with one answer per job in their order. Up to its launch Cancel()
// answers CANCELLED at once; one whose deadline has passed is answered DEADLINE_EXCEEDED when its
// turn comes, and is not launched.

#ifndef ORBSERVE_SERVER_SERVING_MATCH_QUEUE_H_
#define ORBSERVE_SERVER_SERVING_MATCH_QUEUE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
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

namespace orbserve {

struct MatchQueueOptions {
  int max_in_flight = 4;              // >= 1
  int max_requests = 1024;            // waiting, of all clients, >= 1
  int max_requests_per_client = 256;  // waiting, >= 1
};

struct MatchOutcome {
  absl::Status status;  // of the request; OK: `pairs` has one answer per job
  std::vector<MatchAnswer> pairs;
  BatchCost cost;
  std::optional<double> energy_joules;  // estimate for the whole request, where power is known
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

  // `jobs` must not be empty. `done` is called once, never under a lock; possibly inside the call.
  Ticket Submit(const std::string& client, SteadyTime deadline, std::vector<MatchJob> jobs,
                MatchDone done) ABSL_LOCKS_EXCLUDED(mutex_);
  // No effect on a request that is with the backend or answered.
  void Cancel(Ticket ticket) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Request {
    Ticket ticket = 0;
    std::string client;
    SteadyTime deadline = kNever;
    std::vector<MatchJob> jobs;
    MatchDone done;
    FairQueue<Request*>::Handle place;
  };

  // Takes the request out of the queue and of every other structure.
  std::unique_ptr<Request> Take(Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same for one that is out of the queue.
  std::unique_ptr<Request> Forget(Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Pump() ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDone(std::unique_ptr<Request> request, MatchBatchAnswer answer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return busy_ == 0; }

  FeatureBackend* const backend_;
  Clock* const clock_;
  ServingObserver* const observer_;
  const MatchQueueOptions options_;

  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  Ticket next_ticket_ ABSL_GUARDED_BY(mutex_) = 1;
  int in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;  // requests with the backend or being answered
  FairQueue<Request*> queue_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Ticket, std::unique_ptr<Request>> waiting_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, int> waiting_of_client_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_MATCH_QUEUE_H_
