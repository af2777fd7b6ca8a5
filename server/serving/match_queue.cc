// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/match_queue.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/errors.h"

namespace orbserve {
namespace {

absl::Status Draining() {
  return MakeError(ErrorReason::kDraining, "this server is about to stop; send to another one");
}

absl::Status Late() {
  return MakeError(ErrorReason::kDeadlineExceeded, "the deadline passed before the matches were");
}

absl::Status Cancelled() { return MakeError(ErrorReason::kCancelled, "the client cancelled"); }

}  // namespace

MatchQueue::MatchQueue(FeatureBackend* backend, Clock* clock, ServingObserver* observer,
                       const MatchQueueOptions& options)
    : backend_(backend), clock_(clock), observer_(observer), options_(options) {
  alarm_ = clock_->MakeAlarm([this] { OnAlarm(); });
}

MatchQueue::~MatchQueue() {
  std::vector<std::unique_ptr<Request>> left;
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    while (!waiting_.empty()) left.push_back(Take(*waiting_.begin()->second));
  }
  for (auto& request : left) std::move(request->done)({.status = Draining()});
  {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &MatchQueue::IsIdle));
  }
  alarm_.reset();
}

MatchQueue::Ticket MatchQueue::Submit(const std::string& client, SteadyTime deadline,
                                      std::vector<MatchJob> jobs, MatchDone done) {
  absl::Status refusal;
  Ticket ticket = 0;
  {
    absl::MutexLock lock(&mutex_);
    ticket = next_ticket_++;
    if (closed_) {
      refusal = Draining();
    } else if (clock_->Now() >= deadline) {
      refusal = Late();
    } else if (waiting_.size() >= static_cast<size_t>(options_.max_requests)) {
      refusal = MakeError(ErrorReason::kQueueFull,
                          absl::StrCat("the queue for matching is full: ", waiting_.size(),
                                       " requests wait; at most ", options_.max_requests, " may"));
    } else if (int& count = waiting_of_client_[client]; count >= options_.max_requests_per_client) {
      refusal = MakeError(ErrorReason::kQuotaExceeded,
                          absl::StrCat("this client has ", count,
                                       " requests for matching waiting; "
                                       "at most ",
                                       options_.max_requests_per_client, " may"));
    } else {
      ++count;
      auto request = std::make_unique<Request>();
      request->ticket = ticket;
      request->client = client;
      request->deadline = deadline;
      request->jobs = std::move(jobs);
      request->done = std::move(done);
      request->cancelled = std::make_shared<std::atomic<bool>>(false);
      for (MatchJob& job : request->jobs) {
        request->pairs += job.pair_count();
        job.cancelled = request->cancelled;
      }
      request->place = ClassOf(*request).queue.Push(client, request.get());
      waiting_.emplace(ticket, std::move(request));
      if (deadline != kNever) {
        deadlines_.insert({deadline, ticket});
        SetAlarm();
      }
    }
  }
  if (!refusal.ok()) {
    std::move(done)({.status = std::move(refusal)});
    return ticket;
  }
  Pump();
  return ticket;
}

void MatchQueue::Cancel(Ticket ticket) {
  std::unique_ptr<Request> request;
  {
    absl::MutexLock lock(&mutex_);
    const auto launched = launched_.find(ticket);
    if (launched != launched_.end()) launched->second->store(true, std::memory_order_relaxed);
    const auto entry = waiting_.find(ticket);
    if (entry == waiting_.end()) return;
    request = Take(*entry->second);
  }
  // A call whose deadline has passed is cancelled by gRPC, perhaps before the alarm comes.
  const bool is_late = clock_->Now() >= request->deadline;
  std::move(request->done)({.status = is_late ? Late() : Cancelled()});
}

std::unique_ptr<MatchQueue::Request> MatchQueue::Take(Request& request) {
  ClassOf(request).queue.Remove(request.place);
  if (request.deadline != kNever) deadlines_.erase({request.deadline, request.ticket});
  return Forget(request);
}

