// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/batcher.h"

#include <map>
#include <optional>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/serving/fake_clock.h"
#include "tests/server/serving/hand_backend.h"
#include "tests/server/serving/named_client.h"

namespace orbserve {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class EnergyObserver final : public ServingObserver {
 public:
  std::optional<double> OnBatchFinished(WorkKind, int, const BatchCost&) override {
    return batch_joules;
  }
  std::optional<double> batch_joules;
};

class BatcherTest : public ::testing::Test {
 protected:
  void Make(BatcherOptions options) {
    if (options.queue.ledger == nullptr) options.queue.ledger = &ledger_;
    batcher_ = std::make_unique<Batcher>(&backend_, &clock_, &observer_, options);
  }

  // Admits the frame called `number`; its outcome appears in outcomes_.
  Batcher::Ticket Admit(int number, const std::string& client, SteadyTime deadline = kNever,
                        int64_t bytes = 1) {
    ++admitted_;
    const auto frame = std::make_shared<FrameRecord>();
    frame->client = Named(client);
    frame->deadline = deadline;
    frame->message_bytes = bytes;
    frame->done = [this, number](FrameRecord& done) {
      EXPECT_FALSE(outcomes_.contains(number)) << "frame " << number << " was answered twice";
      outcomes_[number] = std::move(done.outcome);
    };
    return batcher_->Admit(frame) ? frame->ticket : 0;
  }

  void Ready(Batcher::Ticket ticket, int number, const std::shared_ptr<FeaturePlan>& plan = nullptr,
             std::shared_ptr<TaskMemory> memory = nullptr) {
    FrameJob job;
    job.parameters.max_features = number;
    batcher_->Ready(ticket, plan == nullptr ? plan_ : plan, std::move(job), std::move(memory));
  }

  Batcher::Ticket Send(int number, const std::string& client, SteadyTime deadline = kNever,
                       const std::shared_ptr<FeaturePlan>& plan = nullptr) {
    const Batcher::Ticket ticket = Admit(number, client, deadline);
    if (ticket != 0) Ready(ticket, number, plan);
    return ticket;
  }

  std::optional<ErrorReason> ReasonFor(int number) const {
    const auto entry = outcomes_.find(number);
    if (entry == outcomes_.end() || entry->second.status.ok()) return std::nullopt;
    return ReasonOf(entry->second.status);
  }
  bool IsOk(int number) const {
    const auto entry = outcomes_.find(number);
    return entry != outcomes_.end() && entry->second.status.ok();
  }

  void ExpectBalanced() const {
    EXPECT_EQ(admitted_, static_cast<int>(outcomes_.size()) + batcher_->open_items());
  }

