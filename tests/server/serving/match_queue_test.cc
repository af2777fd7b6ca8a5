// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/request_queue.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/server/serving/fake_clock.h"
#include "tests/server/serving/hand_backend.h"
#include "tests/server/serving/named_client.h"
#include "tests/server/serving/queue_observer.h"

namespace orbserve {
namespace {

using std::chrono::microseconds;

class MatchQueueTest : public ::testing::Test {
 protected:
  // Answers come inside the backend's.
  void Make(MatchQueueOptions options) {
    options.queue.ledger = &ledger_;
    queue_ = std::make_unique<MatchQueue>(&backend_, &clock_, &observer_, options);
  }
  // Requests are told apart by their number of query descriptors.
  MatchQueue::Ticket Submit(size_t number, const std::string& client, SteadyTime deadline = kNever,
                            size_t train_count = 0, size_t job_count = 1) {
    const std::vector<MatchJob> jobs(
        job_count, {std::make_shared<HandState>(number), std::make_shared<HandState>(train_count),
                    MatchOptions{}});
    const auto done = [this, number](MatchOutcome outcome) {
      EXPECT_FALSE(outcomes_.contains(number));
      outcomes_[number] = std::move(outcome);
    };
    return queue_->Submit(Named(client), deadline, jobs, done);
  }
  SteadyTime After(microseconds time) const { return clock_.Now() + time; }
  std::vector<size_t> Launched() const {
    std::vector<size_t> numbers;
    for (const auto& batch : backend_.matches) {
      numbers.push_back(batch.jobs[0].query->feature_count());
    }
    return numbers;
  }
  // Returns the numbers of the oldest batch with the backend, one for each job.
  std::vector<size_t> Together() const {
    std::vector<size_t> numbers;
    for (const MatchJob& job : backend_.matches.front().jobs) {
      numbers.push_back(job.query->feature_count());
    }
    return numbers;
  }
  ErrorReason ReasonFor(size_t number) { return ReasonOf(outcomes_.at(number).status); }

