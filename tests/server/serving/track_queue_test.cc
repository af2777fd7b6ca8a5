// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/request_queue.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/serving/fake_clock.h"
#include "tests/server/serving/hand_backend.h"
#include "tests/server/serving/named_client.h"
#include "tests/server/serving/queue_observer.h"

namespace orbserve {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TrackQueueTest : public ::testing::Test {
 protected:
  // Answers come inside the backend's.
  void Make(TrackQueueOptions options) {
    options.queue.ledger = &ledger_;
    queue_ = std::make_unique<TrackQueue>(&backend_, &clock_, &observer_, options);
  }
  // The frames of a job have `number` features each, and bytes; requests are told apart by it.
  static TrackJob Job(size_t number, size_t points = 1) {
    auto columns = std::make_shared<TrackPoints>();
    columns->x.assign(points, static_cast<int32_t>(number));
    columns->y.assign(points, 0);
    columns->gain.assign(points, 0.0f);
    columns->offset.assign(points, 0.0f);
    return {std::make_shared<HandState>(number), std::make_shared<HandState>(number), columns, {}};
  }
  TrackQueue::Ticket Submit(size_t number, const std::string& client, SteadyTime deadline = kNever,
                            size_t points = 1) {
    return queue_->Submit(Named(client), deadline, {Job(number, points)},
                          [this, number](TrackOutcome outcome) {
                            EXPECT_FALSE(outcomes_.contains(number));
                            outcomes_[number] = std::move(outcome);
                          });
  }
  SteadyTime After(microseconds time) const { return clock_.Now() + time; }
  // The numbers of the oldest batch with the backend.
  std::vector<size_t> Together() const {
    std::vector<size_t> numbers;
    for (const TrackJob& job : backend_.tracks.front().jobs) {
      numbers.push_back(job.to->feature_count());
    }
    return numbers;
  }
  ErrorReason ReasonFor(size_t number) { return ReasonOf(outcomes_.at(number).status); }

  Ledger ledger_;
  FakeClock clock_;
  HandBackend backend_;
  QueueObserver observer_{WorkKind::kTracks};
  std::map<size_t, TrackOutcome> outcomes_;
  std::unique_ptr<TrackQueue> queue_;
};

TEST_F(TrackQueueTest, WhileThereIsAPlaceARequestGoesAtOnceAndItsAnswerComesBack) {
  Make({.max_in_flight = 2});
  Submit(7, "a", kNever, 3);
  ASSERT_EQ(backend_.tracks.size(), 1u);
  backend_.FinishTracks();
  ASSERT_TRUE(outcomes_.at(7).status.ok());
  EXPECT_THAT(outcomes_[7].tracked.x, ElementsAre(7 + 16384, 7 + 16384, 7 + 16384));
  EXPECT_EQ(queue_->open_items(), 0);
}

TEST_F(TrackQueueTest, RequestsThatComeMeanwhileGoTogetherAndClientsTakeTurns) {
  Make({.max_in_flight = 2});
  Submit(1, "greedy");
  Submit(2, "b");
  for (const size_t number : {3, 4, 5}) Submit(number, "greedy");
  Submit(10, "b");
  Submit(20, "c");
  EXPECT_EQ(backend_.tracks.size(), 2u);
  backend_.FinishTracks();
  backend_.FinishTracks();
  ASSERT_EQ(backend_.tracks.size(), 1u);
  EXPECT_THAT(Together(), ElementsAre(3, 10, 20, 4, 5));
  backend_.FinishTracks();
  for (const size_t number : {1, 2, 3, 4, 5, 10, 20}) {
    ASSERT_TRUE(outcomes_.at(number).status.ok());
    EXPECT_THAT(outcomes_[number].tracked.x, ElementsAre(static_cast<int>(number) + 16384));
  }
  EXPECT_THAT(observer_.batches, ElementsAre(1, 1, 5));
}

TEST_F(TrackQueueTest, BatchesAreBoundedInJobsAndPoints) {
  Make({.max_in_flight = 1, .max_batch_jobs = 3, .max_batch_size = 10});
  Submit(1, "a");
  for (const size_t number : {2, 3, 4, 5}) Submit(number, "a");  // three, then one and the next
  Submit(6, "a", kNever, 9);
  Submit(7, "a", kNever, 2);
  Submit(8, "a", kNever, 40);  // more than a batch may have: alone
  Submit(9, "a");
  std::vector<std::vector<size_t>> batches;
  while (!backend_.tracks.empty()) {
    batches.push_back(Together());
    backend_.FinishTracks();
  }
  EXPECT_EQ(batches, (std::vector<std::vector<size_t>>{{1}, {2, 3, 4}, {5, 6}, {7}, {8}, {9}}));
  EXPECT_EQ(outcomes_.size(), 9u);
}

TEST_F(TrackQueueTest, InABatchEachHasItsDeadlineAndItsCancellation) {
  Make({.max_in_flight = 1});
  Submit(1, "a");
  Submit(2, "a", After(microseconds(5)));
  Submit(3, "b");
  const auto cancelled = Submit(4, "c");
  backend_.FinishTracks();
  ASSERT_THAT(Together(), ElementsAre(2, 3, 4));
  queue_->Cancel(cancelled);
  clock_.Advance(microseconds(5));
  std::vector<bool> stopped;
  for (const TrackJob& job : backend_.tracks.front().jobs) stopped.push_back(*job.cancelled);
  EXPECT_THAT(stopped, ElementsAre(true, false, true));
  backend_.FinishTracks();
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDeadlineExceeded);
  EXPECT_TRUE(outcomes_.at(3).status.ok());
  EXPECT_EQ(ReasonFor(4), ErrorReason::kCancelled);
}

