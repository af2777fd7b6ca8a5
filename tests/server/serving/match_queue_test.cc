// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/match_queue.h"

#include <map>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "tests/server/serving/fake_clock.h"
#include "tests/server/serving/hand_backend.h"

namespace orbserve {
namespace {

class EnergyObserver final : public ServingObserver {
 public:
  std::optional<double> OnMatchBatchFinished(int, const BatchCost&) override { return joules; }
  std::optional<double> joules;
};

class MatchQueueTest : public ::testing::Test {
 protected:
  void Make(const MatchQueueOptions& options) {
    queue_ = std::make_unique<MatchQueue>(&backend_, &clock_, &observer_, options);
  }
  MatchQueue::Ticket Submit(size_t number, const std::string& client,
                            SteadyTime deadline = kNever) {
    std::vector<MatchJob> jobs;
    jobs.push_back(
        {std::make_shared<HandState>(number), std::make_shared<HandState>(0), MatchOptions{}});
    return queue_->Submit(client, deadline, std::move(jobs), [this, number](MatchOutcome outcome) {
      EXPECT_FALSE(outcomes_.contains(number));
      outcomes_[number] = std::move(outcome);
    });
  }
  ErrorReason ReasonFor(size_t number) { return ReasonOf(outcomes_.at(number).status); }

  FakeClock clock_;
  HandBackend backend_;
  EnergyObserver observer_;
  std::map<size_t, MatchOutcome> outcomes_;
  std::unique_ptr<MatchQueue> queue_;
};

TEST_F(MatchQueueTest, RequestsBeyondTheBoundWaitAndClientsTakeTurns) {
  Make({.max_in_flight = 1});
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

TEST_F(MatchQueueTest, LateRequestsAreNotLaunched) {
  Make({.max_in_flight = 1});
  Submit(1, "a");
  Submit(2, "a", clock_.Now() + std::chrono::microseconds(5));
  clock_.Advance(std::chrono::microseconds(5));
  backend_.FinishMatches();
  EXPECT_TRUE(backend_.matches.empty());
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDeadlineExceeded);
}

TEST_F(MatchQueueTest, CancellationFreesThePlaceAtOnce) {
  Make({.max_in_flight = 1, .max_requests = 1});
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
  EXPECT_TRUE(outcomes_[1].status.ok());
  EXPECT_TRUE(outcomes_[3].status.ok());
}

TEST_F(MatchQueueTest, QueueAndClientAreBounded) {
  Make({.max_in_flight = 1, .max_requests = 2, .max_requests_per_client = 1});
  Submit(1, "a");
  Submit(2, "a");
  Submit(3, "a");
  EXPECT_EQ(ReasonFor(3), ErrorReason::kQuotaExceeded);
  Submit(4, "b");
  Submit(5, "c");
  EXPECT_EQ(ReasonFor(5), ErrorReason::kQueueFull);
  while (!backend_.matches.empty()) backend_.FinishMatches();
  EXPECT_TRUE(outcomes_[4].status.ok());
}

}  // namespace
}  // namespace orbserve
