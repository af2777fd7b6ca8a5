// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Brings requests for matches, and searches for the tracks of streams, to the backend. Two sets of
// 100,000 descriptors keep a processor busy for seconds, so requests wait in a fair queue, as
// frames do. Tickets, bounds, deadlines, cancellation and draining are those of every queue of work
// (work_queue.h). This page is about what only requests have.
//
// The size of a request is the sum over its jobs: pairs of a query and a train descriptor, or
// points. Small requests go to the backend in batches, because a device takes nearly as long for
// one of them as for many. The backend never has more than `max_in_flight` of these batches. While
// it has fewer, a request goes at once and alone. Requests that have to wait go together at the end
// of a batch, by the shares of their clients.
//
// Large requests for matches have a queue and places of their own, so that they delay neither small
// requests nor each other without bound. Each goes alone. The backend has at most `max_in_flight`
// of them, and more than one only while they have `max_large_size_in_flight` in sum.
//
// A request holds the states of its jobs while it waits, and points. A state that several requests
// for matches hold counts once towards `max_bytes`. A stream has at most one search at a time,
// because each begins where the one before ended.
//
// A request is answered once, with one answer per job in their order. After its launch Cancel()
// stops the backend, and the answer comes when the backend has stopped. Each request of a batch has
// its own deadline and its own cancellation.
//
// Threads. Answering takes longer than many a match, so other threads (`answerers`) answer the
// requests of a batch, and the backend's thread is free for the next batch. The backend's thread
// answers a request that went alone.

#ifndef ORBSERVE_SERVER_SERVING_REQUEST_QUEUE_H_
#define ORBSERVE_SERVER_SERVING_REQUEST_QUEUE_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "features/backend.h"
#include "features/errors.h"
#include "features/work.h"
#include "server/clients/client_id.h"
#include "server/clients/fair_queue.h"
#include "server/process/clock.h"
#include "server/serving/observer.h"
#include "server/serving/work_queue.h"

namespace orbserve {

// Answer to a request, as far as matches and tracks have it in common.
struct RequestOutcome {
  absl::Status status;  // of the request
  BatchCost cost;
  std::chrono::nanoseconds queued{};  // from Submit() to the launch
  // Estimate of the request's share of its batch's energy, where the device's power is known.
  std::optional<double> energy_joules;
};
struct MatchOutcome : RequestOutcome {
  std::vector<MatchAnswer> pairs;  // when OK: one answer per job
};
struct TrackOutcome : RequestOutcome {
  TrackedPoints tracked;  // when OK
};

// What requests for matches and for tracks do not have in common.
struct MatchRequests {
  using Job = MatchJob;
  using Jobs = std::vector<MatchJob>;  // of a request; not empty
  using Answer = MatchBatchAnswer;
  using Outcome = MatchOutcome;
  static constexpr WorkKind kKind = WorkKind::kMatches;
  static constexpr int kMaxBatchJobs = 16;
  static constexpr uint64_t kMaxBatchSize = uint64_t{1} << 24;
  static constexpr uint64_t kMaxSmallSize = uint64_t{1} << 22;  // some 3 ms of a processor

  static uint64_t SizeOf(const Job& job) { return job.pair_count(); }
  static double WorkOf(const Job& job) { return MatchWork(job); }
  static void Submit(FeatureBackend& backend, std::vector<Job> jobs, MatchBatchDone done) {
    backend.SubmitMatches(std::move(jobs), std::move(done));
  }
  static std::vector<MatchAnswer>& Answers(Answer& answer) { return answer.pairs; }
  // Moves the answers to a request's jobs into its outcome. A request that was cancelled too late
  // has its answer.
  static void Take(absl::Span<MatchAnswer> answers, bool is_cancelled, Outcome& outcome) {
    const auto was_cancelled = [](const MatchAnswer& answer) {
      return !answer.status.ok() && ReasonOf(answer.status) == ErrorReason::kCancelled;
    };
    if (is_cancelled && std::any_of(answers.begin(), answers.end(), was_cancelled)) {
      outcome.status = CancelledStatus();
    } else {
      outcome.pairs.assign(std::make_move_iterator(answers.begin()),
                           std::make_move_iterator(answers.end()));
    }
  }
};
struct TrackRequests {
  using Job = TrackJob;
  using Jobs = std::array<TrackJob, 1>;
  using Answer = TrackBatchAnswer;
  using Outcome = TrackOutcome;
  static constexpr WorkKind kKind = WorkKind::kTracks;
  static constexpr int kMaxBatchJobs = 64;
  static constexpr uint64_t kMaxBatchSize = uint64_t{1} << 16;
  static constexpr uint64_t kMaxSmallSize = std::numeric_limits<uint64_t>::max();