  Ledger ledger_;
  FakeClock clock_;
  HandBackend backend_;
  QueueObserver observer_{WorkKind::kMatches};
  std::map<size_t, MatchOutcome> outcomes_;
  std::unique_ptr<MatchQueue> queue_;
};

TEST_F(MatchQueueTest, RequestsBeyondTheBoundWaitAndClientsTakeTurns) {
  Make({.max_in_flight = 1, .max_batch_jobs = 1});
  for (const size_t number : {1, 2, 3}) Submit(number, "greedy");
  Submit(10, "b");
  std::vector<size_t> order;
  while (!backend_.matches.empty()) {
    ASSERT_EQ(backend_.matches.size(), 1u);
    order.push_back(backend_.matches.front().jobs[0].query->feature_count());
    backend_.FinishMatches();
  }
  EXPECT_EQ(order, (std::vector<size_t>{1, 2, 10, 3}));
  EXPECT_EQ(outcomes_[10].pairs[0].matches.distance[0], 10'000u);
}

TEST_F(MatchQueueTest, WhatComesMeanwhileGoesTogetherAndClientsTakeTurns) {
  Make({.max_in_flight = 2});
  Submit(1, "greedy");
  Submit(2, "b");
  EXPECT_EQ(Launched(), (std::vector<size_t>{1, 2})) << "at once while there is a place";
  for (const size_t number : {3, 4, 5}) Submit(number, "greedy");
  Submit(10, "b");
  Submit(20, "c", kNever, 0, 2);
  EXPECT_EQ(backend_.matches.size(), 2u);
  backend_.FinishMatches();
  backend_.FinishMatches();
  ASSERT_EQ(backend_.matches.size(), 1u);
  EXPECT_EQ(Together(), (std::vector<size_t>{3, 10, 20, 20, 4, 5}));
  backend_.FinishMatches();
  for (const size_t number : {1, 2, 3, 4, 5, 10, 20}) {
    const MatchOutcome& outcome = outcomes_.at(number);
    EXPECT_TRUE(outcome.status.ok());
    ASSERT_EQ(outcome.pairs.size(), number == 20 ? 2u : 1u);
    for (const MatchAnswer& pair : outcome.pairs) {
      EXPECT_EQ(pair.matches.distance[0], 1000 * number);
    }
  }
}

TEST_F(MatchQueueTest, BatchesAreBoundedInJobsAndPairs) {
  Make({.max_in_flight = 1, .max_batch_jobs = 3, .max_batch_size = 100});
  Submit(1, "a");
  Submit(2, "a", kNever, 0, 2);
  Submit(3, "a");
  Submit(4, "a", kNever, 0, 5);  // more than a batch may have: alone
  Submit(5, "a");
  Submit(6, "a", kNever, 10);
  Submit(7, "a", kNever, 10);  // 130 pairs with the one before it
  Submit(8, "a", kNever, 100);
  std::vector<std::vector<size_t>> batches;
  while (!backend_.matches.empty()) {
    batches.push_back(Together());
    backend_.FinishMatches();
  }
  EXPECT_EQ(batches,
            (std::vector<std::vector<size_t>>{{1}, {2, 2, 3}, {4, 4, 4, 4, 4}, {5, 6}, {7}, {8}}));
  EXPECT_EQ(outcomes_.size(), 8u);
}

TEST_F(MatchQueueTest, InABatchEachHasItsDeadlineAndItsCancellation) {
  Make({.max_in_flight = 1});
  Submit(1, "a");
  Submit(2, "a", clock_.Now() + microseconds(5));
  Submit(3, "b");
  const auto cancelled = Submit(4, "c", kNever, 0, 2);
  backend_.FinishMatches();
  ASSERT_EQ(Together(), (std::vector<size_t>{2, 3, 4, 4}));
  queue_->Cancel(cancelled);
  clock_.Advance(microseconds(5));
  std::vector<bool> stopped;
  for (const MatchJob& job : backend_.matches.front().jobs) stopped.push_back(*job.cancelled);
  EXPECT_EQ(stopped, (std::vector<bool>{true, false, true, true}));
  EXPECT_EQ(outcomes_.size(), 2u) << "the late one does not wait for the backend";
  backend_.FinishMatches();
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDeadlineExceeded);
  EXPECT_TRUE(outcomes_.at(3).status.ok());
  EXPECT_EQ(ReasonFor(4), ErrorReason::kCancelled);
}

TEST_F(MatchQueueTest, TooFewAnswersOfTheBackendAreNobodyElses) {
  Make({.max_in_flight = 1});
  for (const size_t number : {1, 2, 3}) Submit(number, "a");
  backend_.FinishMatches();
  ASSERT_EQ(Together(), (std::vector<size_t>{2, 3}));
  HandBackend::MatchBatch batch = std::move(backend_.matches.front());
  backend_.matches.clear();
  MatchBatchAnswer answer;
  answer.pairs.resize(1);
  answer.pairs[0].matches.distance = {42};
  std::move(batch.done)(std::move(answer));
  ASSERT_EQ(outcomes_.at(2).pairs.size(), 1u);
  EXPECT_EQ(outcomes_.at(2).pairs[0].matches.distance[0], 42u);
  ASSERT_EQ(outcomes_.at(3).pairs.size(), 1u);
  EXPECT_EQ(ReasonOf(outcomes_.at(3).pairs[0].status), ErrorReason::kInternal);
}

TEST_F(MatchQueueTest, ThreadsOfAPoolAnswerABatchAndAreWaitedFor) {
  WorkerPool answerers({.threads = 3});
  constexpr int kTogether = 12;
  std::mutex mutex;
  std::vector<std::thread::id> threads;  // of each answer
  auto queue = std::make_unique<MatchQueue>(
      &backend_, &clock_, &observer_,
      MatchQueueOptions{.max_in_flight = 1, .queue = {.answerers = &answerers}});
  for (int i = 0; i < 1 + kTogether; ++i) {
    queue->Submit(Named("a"), kNever,
                  {{std::make_shared<HandState>(1), std::make_shared<HandState>(1), {}}},
                  [&](MatchOutcome outcome) {
                    EXPECT_TRUE(outcome.status.ok());
                    EXPECT_EQ(outcome.pairs.size(), 1u);
                    std::this_thread::sleep_for(std::chrono::milliseconds(5));
                    const std::lock_guard<std::mutex> lock(mutex);
                    threads.push_back(std::this_thread::get_id());
                  });
  }
  const std::thread::id own = std::this_thread::get_id();
  backend_.FinishMatches();
  EXPECT_EQ(threads, std::vector<std::thread::id>{own}) << "one alone is answered at once";
  backend_.FinishMatches();
  EXPECT_TRUE(backend_.matches.empty());
  queue.reset();
  ASSERT_EQ(threads.size(), size_t{1 + kTogether});
  EXPECT_EQ(std::count(threads.begin() + 1, threads.end(), own), 0);
}

TEST_F(MatchQueueTest, AnAnswerHasTheEnergyOfItsBatchWhereItIsKnown) {
  Make({});
  Submit(1, "a");
  Submit(2, "a");
  backend_.FinishMatches();
  observer_.joules = 0.25;
  backend_.FinishMatches();
  EXPECT_FALSE(outcomes_[1].energy_joules.has_value());
  EXPECT_EQ(outcomes_[2].energy_joules, 0.25);
}

TEST_F(MatchQueueTest, TheEnergyOfABatchIsSharedByItsJobs) {
  Make({.max_in_flight = 1});
  Submit(1, "a");
  Submit(2, "a");
  Submit(3, "a", kNever, 0, 3);
  backend_.FinishMatches();
  observer_.joules = 0.5;
  backend_.FinishMatches();
  EXPECT_EQ(outcomes_[2].energy_joules, 0.125);
  EXPECT_EQ(outcomes_[3].energy_joules, 0.375);
}

TEST_F(MatchQueueTest, LateRequestsAreNotLaunched) {
  Make({.max_in_flight = 1});
  Submit(1, "a");
  Submit(2, "a", After(microseconds(5)));
  clock_.Advance(microseconds(5));
  backend_.FinishMatches();
  EXPECT_TRUE(backend_.matches.empty());
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDeadlineExceeded);
}

TEST_F(MatchQueueTest, CancellationFreesThePlaceAtOnce) {
  Make({.max_in_flight = 1, .queue = {.max_items = 1}});
  const auto running = Submit(1, "a");
  const auto waiting = Submit(2, "a");
  queue_->Cancel(waiting);
  EXPECT_EQ(ReasonFor(2), ErrorReason::kCancelled);
  queue_->Cancel(running);
  EXPECT_FALSE(outcomes_.contains(1));
  Submit(3, "a");
  EXPECT_FALSE(outcomes_.contains(3));
  backend_.FinishMatches();
  backend_.FinishMatches();
  EXPECT_EQ(ReasonFor(1), ErrorReason::kCancelled);
  EXPECT_TRUE(outcomes_[3].status.ok());
}

TEST_F(MatchQueueTest, WhatWasCancelledTooLateHasItsAnswer) {
  Make({});
  queue_->Cancel(Submit(1, "a"));
  EXPECT_TRUE(backend_.matches[0].jobs[0].cancelled->load());
  backend_.FinishMatches(absl::OkStatus(), /*stops=*/false);
  EXPECT_TRUE(outcomes_[1].status.ok());
  EXPECT_EQ(outcomes_[1].pairs[0].matches.count(), 1u);
}

TEST_F(MatchQueueTest, ADeadlineIsAnsweredAtItsMomentAndStopsWhatIsRunning) {
  Make({.max_in_flight = 1});
  const SteadyTime deadline = After(microseconds(5));
  Submit(1, "a", deadline);
  Submit(2, "a", deadline);
  Submit(3, "a", deadline + microseconds(5));
  const auto running = backend_.matches[0].jobs[0].cancelled;
  clock_.Advance(microseconds(4));
  EXPECT_TRUE(outcomes_.empty());
  EXPECT_FALSE(running->load());
  clock_.Advance(microseconds(1));
  EXPECT_EQ(outcomes_.size(), 2u);
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDeadlineExceeded);
  EXPECT_TRUE(running->load());
  backend_.FinishMatches();
  EXPECT_EQ(ReasonFor(1), ErrorReason::kDeadlineExceeded);
  // The next one's deadline had its alarm too, and an answer in time is none too late.
  backend_.FinishMatches();
  EXPECT_TRUE(outcomes_[3].status.ok());
  clock_.Advance(microseconds(10));
  EXPECT_EQ(outcomes_.size(), 3u);
}