std::unique_ptr<MatchQueue::Request> MatchQueue::Forget(Request& request) {
  const auto count = waiting_of_client_.find(request.client);
  if (--count->second == 0) waiting_of_client_.erase(count);
  const auto entry = waiting_.find(request.ticket);
  std::unique_ptr<Request> owned = std::move(entry->second);
  waiting_.erase(entry);
  return owned;
}

bool MatchQueue::HasPlace(const Class& requests, const Request& next) const {
  if (requests.in_flight >= options_.max_in_flight) return false;
  return !IsLarge(next) || requests.in_flight == 0 ||
         requests.pairs_in_flight + next.pairs <= options_.max_large_pairs_in_flight;
}

std::unique_ptr<MatchQueue::Request> MatchQueue::TakeNext() {
  if (closed_) return nullptr;
  for (Class* const requests : {&small_, &large_}) {
    if (requests->queue.empty() || !HasPlace(*requests, *requests->queue.front())) continue;
    std::unique_ptr<Request> next = Forget(*requests->queue.Pop());
    ++requests->in_flight;
    requests->pairs_in_flight += next->pairs;
    ++busy_;
    launched_.emplace(next->ticket, next->cancelled);
    return next;
  }
  return nullptr;
}

void MatchQueue::SetAlarm() {
  // Only arms a timer: no callback runs inside.
  alarm_->Set(deadlines_.empty() ? kNever : deadlines_.begin()->first);
}

void MatchQueue::OnAlarm() {
  std::vector<std::unique_ptr<Request>> late;
  {
    absl::MutexLock lock(&mutex_);
    const SteadyTime now = clock_->Now();
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      const Ticket ticket = deadlines_.begin()->second;
      if (const auto launched = launched_.find(ticket); launched != launched_.end()) {
        launched->second->store(true, std::memory_order_relaxed);
        deadlines_.erase(deadlines_.begin());
      } else {
        late.push_back(Take(*waiting_.at(ticket)));
      }
    }
    SetAlarm();
    ++busy_;
  }
  for (auto& request : late) std::move(request->done)({.status = Late()});
  absl::MutexLock lock(&mutex_);
  --busy_;
}

void MatchQueue::Pump() {
  for (;;) {
    std::unique_ptr<Request> request;
    {
      absl::MutexLock lock(&mutex_);
      request = TakeNext();
    }
    if (request == nullptr) return;
    std::vector<MatchJob> jobs = std::move(request->jobs);
    backend_->SubmitMatches(std::move(jobs),
                            [this, request = std::move(request)](MatchBatchAnswer answer) mutable {
                              OnDone(std::move(request), std::move(answer));
                            });
  }
}

void MatchQueue::OnDone(std::unique_ptr<Request> request, MatchBatchAnswer answer) {
  bool is_late = false;
  {
    absl::MutexLock lock(&mutex_);
    Class& requests = ClassOf(*request);
    --requests.in_flight;
    requests.pairs_in_flight -= request->pairs;
    launched_.erase(request->ticket);
    deadlines_.erase({request->deadline, request->ticket});
    is_late = clock_->Now() >= request->deadline;
  }
  Pump();
  const std::optional<double> joules =
      observer_->OnMatchBatchFinished(static_cast<int>(answer.pairs.size()), answer.cost);
  // One that was cancelled too late has its answer.
  const bool is_cancelled =
      request->cancelled->load(std::memory_order_relaxed) &&
      std::any_of(answer.pairs.begin(), answer.pairs.end(), [](const MatchAnswer& pair) {
        return !pair.status.ok() && ReasonOf(pair.status) == ErrorReason::kCancelled;
      });
  if (is_late || is_cancelled) {
    std::move(request->done)({.status = is_late ? Late() : Cancelled(), .cost = answer.cost});
  } else {
    std::move(request->done)({.status = absl::OkStatus(),
                              .pairs = std::move(answer.pairs),
                              .cost = answer.cost,
                              .energy_joules = joules});
  }
  request.reset();
  absl::MutexLock lock(&mutex_);
  --busy_;
}

}  // namespace orbserve