TEST_F(TrackQueueTest, ALateRequestIsAnsweredAtItsMomentAndNeverLaunched) {
  Make({.max_in_flight = 1});
  Submit(1, "a");
  Submit(2, "a", After(microseconds(5)));
  clock_.Advance(microseconds(5));
  ASSERT_TRUE(outcomes_.contains(2));
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDeadlineExceeded);
  EXPECT_THAT(std::string(outcomes_[2].status.message()), HasSubstr("tracks"));
  backend_.FinishTracks();
  EXPECT_THAT(backend_.tracks, IsEmpty());
  Submit(3, "a", clock_.Now());
  EXPECT_EQ(ReasonFor(3), ErrorReason::kDeadlineExceeded);
}

TEST_F(TrackQueueTest, AnAnswerAfterTheDeadlineIsLateThoughItIsThere) {
  Make({});
  Submit(1, "a", After(microseconds(5)));
  clock_.StandStill(microseconds(6));
  backend_.FinishTracks(absl::OkStatus(), /*stops=*/false);
  EXPECT_EQ(ReasonFor(1), ErrorReason::kDeadlineExceeded);
}

TEST_F(TrackQueueTest, AnAnswerThatCameInSpiteOfACancellationCounts) {
  Make({});
  queue_->Cancel(Submit(1, "a"));
  backend_.FinishTracks(absl::OkStatus(), /*stops=*/false);
  EXPECT_TRUE(outcomes_.at(1).status.ok());
}

TEST_F(TrackQueueTest, TooFewAnswersOfTheBackendAreAnErrorOfThoseWithoutOne) {
  Make({.max_in_flight = 1});
  for (const size_t number : {1, 2, 3}) Submit(number, "a");
  backend_.FinishTracks();
  HandBackend::TrackBatch batch = std::move(backend_.tracks.front());
  backend_.tracks.clear();
  TrackBatchAnswer answer;
  answer.jobs.resize(1);
  answer.jobs[0].tracked.x = {42};
  std::move(batch.done)(std::move(answer));
  EXPECT_THAT(outcomes_.at(2).tracked.x, ElementsAre(42));
  EXPECT_EQ(ReasonFor(3), ErrorReason::kInternal);
}

TEST_F(TrackQueueTest, AFailedSearchKeepsItsOwnStatus) {
  Make({});
  Submit(1, "a");
  backend_.FinishTracks(MakeError(ErrorReason::kOutOfMemory, "full"));
  EXPECT_EQ(ReasonFor(1), ErrorReason::kOutOfMemory);
  EXPECT_EQ(queue_->open_items(), 0);
}