  Ledger ledger_;
  FakeClock clock_;
  HandBackend backend_;
  EnergyObserver observer_;
  std::shared_ptr<FeaturePlan> plan_ = std::make_shared<HandPlan>(PlanSpec{640, 480, {}}, 64);
  std::map<int, FrameOutcome> outcomes_;
  int admitted_ = 0;
  std::unique_ptr<Batcher> batcher_;  // last: answers what is left when it goes
};

TEST_F(BatcherTest, AnIdleBackendGetsAFrameAtOnceWithoutDelay) {
  Make({});
  Send(1, "a");
  ASSERT_EQ(backend_.batches.size(), 1u);
  EXPECT_THAT(outcomes_, IsEmpty());
  backend_.FinishBatch();
  EXPECT_TRUE(IsOk(1));
  EXPECT_EQ(outcomes_[1].batch_frames, 1);
  EXPECT_EQ(outcomes_[1].features->count(), 1u);
  ExpectBalanced();
}

TEST_F(BatcherTest, FramesGatherWhileTheBackendIsBusy) {
  Make({.max_batch_frames = 4, .max_batches_in_flight = 1});
  for (int i = 1; i <= 6; ++i) Send(i, "a");
  ASSERT_EQ(backend_.batches.size(), 1u);
  EXPECT_THAT(backend_.Numbers(0), ElementsAre(1));
  backend_.FinishBatch();
  ASSERT_EQ(backend_.batches.size(), 1u);
  EXPECT_THAT(backend_.Numbers(0), ElementsAre(2, 3, 4, 5));
  backend_.FinishBatch();
  EXPECT_THAT(backend_.Numbers(0), ElementsAre(6));
  backend_.FinishBatch();
  ExpectBalanced();
  EXPECT_EQ(ledger_.held(Resource::kFrames), 0);
}

TEST_F(BatcherTest, AnOwnerWhoseFileTheDeviceLeftToTheHostDecodesThereForAWhile) {
  Make({.max_batch_frames = 4});
  Send(1, "a");
  Send(2, "b");
  backend_.frames_decoded_on_host = {1};
  backend_.FinishBatch();
  backend_.FinishBatch();
  EXPECT_TRUE(batcher_->ShouldDecodeOnHost(Named("a").owner));
  EXPECT_FALSE(batcher_->ShouldDecodeOnHost(Named("b").owner));
  clock_.Advance(std::chrono::milliseconds(9'999));
  EXPECT_TRUE(batcher_->ShouldDecodeOnHost(Named("a").owner));
  clock_.Advance(std::chrono::milliseconds(1));
  EXPECT_FALSE(batcher_->ShouldDecodeOnHost(Named("a").owner));
}

TEST_F(BatcherTest, EverybodyDecodesOnTheHostWhileTooManyOwnersHaveTo) {
  Make({.max_batch_frames = 2000, .queue = {.max_items = 2000}});
  for (int i = 0; i < 1024; ++i) {
    backend_.frames_decoded_on_host.insert(i);
    Send(i, "owner-" + std::to_string(i));
    while (!backend_.batches.empty()) backend_.FinishBatch();
  }
  EXPECT_TRUE(batcher_->ShouldDecodeOnHost("somebody else"));
  clock_.Advance(std::chrono::seconds(10));
  backend_.frames_decoded_on_host = {2000};
  Send(2000, "late");
  backend_.FinishBatch();
  EXPECT_FALSE(batcher_->ShouldDecodeOnHost("somebody else"));
  EXPECT_TRUE(batcher_->ShouldDecodeOnHost(Named("late").owner));
}

TEST_F(BatcherTest, FramesShareTheEnergyOfTheirBatch) {
  Make({.max_batch_frames = 4, .max_batches_in_flight = 1});
  for (int i = 1; i <= 5; ++i) Send(i, "a");
  backend_.FinishBatch();
  EXPECT_FALSE(outcomes_[1].energy_joules.has_value());  // nobody knows
  observer_.batch_joules = 2.0;
  backend_.FinishBatch();
  for (int i = 2; i <= 5; ++i) EXPECT_EQ(outcomes_[i].energy_joules, 0.5);
}

TEST_F(BatcherTest, APlanWithASmallerBatchIsRespected) {
  Make({.max_batch_frames = 16,
        .max_batch_time = std::chrono::seconds(100),
        .max_batches_in_flight = 1});
  plan_ = std::make_shared<HandPlan>(PlanSpec{8000, 8000, {}}, 2);
  for (int i = 1; i <= 4; ++i) Send(i, "a");
  backend_.FinishBatch();
  EXPECT_THAT(backend_.Numbers(0), ElementsAre(2, 3));
  backend_.FinishBatch();
  backend_.FinishBatch();
}

TEST_F(BatcherTest, AFrameWaitsForOthersAtMostTheDelay) {
  Make({.max_batch_frames = 8, .max_delay = microseconds(500)});
  Send(1, "a");
  clock_.Advance(microseconds(300));
  Send(2, "b");
  clock_.Advance(microseconds(199));
  EXPECT_TRUE(backend_.batches.empty());
  clock_.Advance(microseconds(1));
  ASSERT_EQ(backend_.batches.size(), 1u);
  EXPECT_THAT(backend_.Numbers(0), ElementsAre(1, 2));
  backend_.FinishBatch();
  EXPECT_EQ(outcomes_[1].times.spent(FramePhase::kQueue), microseconds(500));
  EXPECT_EQ(outcomes_[2].times.spent(FramePhase::kQueue), microseconds(200));
}

TEST_F(BatcherTest, AFullBatchDoesNotWaitForTheDelay) {
  Make({.max_batch_frames = 2, .max_delay = microseconds(500)});
  Send(1, "a");
  Send(2, "a");
  ASSERT_EQ(backend_.batches.size(), 1u);
  backend_.FinishBatch();
}

TEST_F(BatcherTest, ClientsWithEqualFramesTakeTurnsInsideABatch) {
  Make({.max_batch_frames = 4, .max_batches_in_flight = 1});
  Send(99, "first");
  for (int i = 1; i <= 64; ++i) Send(i, "greedy");
  Send(101, "b");
  Send(102, "c");
  Send(103, "d");
  backend_.FinishBatch();
  EXPECT_THAT(backend_.Numbers(0), ElementsAre(1, 101, 102, 103));
  backend_.FinishBatch();
  EXPECT_THAT(backend_.Numbers(0), ElementsAre(2, 3, 4, 5));
  while (!backend_.batches.empty()) backend_.FinishBatch();
  ExpectBalanced();
}

TEST_F(BatcherTest, ClientsShareTheWorkOfTheirFramesAndNotTheirNumber) {
  Make({.max_batch_frames = 1, .max_batches_in_flight = 1});
  // Ten times as many pixels, and so much for each frame that a few features do not count.
  const auto large = std::make_shared<HandPlan>(PlanSpec{6400, 1500, {}}, 64);
  const auto small = std::make_shared<HandPlan>(PlanSpec{640, 1500, {}}, 64);
  for (int i = 1; i <= 20; ++i) Send(i, "large", kNever, large);
  for (int i = 101; i <= 140; ++i) Send(i, "small", kNever, small);
  int small_ones = 0;
  int large_ones = 0;
  for (int i = 0; i < 33; ++i) {
    ++(backend_.Numbers(0)[0] > 100 ? small_ones : large_ones);
    backend_.FinishBatch();
  }
  EXPECT_NEAR(large_ones, 4, 1);
  EXPECT_NEAR(small_ones, 29, 1);
  while (!backend_.batches.empty()) backend_.FinishBatch();
}

TEST_F(BatcherTest, WhatFramesOfAPlanTookCountsAndNotWhatWasExpected) {
  Make({.max_batch_frames = 1, .max_batches_in_flight = 1});
  // Equal sizes; but one plan takes a hundred times as long.
  const auto slow = std::make_shared<HandPlan>(PlanSpec{640, 480, {}}, 64);
  const auto fast = std::make_shared<HandPlan>(PlanSpec{640, 480, {}}, 64);
  for (int i = 1; i <= 20; ++i) Send(i, "slow", kNever, slow);
  for (int i = 101; i <= 200; ++i) Send(i, "fast", kNever, fast);
  int slow_ones = 0;
  for (int i = 0; i < 100; ++i) {
    const bool is_slow = backend_.Numbers(0)[0] < 100;
    slow_ones += is_slow ? 1 : 0;
    backend_.work_ns = is_slow ? 10'000'000 : 100'000;
    backend_.FinishBatch();
  }
  EXPECT_LE(slow_ones, 3);
  while (!backend_.batches.empty()) backend_.FinishBatch();
}

TEST_F(BatcherTest, ABatchIsBoundedByWhatItIsExpectedToTake) {
  Make({.max_batch_frames = 16,
        .max_batch_time = std::chrono::milliseconds(10),
        .max_batches_in_flight = 1});
  backend_.work_ns = 3'000'000;
  Send(1, "a");
  backend_.FinishBatch();
  Send(1'000, "a");
  for (int i = 2; i <= 9; ++i) Send(i, "a");
  backend_.FinishBatch();
  EXPECT_THAT(backend_.Numbers(0), ElementsAre(2, 3, 4)) << "3 ms each";
  backend_.work_ns = 90'000'000;  // it took ten times as long
  backend_.FinishBatch();
  EXPECT_THAT(backend_.Numbers(0), ElementsAre(5)) << "one always goes";
  backend_.work_ns = 3'000'000;
  while (!backend_.batches.empty()) backend_.FinishBatch();
}

TEST_F(BatcherTest, AFullBatchOfWorkDoesNotWaitForTheDelay) {
  Make({.max_batch_frames = 16,
        .max_batch_time = std::chrono::milliseconds(10),
        .max_delay = microseconds(500)});
  backend_.work_ns = 6'000'000;
  Send(1, "a");
  clock_.Advance(microseconds(500));
  backend_.FinishBatch();
  Send(2, "a");
  EXPECT_TRUE(backend_.batches.empty());
  Send(3, "a");
  EXPECT_EQ(backend_.batches.size(), 1u);
  clock_.Advance(microseconds(500));
  while (!backend_.batches.empty()) backend_.FinishBatch();
}

TEST_F(BatcherTest, LargeFramesHavePlacesOfTheirOwn) {
  Make({.max_batch_frames = 1, .max_batches_in_flight = 2, .max_large_batches_in_flight = 1});
  const auto large = std::make_shared<HandPlan>(PlanSpec{8000, 8000, {}}, 64);
  large->large = true;
  for (int i = 1; i <= 3; ++i) Send(i, "large", kNever, large);
  ASSERT_EQ(backend_.batches.size(), 1u);
  for (int i = 101; i <= 103; ++i) Send(i, "small");
  ASSERT_EQ(backend_.batches.size(), 3u) << "the large one takes no place from small ones";
  EXPECT_THAT(backend_.Numbers(1), ElementsAre(101));
  EXPECT_THAT(backend_.Numbers(2), ElementsAre(102));
  backend_.FinishBatch();  // the large one
  ASSERT_EQ(backend_.batches.size(), 3u);
  EXPECT_THAT(backend_.Numbers(2), ElementsAre(2));
  backend_.FinishBatch();
  EXPECT_THAT(backend_.Numbers(2), ElementsAre(103));
  while (!backend_.batches.empty()) backend_.FinishBatch();
  ExpectBalanced();
}

TEST_F(BatcherTest, QuickFramesDoNotWaitForBatchesOfOtherPlans) {
  Make({.max_batch_frames = 1, .max_batches_in_flight = 1});
  const auto quick = std::make_shared<HandPlan>(PlanSpec{64, 48, {}}, 64);
  const auto other = std::make_shared<HandPlan>(PlanSpec{80, 48, {}}, 64);
  const auto slow = std::make_shared<HandPlan>(PlanSpec{4000, 3000, {}}, 64);
  for (int i = 1; i <= 2; ++i) Send(i, "a", kNever, slow);
  ASSERT_EQ(backend_.batches.size(), 1u);
  Send(3, "c", kNever, quick);
  ASSERT_EQ(backend_.batches.size(), 2u);  // a place for quick ones
  Send(4, "c", kNever, quick);
  Send(5, "d", kNever, other);
  EXPECT_EQ(backend_.batches.size(), 2u);  // and no more
  while (!backend_.batches.empty()) backend_.FinishBatch();
  for (int number = 1; number <= 5; ++number) EXPECT_TRUE(IsOk(number)) << number;
  ExpectBalanced();
}

TEST_F(BatcherTest, OwnersShareByTheirWeights) {
  Ledger ledger({{"heavy", 3.0}});
  Make({.max_batch_frames = 1, .max_batches_in_flight = 1, .queue = {.ledger = &ledger}});
  for (int i = 1; i <= 100; ++i) Send(i, "heavy");
  for (int i = 101; i <= 200; ++i) Send(i, "plain");
  int heavy = 0;
  for (int i = 0; i < 80; ++i) {
    heavy += backend_.Numbers(0)[0] <= 100 ? 1 : 0;
    backend_.FinishBatch();
  }
  EXPECT_NEAR(heavy, 60, 2);
  while (!backend_.batches.empty()) backend_.FinishBatch();
  batcher_.reset();  // before its ledger
}

TEST_F(BatcherTest, APlanOfAnotherClientIsNotStarvedByABacklog) {
  Make({.max_batch_frames = 4, .max_batches_in_flight = 1});
  const auto other = std::make_shared<HandPlan>(PlanSpec{320, 240, {}}, 64);
  for (int i = 1; i <= 40; ++i) Send(i, "greedy");
  Send(100, "b", kNever, other);
  backend_.FinishBatch();  // frame 1
  int batches = 0;
  while (backend_.Numbers(0) != std::vector<int>{100} && batches < 20) {
    backend_.FinishBatch();
    ++batches;
  }
  EXPECT_LE(batches, 1);
  while (!backend_.batches.empty()) backend_.FinishBatch();
}

TEST_F(BatcherTest, AClientWithManyPlansDoesNotStarveAQueuedOne) {
  Make({.max_batch_frames = 1, .max_batches_in_flight = 1});
  std::vector<std::shared_ptr<FeaturePlan>> plans;
  for (int i = 0; i < 10; ++i) {
    plans.push_back(std::make_shared<HandPlan>(PlanSpec{100 + i, 100, {}}, 64));
  }
  for (int i = 0; i < 10; ++i) Send(1 + i, "greedy", kNever, plans[static_cast<size_t>(i)]);
  ASSERT_EQ(backend_.batches.size(), 2u);  // one of them has the place for quick frames
  Send(100, "b");
  backend_.FinishBatch();
  backend_.FinishBatch();
  ASSERT_EQ(backend_.batches.size(), 2u);
  EXPECT_THAT(backend_.Numbers(1), ElementsAre(100));
  while (!backend_.batches.empty()) backend_.FinishBatch();
}

TEST_F(BatcherTest, ADeadlineIsAnsweredOnTimeWhileTheBackendIsBusy) {
  Make({.max_batches_in_flight = 1});
  Send(1, "a");
  Send(2, "a", clock_.Now() + microseconds(1000));
  clock_.Advance(microseconds(999));
  EXPECT_FALSE(outcomes_.contains(2));
  clock_.Advance(microseconds(1));
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDeadlineExceeded);
  backend_.FinishBatch();
  EXPECT_TRUE(backend_.batches.empty()) << "a late frame was launched";
  ExpectBalanced();
}

TEST_F(BatcherTest, ADeadlineIsAnsweredWhileTheFrameIsBeingPrepared) {
  Make({});
  const Batcher::Ticket ticket = Admit(1, "a", clock_.Now() + microseconds(10));
  clock_.Advance(microseconds(10));
  EXPECT_EQ(ReasonFor(1), ErrorReason::kDeadlineExceeded);
  Ready(ticket, 1);
  EXPECT_TRUE(backend_.batches.empty());
  ExpectBalanced();
}

TEST_F(BatcherTest, ADeadlineThatHasPassedIsRefusedAtOnce) {
  Make({});
  EXPECT_EQ(Admit(1, "a", clock_.Now()), 0u);
  EXPECT_EQ(ReasonFor(1), ErrorReason::kDeadlineExceeded);
  ExpectBalanced();
}

TEST_F(BatcherTest, ALaunchedFrameIsAnsweredAtItsDeadlineAndNotOnceMore) {
  Make({});
  Send(1, "a", clock_.Now() + microseconds(10));
  Send(2, "a");
  clock_.Advance(microseconds(10));
  EXPECT_EQ(ReasonFor(1), ErrorReason::kDeadlineExceeded);
  EXPECT_TRUE(backend_.batches[0].jobs[0].cancelled->load());
  backend_.FinishBatch();
  backend_.FinishBatch();
  EXPECT_TRUE(IsOk(2));
  ExpectBalanced();
}

TEST_F(BatcherTest, CancellationBeforeTheLaunchAnswersAtOnceAndCostsNothing) {
  Make({.max_batches_in_flight = 1});
  Send(1, "a");
  const Batcher::Ticket ticket = Send(2, "a");
  batcher_->Cancel(ticket);
  EXPECT_EQ(ReasonFor(2), ErrorReason::kCancelled);
  batcher_->Cancel(ticket);
  backend_.FinishBatch();
  EXPECT_TRUE(backend_.batches.empty());
  ExpectBalanced();
}

TEST_F(BatcherTest, CancellationAfterTheLaunchRaisesTheFlag) {
  Make({});
  const Batcher::Ticket ticket = Send(1, "a");
  EXPECT_FALSE(backend_.batches[0].jobs[0].cancelled->load());
  batcher_->Cancel(ticket);
  EXPECT_TRUE(backend_.batches[0].jobs[0].cancelled->load());
  EXPECT_FALSE(outcomes_.contains(1));
  backend_.FinishBatch();
  EXPECT_EQ(ReasonFor(1), ErrorReason::kCancelled);
  ExpectBalanced();
}

// gRPC cancels a call whose deadline has passed, and may do so before the alarm comes.
TEST_F(BatcherTest, ACancellationAfterTheDeadlineIsLate) {
  Make({.max_batches_in_flight = 1});
  const SteadyTime deadline = clock_.Now() + microseconds(10);
  const Batcher::Ticket launched = Send(1, "a", deadline);
  const Batcher::Ticket waiting = Send(2, "a", deadline);
  const Batcher::Ticket in_time = Send(3, "a", clock_.Now() + microseconds(11));
  clock_.StandStill(microseconds(10));
  for (const Batcher::Ticket ticket : {launched, waiting, in_time}) batcher_->Cancel(ticket);
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDeadlineExceeded);
  EXPECT_EQ(ReasonFor(3), ErrorReason::kCancelled);
  backend_.FinishBatch();  // which saw the flag of the first
  EXPECT_EQ(ReasonFor(1), ErrorReason::kDeadlineExceeded);
  ExpectBalanced();
}

TEST_F(BatcherTest, QueueAndClientAreBounded) {
  Make({.max_batches_in_flight = 1, .queue = {.max_items = 4, .max_items_per_client = 2}});
  for (int i = 1; i <= 2; ++i) EXPECT_NE(Admit(i, "a"), 0u);
  EXPECT_EQ(Admit(4, "a"), 0u);
  EXPECT_EQ(ReasonFor(4), ErrorReason::kQuotaExceeded);
  EXPECT_NE(Admit(5, "b"), 0u);
  EXPECT_NE(Admit(6, "c"), 0u);
  EXPECT_EQ(Admit(7, "d"), 0u);
  EXPECT_EQ(ReasonFor(7), ErrorReason::kQueueFull);
  ExpectBalanced();
}

TEST_F(BatcherTest, BytesThatWaitAreBounded) {
  Make({.queue = {.max_bytes = 100}});
  const Batcher::Ticket first = Admit(1, "a", kNever, 60);
  EXPECT_EQ(Admit(2, "b", kNever, 41), 0u);
  EXPECT_EQ(ReasonFor(2), ErrorReason::kQueueFull);
  Ready(first, 1);  // launched: holds its slot, no longer its message
  EXPECT_NE(Admit(3, "b", kNever, 100), 0u);
  backend_.FinishBatch();
}

TEST_F(BatcherTest, ItsUseIsWhatIsAdmittedAndNotLaunched) {
  Make({.max_batches_in_flight = 1, .queue = {.max_items = 7, .max_bytes = 1000}});
  EXPECT_EQ(ledger_.bounds(Resource::kFrames).all, 7);
  EXPECT_EQ(ledger_.bounds(Resource::kFrameBytes).all, 1000);
  const Batcher::Ticket launched = Admit(1, "a", kNever, 60);
  EXPECT_EQ(ledger_.held(Resource::kFrames), 1) << "a frame that is being prepared";
  EXPECT_EQ(ledger_.held(Resource::kFrameBytes), 60);
  Ready(launched, 1);
  EXPECT_EQ(ledger_.held(Resource::kFrames), 0);
  EXPECT_EQ(ledger_.held(Resource::kFrameBytes), 0);
  const Batcher::Ticket waiting = Admit(2, "b", kNever, 30);
  Ready(waiting, 2);
  Admit(3, "b", clock_.Now() + microseconds(5), 12);
  EXPECT_EQ(ledger_.held(Resource::kFrames), 2);
  EXPECT_EQ(ledger_.held(Resource::kFrameBytes), 42);
  batcher_->Cancel(waiting);
  EXPECT_EQ(ledger_.held(Resource::kFrameBytes), 12);
  clock_.Advance(microseconds(5));
  EXPECT_EQ(ledger_.held(Resource::kFrames), 0);
  EXPECT_EQ(ledger_.held(Resource::kFrameBytes), 0);
  backend_.FinishBatch();
}

TEST_F(BatcherTest, TheMessageOfADecodedFrameCountsNoMore) {
  Make({.max_batches_in_flight = 1, .queue = {.max_bytes = 100}});
  Send(1, "a");
  Ready(Admit(2, "a", kNever, 60), 2, nullptr, std::make_shared<TaskMemory>(1));
  EXPECT_EQ(ledger_.held(Resource::kFrames), 1) << "it waits for its batch";
  EXPECT_EQ(ledger_.held(Resource::kFrameBytes), 0);
  EXPECT_NE(Admit(3, "b", kNever, 60), 0u);
  backend_.FinishBatch();
  backend_.FinishBatch();
}

// A client would be told to try again without end.
TEST_F(BatcherTest, AFrameLargerThanTheBoundIsTakenWhileNoneWaits) {
  Make({.max_batches_in_flight = 1, .queue = {.max_bytes = 100}});
  const Batcher::Ticket large = Admit(1, "a", kNever, 101);
  EXPECT_NE(large, 0u);
  EXPECT_EQ(Admit(2, "b", kNever, 1), 0u);
  EXPECT_EQ(ReasonFor(2), ErrorReason::kQueueFull);
  Ready(large, 1);
  EXPECT_NE(Admit(3, "b", kNever, 1), 0u);
  EXPECT_EQ(Admit(4, "a", kNever, 101), 0u);
  backend_.FinishBatch();
  ExpectBalanced();
}

TEST_F(BatcherTest, APlaceInTheQueueIsFreedByEveryEnd) {
  Make({.max_batches_in_flight = 1, .queue = {.max_items = 1}});
  Send(1, "a");  // launched
  batcher_->Cancel(Admit(2, "a"));
  batcher_->Fail(Admit(3, "a"), MakeError(ErrorReason::kBadImage, "no image"));
  EXPECT_EQ(ReasonFor(3), ErrorReason::kBadImage);
  Admit(4, "a", clock_.Now() + microseconds(1));
  clock_.Advance(microseconds(1));
  EXPECT_NE(Admit(5, "a"), 0u);
  backend_.FinishBatch();
  ExpectBalanced();
}

TEST_F(BatcherTest, DrainingRefusesNewFramesAndFinishesTheRestWithoutDelay) {
  Make({.max_delay = microseconds(1'000'000)});
  Send(1, "a");
  const Batcher::Ticket preparing = Admit(2, "a");
  EXPECT_TRUE(backend_.batches.empty());
  batcher_->BeginDrain();
  ASSERT_EQ(backend_.batches.size(), 1u);
  EXPECT_EQ(Admit(3, "a"), 0u);
  EXPECT_EQ(ReasonFor(3), ErrorReason::kDraining);
  Ready(preparing, 2);
  backend_.FinishBatch();
  backend_.FinishBatch();
  EXPECT_TRUE(IsOk(1));
  EXPECT_TRUE(IsOk(2));
  ExpectBalanced();
}

TEST_F(BatcherTest, WhatWaitsCanBeFailedAtOnce) {
  Make({.max_batches_in_flight = 1});
  Send(1, "a");
  Send(2, "a");
  const Batcher::Ticket preparing = Admit(3, "b");
  batcher_->FailWaiting(MakeError(ErrorReason::kDeviceLost, "gone"));
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDeviceLost);
  EXPECT_EQ(ReasonFor(3), ErrorReason::kDeviceLost);
  EXPECT_FALSE(outcomes_.contains(1)) << "it is with the backend";
  Ready(preparing, 3);
  backend_.FinishBatch();
  EXPECT_TRUE(IsOk(1));
  EXPECT_TRUE(backend_.batches.empty());
  ExpectBalanced();
}

TEST_F(BatcherTest, TheDestructorAnswersWhatWaits) {
  Make({});
  const Batcher::Ticket delayed = Admit(1, "a");
  Admit(2, "b");
  EXPECT_NE(delayed, 0u);
  batcher_.reset();
  EXPECT_EQ(ReasonFor(1), ErrorReason::kDraining);
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDraining);
}

