// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/match_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "features/errors.h"

namespace orbserve {
namespace {

absl::Status Draining() {
  return MakeError(ErrorReason::kDraining, "this server is about to stop; send to another one");
}

}  // namespace

MatchQueue::MatchQueue(FeatureBackend* backend, Clock* clock, ServingObserver* observer,
                       const MatchQueueOptions& options)
    : backend_(backend), clock_(clock), observer_(observer), options_(options) {}

MatchQueue::~MatchQueue() {
  std::vector<std::unique_ptr<Request>> left;
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    while (!waiting_.empty()) left.push_back(Take(*waiting_.begin()->second));
  }
  for (auto& request : left) std::move(request->done)({.status = Draining()});
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &MatchQueue::IsIdle));
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
      request->place = queue_.Push(client, request.get());
      waiting_.emplace(ticket, std::move(request));
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
    const auto entry = waiting_.find(ticket);
    if (entry == waiting_.end()) return;
    request = Take(*entry->second);
  }
  std::move(request->done)({.status = MakeError(ErrorReason::kCancelled, "the client cancelled")});
}

std::unique_ptr<MatchQueue::Request> MatchQueue::Take(Request& request) {
  queue_.Remove(request.place);
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

void MatchQueue::Pump() {
  for (;;) {
    std::unique_ptr<Request> request;
    bool is_late = false;
    {
      absl::MutexLock lock(&mutex_);
      if (closed_ || queue_.empty() || in_flight_ >= options_.max_in_flight) return;
      request = Forget(*queue_.Pop());
      is_late = clock_->Now() >= request->deadline;
      ++busy_;
      if (!is_late) ++in_flight_;
    }
    if (is_late) {
      std::move(request->done)(
          {.status = MakeError(ErrorReason::kDeadlineExceeded,
                               "the deadline passed before the matching was begun")});
      absl::MutexLock lock(&mutex_);
      --busy_;
      continue;
    }
    std::vector<MatchJob> jobs = std::move(request->jobs);
    backend_->SubmitMatches(std::move(jobs),
                            [this, request = std::move(request)](MatchBatchAnswer answer) mutable {
                              OnDone(std::move(request), std::move(answer));
                            });
  }
}

void MatchQueue::OnDone(std::unique_ptr<Request> request, MatchBatchAnswer answer) {
  {
    absl::MutexLock lock(&mutex_);
    --in_flight_;
  }
  Pump();
  const std::optional<double> joules =
      observer_->OnMatchBatchFinished(static_cast<int>(answer.pairs.size()), answer.cost);
  std::move(request->done)({.status = absl::OkStatus(),
                            .pairs = std::move(answer.pairs),
                            .cost = answer.cost,
                            .energy_joules = joules});
  absl::MutexLock lock(&mutex_);
  --busy_;
}

}  // namespace orbserve
