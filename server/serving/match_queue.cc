// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/match_queue.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
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
  if (options_.answer_threads > 0) {
    answer_threads_ = std::make_unique<WorkerPool>(options_.answer_threads);
  }
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
    const int64_t bytes_before = waiting_bytes_;
    HoldStates(jobs);
    if (closed_) {
      refusal = Draining();
    } else if (clock_->Now() >= deadline) {
      refusal = Late();
    } else if (waiting_.size() >= static_cast<size_t>(options_.max_requests) ||
               (!waiting_.empty() && waiting_bytes_ > options_.max_bytes)) {
      refusal = MakeError(
          ErrorReason::kQueueFull,
          absl::StrCat("the queue for matching is full: ", waiting_.size(), " requests with ",
                       bytes_before, " bytes wait; at most ", options_.max_requests,
                       " requests and ", options_.max_bytes, " bytes may"));
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
      request->job_count = request->jobs.size();
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
    if (!refusal.ok()) LetGoStates(jobs);
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

QueueUse MatchQueue::use() const {
  absl::MutexLock lock(&mutex_);
  return {.items = static_cast<int64_t>(waiting_.size()),
          .bytes = waiting_bytes_,
          .max_items = options_.max_requests,
          .max_bytes = options_.max_bytes};
}

void MatchQueue::HoldStates(const std::vector<MatchJob>& jobs) {
  for (const MatchJob& job : jobs) {
    for (const FrameState* const state : {job.query.get(), job.train.get()}) {
      HeldState& held = held_states_[state];
      if (held.uses++ > 0) continue;
      held.bytes = static_cast<int64_t>(state->size_bytes());
      waiting_bytes_ += held.bytes;
    }
  }
}

void MatchQueue::LetGoStates(const std::vector<MatchJob>& jobs) {
  for (const MatchJob& job : jobs) {
    for (const FrameState* const state : {job.query.get(), job.train.get()}) {
      const auto held = held_states_.find(state);
      if (--held->second.uses > 0) continue;
      waiting_bytes_ -= held->second.bytes;
      held_states_.erase(held);
    }
  }
}

std::unique_ptr<MatchQueue::Request> MatchQueue::Take(Request& request) {
  ClassOf(request).queue.Remove(request.place);
  if (request.deadline != kNever) deadlines_.erase({request.deadline, request.ticket});
  return Forget(request);
}

std::unique_ptr<MatchQueue::Request> MatchQueue::Forget(Request& request) {
  LetGoStates(request.jobs);
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

MatchQueue::Batch MatchQueue::TakeNext() {
  Batch batch;
  if (closed_) return batch;
  for (Class* const requests : {&small_, &large_}) {
    uint64_t pairs = 0;
    size_t jobs = 0;
    while (!requests->queue.empty()) {
      const Request& next = *requests->queue.front();
      if (batch.empty()) {
        if (!HasPlace(*requests, next)) break;
      } else if (IsLarge(next) || pairs + next.pairs > options_.max_batch_pairs ||
                 jobs + next.job_count > static_cast<size_t>(options_.max_batch_jobs)) {
        break;
      }
      pairs += next.pairs;
      jobs += next.job_count;
      batch.push_back(Forget(*requests->queue.Pop()));
      launched_.emplace(batch.back()->ticket, batch.back()->cancelled);
    }
    if (batch.empty()) continue;
    ++requests->in_flight;
    requests->pairs_in_flight += pairs;
    ++busy_;
    return batch;
  }
  return batch;
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
    Batch batch;
    {
      absl::MutexLock lock(&mutex_);
      batch = TakeNext();
    }
    if (batch.empty()) return;
    std::vector<MatchJob> jobs;
    for (const auto& request : batch) {
      std::move(request->jobs.begin(), request->jobs.end(), std::back_inserter(jobs));
      request->jobs.clear();
    }
    backend_->SubmitMatches(std::move(jobs),
                            [this, batch = std::move(batch)](MatchBatchAnswer answer) mutable {
                              OnDone(std::move(batch), std::move(answer));
                            });
  }
}

void MatchQueue::OnDone(Batch batch, MatchBatchAnswer answer) {
  SteadyTime now;
  size_t jobs = 0;
  {
    absl::MutexLock lock(&mutex_);
    Class& requests = ClassOf(*batch.front());
    --requests.in_flight;
    for (const auto& request : batch) {
      jobs += request->job_count;
      requests.pairs_in_flight -= request->pairs;
      launched_.erase(request->ticket);
      deadlines_.erase({request->deadline, request->ticket});
    }
    now = clock_->Now();
  }
  Pump();
  const std::optional<double> joules = observer_->OnBatchFinished(
      WorkKind::kMatches, static_cast<int>(answer.pairs.size()), answer.cost);
  std::vector<Answer> answers;
  answers.reserve(batch.size());
  // Of each request, in their order.
  auto next_pair = answer.pairs.begin();
  for (const auto& request : batch) {
    MatchOutcome outcome;
    outcome.cost = answer.cost;
    // Too few of them are noticed by who asked.
    const auto end = next_pair + std::min<ptrdiff_t>(static_cast<ptrdiff_t>(request->job_count),
                                                     answer.pairs.end() - next_pair);
    // One that was cancelled too late has its answer.
    const bool is_cancelled =
        request->cancelled->load(std::memory_order_relaxed) &&
        std::any_of(next_pair, end, [](const MatchAnswer& pair) {
          return !pair.status.ok() && ReasonOf(pair.status) == ErrorReason::kCancelled;
        });
    if (now >= request->deadline) {
      outcome.status = Late();
    } else if (is_cancelled) {
      outcome.status = Cancelled();
    } else {
      outcome.pairs.assign(std::make_move_iterator(next_pair), std::make_move_iterator(end));
      if (joules.has_value()) {
        outcome.energy_joules =
            *joules * static_cast<double>(request->job_count) / static_cast<double>(jobs);
      }
    }
    next_pair = end;
    answers.push_back({std::move(request->done), std::move(outcome)});
  }
  batch.clear();
  GiveAnswers(std::move(answers));
  absl::MutexLock lock(&mutex_);
  --busy_;
}

void MatchQueue::GiveAnswers(std::vector<Answer> answers) {
  const auto give = [](std::vector<Answer>& some) {
    for (Answer& answer : some) std::move(answer.done)(std::move(answer.outcome));
  };
  if (answer_threads_ == nullptr || answers.size() == 1) {
    give(answers);
    return;
  }
  const auto threads = static_cast<size_t>(options_.answer_threads);
  const size_t each = (answers.size() + threads - 1) / threads;
  for (size_t first = 0; first < answers.size(); first += each) {
    const size_t end = std::min(first + each, answers.size());
    const auto from = std::make_move_iterator(answers.begin());
    std::vector<Answer> some(from + static_cast<ptrdiff_t>(first),
                             from + static_cast<ptrdiff_t>(end));
    {
      absl::MutexLock lock(&mutex_);
      ++busy_;
    }
    answer_threads_->Run("", [this, give, some = std::move(some)]() mutable {
      give(some);
      some.clear();
      absl::MutexLock lock(&mutex_);
      --busy_;
    });
  }
}

}  // namespace orbserve