TEST_F(MatchQueueTest, AnAnswerAfterTheDeadlineIsLate) {
  Make({});
  Submit(1, "a", After(microseconds(5)));
  clock_.Advance(microseconds(5));
  backend_.FinishMatches(absl::OkStatus(), /*stops=*/false);
  EXPECT_EQ(ReasonFor(1), ErrorReason::kDeadlineExceeded);
  Submit(2, "a", clock_.Now());
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDeadlineExceeded);
  EXPECT_TRUE(backend_.matches.empty());
}

TEST_F(MatchQueueTest, ACancellationAfterTheDeadlineIsLate) {
  // gRPC cancels a call at its deadline, and may be there before the alarm.
  Make({.max_in_flight = 1});
  Submit(1, "a");
  MatchQueue::Ticket late = 0;
  const auto alarm = clock_.MakeAlarm([&] { queue_->Cancel(late); });
  const SteadyTime deadline = After(microseconds(5));
  alarm->Set(deadline);
  late = Submit(2, "a", deadline);
  clock_.Advance(microseconds(5));
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDeadlineExceeded);
  backend_.FinishMatches();
}

TEST_F(MatchQueueTest, LargeRequestsHaveOnePlaceAndSmallOnesPassThem) {
  Make({.max_in_flight = 2, .max_small_size = 1000, .max_large_size_in_flight = 1000});
  Submit(11, "greedy", kNever, 100);
  Submit(12, "greedy", kNever, 100);
  Submit(13, "greedy", kNever, 100);
  Submit(14, "b", kNever, 100);
  Submit(10, "greedy", kNever, 100);  // as many pairs as a small one may have
  Submit(1, "b");
  EXPECT_EQ(Launched(), (std::vector<size_t>{11, 10, 1}));
  backend_.FinishMatches();
  EXPECT_EQ(Launched(), (std::vector<size_t>{10, 1, 14})) << "greedy has had two";
  backend_.FinishAllMatches();
  EXPECT_EQ(outcomes_.size(), 6u);
}