TEST_F(BatcherTest, TheDestructorWaitsForBatchesInFlight) {
  Make({});
  Send(1, "a");
  std::thread finisher([this] { backend_.FinishBatch(); });
  batcher_.reset();
  finisher.join();
  EXPECT_TRUE(IsOk(1));
}

TEST_F(BatcherTest, BatchesForWhichThereIsNoMemoryAreAnswered) {
  Make({.max_batch_frames = 1, .max_batches_in_flight = 1});
  for (int i = 1; i <= 2; ++i) Send(i, "a");  // the second one waits
  backend_.has_memory = false;
  backend_.FinishBatch();
  EXPECT_TRUE(IsOk(1));
  EXPECT_EQ(ReasonFor(2), ErrorReason::kOutOfMemory);
  Send(3, "a");
  EXPECT_EQ(ReasonFor(3), ErrorReason::kOutOfMemory);
  backend_.has_memory = true;
  Send(4, "a");
  ASSERT_EQ(backend_.batches.size(), 1u);
  backend_.FinishBatch();
  EXPECT_TRUE(IsOk(4));
  ExpectBalanced();
}

TEST_F(BatcherTest, ABackendThatAnswersTooFewFramesIsOurBug) {
  Make({});
  Send(1, "a");
  std::move(backend_.batches[0].done)({});
  EXPECT_EQ(ReasonFor(1), ErrorReason::kInternal);
  backend_.batches.clear();
}

}  // namespace
}  // namespace orbserve