  static uint64_t SizeOf(const Job& job) { return job.points->count(); }
  static double WorkOf(const Job& job) { return TrackWork(job); }
  static void Submit(FeatureBackend& backend, std::vector<Job> jobs, TrackBatchDone done) {
    backend.SubmitTracks(std::move(jobs), std::move(done));
  }
  static std::vector<TrackAnswer>& Answers(Answer& answer) { return answer.jobs; }
  static void Take(absl::Span<TrackAnswer> answers, bool /*is_cancelled*/, Outcome& outcome) {
    outcome.status = std::move(answers[0].status);
    outcome.tracked = std::move(answers[0].tracked);
  }
};

template <typename Kind>
struct RequestQueueOptions {
  int max_in_flight = 4;                          // batches, and large requests, each >= 1
  int max_batch_jobs = Kind::kMaxBatchJobs;       // >= 1; one request may have more
  uint64_t max_small_size = Kind::kMaxSmallSize;  // of a request that is not large
  uint64_t max_batch_size = Kind::kMaxBatchSize;  // sum of a batch; one request may have more
  uint64_t max_large_size_in_flight = uint64_t{1} << 26;
  WorkQueueOptions queue;
};

// A request from its admission to its answer. Internal to the queue.
template <typename Kind>
struct QueuedRequest final : WorkItem {
  typename Kind::Jobs jobs;  // until the launch
  size_t job_count = 0;
  uint64_t size = 0;
  double work = 0.0;  // MatchWork() or TrackWork() of all jobs
  absl::AnyInvocable<void(typename Kind::Outcome) &&> done;
  typename Kind::Outcome outcome;  // once the batch has returned
  typename FairQueue<QueuedRequest*>::Handle place;
};

template <typename Kind>
struct RequestBatch {
  std::vector<std::shared_ptr<QueuedRequest<Kind>>> items;  // all small, or one large
};

// Kind: MatchRequests or TrackRequests.
template <typename Kind>
class RequestQueue final : public WorkQueue<QueuedRequest<Kind>, RequestBatch<Kind>> {
  using Base = WorkQueue<QueuedRequest<Kind>, RequestBatch<Kind>>;
  using Request = QueuedRequest<Kind>;
  using Batch = RequestBatch<Kind>;
  using Outcome = typename Kind::Outcome;
  using Base::mutex_;

 public:
  using Options = RequestQueueOptions<Kind>;

  // All three must outlive the queue.
  RequestQueue(FeatureBackend* backend, Clock* clock, ServingObserver* observer,
               const Options& options)
      : Base(Kind::kKind, clock, observer, options.queue), backend_(backend), options_(options) {}
  // Answers DRAINING to the requests that wait, and waits for those in flight.
  ~RequestQueue() override { this->Shut(); }

  // The queue sets `cancelled` of the jobs. `done` is called once, never under a lock, possibly
  // inside the call. Never blocks.
  WorkTicket Submit(const ClientId& client, SteadyTime deadline, typename Kind::Jobs jobs,
                    absl::AnyInvocable<void(Outcome) &&> done) ABSL_LOCKS_EXCLUDED(mutex_) {
    auto request = std::make_shared<Request>();
    request->client = client;
    request->deadline = deadline;
    request->done = std::move(done);
    for (auto& job : jobs) {
      request->size += Kind::SizeOf(job);
      request->work += Kind::WorkOf(job);
      job.cancelled = request->cancelled;
    }
    request->job_count = jobs.size();
    request->jobs = std::move(jobs);
    this->Admit(request);
    return request->ticket;
  }

 private:
  // A state that waiting requests for matches hold.
  struct HeldState {
    int uses = 0;  // in their jobs
    int64_t bytes = 0;
    Holding holding;  // of these bytes, by the client whose request brought the state
  };

  // Requests of one size: small or large.
  struct Class {
    FairQueue<Request*> queue;
    int in_flight = 0;  // batches
    uint64_t size_in_flight = 0;
  };