TEST_F(MatchQueueTest, LargeRequestsShareTheirPairs) {
  Make({.max_in_flight = 3, .max_small_size = 0, .max_large_size_in_flight = 100});
  Submit(5, "a", kNever, 10);
  Submit(4, "a", kNever, 10);
  Submit(2, "a", kNever, 10);
  Submit(1, "a", kNever, 10);
  EXPECT_EQ(Launched(), (std::vector<size_t>{5, 4}));  // 90 pairs; 20 more do not fit
  backend_.FinishMatches();
  EXPECT_EQ(Launched(), (std::vector<size_t>{4, 2, 1}));
  backend_.FinishAllMatches();
  EXPECT_EQ(outcomes_.size(), 4u);
}

TEST_F(MatchQueueTest, WhatWaitingRequestsHoldIsBounded) {
  Make({.max_in_flight = 1, .queue = {.max_bytes = 100}});
  // Both sides count.
  const auto hold = [&](size_t number, size_t bytes) {
    return Submit(number, absl::StrCat("client ", number), kNever, bytes - number);
  };
  hold(1, 90);  // with the backend: waits no more
  const auto waiting = hold(2, 60);
  hold(3, 41);
  EXPECT_EQ(ReasonFor(3), ErrorReason::kQueueFull);
  hold(4, 40);
  queue_->Cancel(waiting);
  hold(5, 60);
  hold(6, 6);
  EXPECT_EQ(ReasonFor(6), ErrorReason::kQueueFull);
  backend_.FinishAllMatches();
  for (const size_t number : {1, 4, 5}) EXPECT_TRUE(outcomes_[number].status.ok());
  // One alone may hold more.
  hold(8, 8);
  hold(9, 1000);
  backend_.FinishAllMatches();
  EXPECT_TRUE(outcomes_[9].status.ok());
}

TEST_F(MatchQueueTest, AStateThatManyWaitForIsHeldOnce) {
  Make({.max_in_flight = 1, .queue = {.max_bytes = 100}});
  const auto reference = std::make_shared<HandState>(60);
  const auto match = [&](size_t number) {
    return queue_->Submit(
        Named(absl::StrCat("client ", number)), kNever,
        {{std::make_shared<HandState>(number), reference, MatchOptions{}}},
        [this, number](MatchOutcome outcome) { outcomes_[number] = std::move(outcome); });
  };
  Submit(1, "a");
  const auto first = match(10);
  match(11);
  match(20);  // 101
  EXPECT_EQ(ReasonFor(20), ErrorReason::kQueueFull);
  match(12);
  queue_->Cancel(first);
  match(8);  // the reference is still held
  match(13);
  EXPECT_EQ(ReasonFor(13), ErrorReason::kQueueFull);
  backend_.FinishAllMatches();
  match(21);
  match(39);
  backend_.FinishAllMatches();
  for (const size_t number : {11, 12, 8, 21, 39}) EXPECT_TRUE(outcomes_[number].status.ok());
}