TEST_F(TrackQueueTest, TheEnergyOfABatchIsSharedByItsRequests) {
  Make({.max_in_flight = 1});
  for (const size_t number : {1, 2, 3}) Submit(number, "a");
  backend_.FinishTracks();
  observer_.joules = 0.5;
  backend_.FinishTracks();
  EXPECT_FALSE(outcomes_[1].energy_joules.has_value());
  EXPECT_EQ(outcomes_[2].energy_joules, 0.25);
  EXPECT_EQ(outcomes_[3].energy_joules, 0.25);
}

TEST_F(TrackQueueTest, NumberAndBytesOfWaitingRequestsAreBounded) {
  Make({.max_in_flight = 1,
        .queue = {.max_items = 3, .max_items_per_client = 2, .max_bytes = 1000}});
  Submit(1, "a");
  Submit(200, "a");
  const int64_t waiting =
      ledger_.held(Resource::kTrackBytes);  // two states of 200 bytes, and the points
  EXPECT_GE(waiting, 400);
  EXPECT_LT(waiting, 450);
  Submit(300, "b");
  EXPECT_EQ(ReasonFor(300), ErrorReason::kQueueFull);
  Submit(2, "a");
  Submit(3, "a");
  EXPECT_EQ(ReasonFor(3), ErrorReason::kQuotaExceeded);
  Submit(4, "b");
  Submit(5, "c");
  EXPECT_EQ(ReasonFor(5), ErrorReason::kQueueFull);
  EXPECT_EQ(ledger_.held(Resource::kTracks), 3);
  backend_.FinishTracks();
  EXPECT_EQ(ledger_.held(Resource::kTrackBytes), 0) << "launched requests do not wait";
  Submit(5000, "a");
  EXPECT_EQ(ledger_.held(Resource::kTracks), 1) << "one always fits";
  backend_.FinishTracks();
  backend_.FinishTracks();
}

TEST_F(TrackQueueTest, ThreadsOfAPoolAnswerABatchAndAreWaitedFor) {
  WorkerPool answerers({.threads = 3});
  constexpr int kTogether = 12;
  std::mutex mutex;
  std::vector<std::thread::id> threads;  // of each answer
  auto queue = std::make_unique<TrackQueue>(
      &backend_, &clock_, &observer_,
      TrackQueueOptions{.max_in_flight = 1, .queue = {.answerers = &answerers}});
  for (int i = 0; i < 1 + kTogether; ++i) {
    queue->Submit(Named("a"), kNever, {Job(1)}, [&](TrackOutcome outcome) {
      EXPECT_TRUE(outcome.status.ok());
      const std::lock_guard<std::mutex> lock(mutex);
      threads.push_back(std::this_thread::get_id());
    });
  }
  const std::thread::id own = std::this_thread::get_id();
  backend_.FinishTracks();
  EXPECT_THAT(threads, ElementsAre(own)) << "one alone is answered at once";
  backend_.FinishTracks();
  queue.reset();
  ASSERT_EQ(threads.size(), size_t{1 + kTogether});
  EXPECT_EQ(std::count(threads.begin() + 1, threads.end(), own), 0);
}

TEST_F(TrackQueueTest, AShutQueueAnswersThoseThatWaitAndRefusesNewRequests) {
  Make({.max_in_flight = 1});
  Submit(1, "a");
  absl::Notification refused;
  queue_->Submit(Named("a"), kNever, {Job(2)}, [&](TrackOutcome outcome) {
    EXPECT_EQ(ReasonOf(outcome.status), ErrorReason::kDraining);
    refused.Notify();
  });
  std::thread answering([&] {
    refused.WaitForNotification();
    backend_.FinishTracks();
  });
  queue_->Shut();  // waits for the batch in flight
  answering.join();
  EXPECT_TRUE(outcomes_.at(1).status.ok());
  EXPECT_THAT(backend_.tracks, IsEmpty());
  Submit(3, "a");
  EXPECT_EQ(ReasonFor(3), ErrorReason::kDraining);
}

}  // namespace
}  // namespace orbserve