  // Counts the states of a request for matches, and returns the bytes of those that no other
  // request holds. Enqueue() gives each of these its part of them.
  int64_t StartsWaiting(const Request& request) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    size_t bytes = 0;
    if constexpr (Kind::kKind == WorkKind::kTracks) {
      const TrackJob& job = request.jobs[0];
      bytes = job.from->size_bytes() + job.to->size_bytes() + job.points->size_bytes();
    } else {
      ForEachState(request, [&](const FrameState* state) {
        HeldState& held = held_states_[state];
        if (held.uses++ > 0) return;
        held.bytes = static_cast<int64_t>(state->size_bytes());
        bytes += state->size_bytes();
      });
    }
    return static_cast<int64_t>(bytes);
  }
  bool Enqueue(Request& request) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ForEachState(request, [&](const FrameState* state) {
      HeldState& held = held_states_[state];
      if (held.holding.amount() > 0) return;
      request.queue_bytes.Set(request.queue_bytes.amount() - held.bytes);
      held.holding = Holding(request.account->holds(), BytesOf(Kind::kKind));
      held.holding.Set(held.bytes);
    });
    request.place = ClassOf(request).queue.Push(request.account, &request);
    return true;
  }
  void StopsWaiting(const Request& request) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ForEachState(request, [&](const FrameState* state) {
      const auto held = held_states_.find(state);
      if (--held->second.uses == 0) held_states_.erase(held);
    });
  }
  void Dequeue(Request& request) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ClassOf(request).queue.Remove(request.place);
  }

  std::optional<Batch> NextBatch(SteadyTime now) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Batch batch;
    for (Class* const requests : {&small_, &large_}) {
      uint64_t size = 0;
      size_t jobs = 0;
      while (!requests->queue.empty()) {
        const Request& next = *requests->queue.front();
        if (batch.items.empty()) {
          if (!HasPlace(*requests, next)) break;
        } else if (IsLarge(next) || size + next.size > options_.max_batch_size ||
                   jobs + next.job_count > static_cast<size_t>(options_.max_batch_jobs)) {
          break;
        }
        size += next.size;
        jobs += next.job_count;
        Request& request = *requests->queue.Pop();
        const double cost = RateOf(request).Expect(request.work);
        batch.items.push_back(this->Launch(request, now, std::llround(cost)));
      }
      if (batch.items.empty()) continue;
      ++requests->in_flight;
      requests->size_in_flight += size;
      return batch;
    }
    return std::nullopt;
  }
  void FreePlace(const Batch& batch) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Class& requests = ClassOf(*batch.items.front());
    --requests.in_flight;
    for (const auto& request : batch.items) requests.size_in_flight -= request->size;
  }

  void Send(Batch& batch) override ABSL_LOCKS_EXCLUDED(mutex_) {
    size_t count = 0;
    for (const auto& request : batch.items) count += request->job_count;
    std::vector<typename Kind::Job> jobs;
    jobs.reserve(count);
    for (const auto& request : batch.items) {
      std::move(request->jobs.begin(), request->jobs.end(), std::back_inserter(jobs));
      request->jobs = {};
    }
    this->Hand(batch, &RequestQueue::OnBatchDone,
               [&](auto done) { Kind::Submit(*backend_, std::move(jobs), std::move(done)); });
  }
  void OnBatchDone(Batch batch, typename Kind::Answer answer) ABSL_LOCKS_EXCLUDED(mutex_) {
    const int64_t taken_ns = Base::TakenNs(answer.cost);
    double work = 0.0;
    size_t jobs = 0;
    for (const auto& request : batch.items) {
      work += request->work;
      jobs += request->job_count;
    }
    RateOf(*batch.items.front()).Note(work, static_cast<double>(taken_ns));
    this->BatchReturned(batch);
    Base::FillUp(Kind::Answers(answer), jobs);
    auto answers = absl::MakeSpan(Kind::Answers(answer));
    const std::optional<double> joules = this->observer_->OnBatchFinished(
        Kind::kKind, static_cast<int>(answers.size()), answer.cost);
    for (const auto& request : batch.items) {
      Outcome& outcome = request->outcome;
      outcome.cost = answer.cost;
      outcome.queued = request->queued;
      // Answers stand in the order of the requests and of their jobs.
      Kind::Take(answers.first(request->job_count),
                 request->cancelled->load(std::memory_order_relaxed), outcome);
      answers.remove_prefix(request->job_count);
      if (outcome.status.ok() && joules.has_value()) {
        outcome.energy_joules =
            *joules * static_cast<double>(request->job_count) / static_cast<double>(jobs);
      }
    }
    this->GiveOutcomes(std::move(batch), taken_ns);
  }
  void AnswerFailed(Request& request, const absl::Status& status) override
      ABSL_LOCKS_EXCLUDED(mutex_) {
    auto done = std::move(request.done);  // freed before the request, which may be in a batch
    Outcome outcome;
    outcome.status = status;
    std::move(done)(std::move(outcome));
  }

  // Calls `apply` for the states of a request for matches.
  template <typename Apply>
  static void ForEachState(const Request& request, const Apply& apply) {
    if constexpr (Kind::kKind == WorkKind::kMatches) {
      for (const MatchJob& job : request.jobs) {
        apply(job.query.get());
        apply(job.train.get());
      }
    }
  }
  bool IsLarge(const Request& request) const { return request.size > options_.max_small_size; }
  WorkRate& RateOf(const Request& request) { return IsLarge(request) ? large_rate_ : small_rate_; }
  Class& ClassOf(const Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return IsLarge(request) ? large_ : small_;
  }
  bool HasPlace(const Class& requests, const Request& next) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (requests.in_flight >= options_.max_in_flight) return false;
    return !IsLarge(next) || requests.in_flight == 0 ||
           requests.size_in_flight + next.size <= options_.max_large_size_in_flight;
  }

  FeatureBackend* const backend_;
  const Options options_;
  Class small_ ABSL_GUARDED_BY(mutex_);
  Class large_ ABSL_GUARDED_BY(mutex_);
  absl::btree_map<const FrameState*, HeldState> held_states_ ABSL_GUARDED_BY(mutex_);
  WorkRate small_rate_;
  WorkRate large_rate_;
};

using MatchQueue = RequestQueue<MatchRequests>;
using TrackQueue = RequestQueue<TrackRequests>;
using MatchQueueOptions = MatchQueue::Options;
using TrackQueueOptions = TrackQueue::Options;

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_REQUEST_QUEUE_H_