TEST_F(MatchQueueTest, ItsUseIsWhatWaits) {
  Make({.max_in_flight = 1, .queue = {.max_items = 7, .max_bytes = 1000}});
  EXPECT_EQ(ledger_.bounds(Resource::kMatches).all, 7);
  EXPECT_EQ(ledger_.bounds(Resource::kMatchBytes).all, 1000);
  Submit(1, "a", kNever, 50);
  EXPECT_EQ(ledger_.held(Resource::kMatches), 0) << "it is with the backend";
  EXPECT_EQ(ledger_.held(Resource::kMatchBytes), 0);
  const auto waiting = Submit(2, "a", kNever, 50);
  Submit(3, "b", kNever, 50);
  EXPECT_EQ(ledger_.held(Resource::kMatches), 2);
  EXPECT_EQ(ledger_.held(Resource::kMatchBytes), 105);
  queue_->Cancel(waiting);
  EXPECT_EQ(ledger_.held(Resource::kMatches), 1);
  EXPECT_EQ(ledger_.held(Resource::kMatchBytes), 53);
  backend_.FinishAllMatches();
  EXPECT_EQ(ledger_.held(Resource::kMatches), 0);
  EXPECT_EQ(ledger_.held(Resource::kMatchBytes), 0);
}

TEST_F(MatchQueueTest, DepthAndWaitAreObserved) {
  Make({.max_in_flight = 1});
  Submit(1, "a");
  EXPECT_EQ(ledger_.held(Resource::kMatches), 0) << "it went at once";
  Submit(2, "a");
  clock_.Advance(microseconds(10));
  Submit(3, "b");
  const auto cancelled = Submit(4, "b");
  Submit(5, "c", After(microseconds(10)));
  EXPECT_EQ(ledger_.held(Resource::kMatches), 4);
  queue_->Cancel(cancelled);
  EXPECT_EQ(ledger_.held(Resource::kMatches), 3);
  clock_.Advance(microseconds(20));
  EXPECT_EQ(ledger_.held(Resource::kMatches), 2) << "a deadline passed";
  backend_.FinishMatches();
  EXPECT_EQ(ledger_.held(Resource::kMatches), 0);
  clock_.Advance(microseconds(100));  // with the backend
  backend_.FinishMatches();
  EXPECT_EQ(outcomes_.at(1).queued, microseconds(0));
  EXPECT_EQ(outcomes_.at(2).queued, microseconds(30));
  EXPECT_EQ(outcomes_.at(3).queued, microseconds(20));
  // A refused request never waits.
  Submit(6, "a", clock_.Now());
}

TEST_F(MatchQueueTest, EveryRequestIsAnswered) {
  Make({.max_in_flight = 1, .queue = {.max_items = 2}});
  Submit(1, "a");
  const auto cancelled = Submit(2, "a");
  Submit(3, "b");
  Submit(4, "c");  // no room
  EXPECT_EQ(queue_->open_items(), 3);
  queue_->Cancel(cancelled);
  backend_.FinishAllMatches();
  EXPECT_TRUE(outcomes_.at(1).status.ok());
  EXPECT_EQ(ReasonFor(2), ErrorReason::kCancelled);
  EXPECT_TRUE(outcomes_.at(3).status.ok());
  EXPECT_EQ(ReasonFor(4), ErrorReason::kQueueFull);
  EXPECT_EQ(queue_->open_items(), 0);
}

TEST_F(MatchQueueTest, TheDestructorAnswersWhatWaits) {
  Make({.max_in_flight = 1});
  Submit(1, "a");
  Submit(2, "a");
  std::thread backend([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    backend_.FinishMatches();
  });
  queue_.reset();
  backend.join();
  EXPECT_TRUE(outcomes_.at(1).status.ok());
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDraining);
}

TEST_F(MatchQueueTest, QueueAndClientAreBounded) {
  Make({.max_in_flight = 1, .queue = {.max_items = 2, .max_items_per_client = 1}});
  Submit(1, "a");
  Submit(2, "a");
  Submit(3, "a");
  EXPECT_EQ(ReasonFor(3), ErrorReason::kQuotaExceeded);
  Submit(4, "b");
  Submit(5, "c");
  EXPECT_EQ(ReasonFor(5), ErrorReason::kQueueFull);
  backend_.FinishAllMatches();
  EXPECT_TRUE(outcomes_[4].status.ok());
}

}  // namespace
}  // namespace orbserve
