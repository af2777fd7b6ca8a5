// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/work_queue.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/serving/fake_clock.h"
#include "tests/server/serving/named_client.h"

namespace orbserve {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The smallest kind of work: errands, first come, first served, two in a batch.
struct Errand final : WorkItem {
  int number = 0;
  int64_t bytes = 0;
  absl::Status refusal;  // if it was refused
  std::function<void(const absl::Status&)> done;
  std::list<Errand*>::iterator place;
};

struct ErrandBatch {
  std::vector<std::shared_ptr<Errand>> items;
};

struct ErrandOptions {
  WorkQueueOptions work = {.max_items = 100, .max_items_per_client = 100, .max_bytes = 1'000'000};
  int max_batches = 1;
  microseconds delay{};
};

class ErrandQueue final : public WorkQueue<Errand, ErrandBatch> {
 public:
  ErrandQueue(Clock* clock, ServingObserver* observer, const ErrandOptions& options,
              std::function<void(ErrandBatch)> send)
      : WorkQueue(WorkKind::kFrames, clock, observer, options.work),
        options_(options),
        send_(std::move(send)) {}
  ~ErrandQueue() override { Shut(); }

  absl::StatusOr<Ticket> Submit(int number, const std::string& client, SteadyTime deadline,
                                int64_t bytes, std::function<void(const absl::Status&)> done) {
    return Submit(number, Named(client), deadline, bytes, std::move(done));
  }
  absl::StatusOr<Ticket> Submit(int number, const ClientId& client, SteadyTime deadline,
                                int64_t bytes, std::function<void(const absl::Status&)> done) {
    auto errand = std::make_shared<Errand>();
    errand->client = client;
    errand->deadline = deadline;
    errand->number = number;
    errand->bytes = bytes;
    errand->done = std::move(done);
    if (!Admit(errand)) return errand->refusal;
    return errand->ticket;
  }

  // The backend's answer. `helper`, unless null, becomes the thread that answers the items.
  void Finish(ErrandBatch batch, const absl::Status& status = absl::OkStatus(),
              std::thread* helper = nullptr) {
    BatchReturned(batch);
    if (before_close) before_close();
    std::vector<absl::Status> outcomes(batch.items.size(), status);
    for (size_t i = 0; i < outcomes.size(); ++i) {
      if (batch.items[i]->cancelled->load()) outcomes[i] = CancelledStatus();
    }
    CloseBatch(batch, /*taken_ns=*/0);
    for (size_t i = 0; i < outcomes.size(); ++i) {
      if (batch.items[i]->is_late) outcomes[i] = LateStatus(WorkKind::kFrames);
    }
    const auto answer = [](ErrandBatch& answered, const std::vector<absl::Status>& with) {
      for (size_t i = 0; i < with.size(); ++i) {
        if (!answered.items[i]->is_answered) answered.items[i]->done(with[i]);
      }
    };
    if (helper == nullptr) {
      answer(batch, outcomes);
    } else {
      Stay();
      *helper = std::thread([this, answer, outcomes, answered = std::move(batch)]() mutable {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        answer(answered, outcomes);
        Leave();
      });
    }
    Leave();
  }

  // Called between the return of a batch and the outcomes of its items.
  std::function<void()> before_close;

 private:
  int64_t StartsWaiting(const Errand& errand) override { return errand.bytes; }
  bool Enqueue(Errand& errand) override {
    errand.place = order_.insert(order_.end(), &errand);
    return true;
  }
  void Dequeue(Errand& errand) override { order_.erase(errand.place); }
  std::optional<ErrandBatch> NextBatch(SteadyTime now) override {
    if (order_.empty() || batches_in_flight() >= options_.max_batches) return std::nullopt;
    if (!is_draining() && now < order_.front()->ready_at + options_.delay) return std::nullopt;
    ErrandBatch batch;
    while (!order_.empty() && batch.items.size() < 2) {
      Errand& errand = *order_.front();
      order_.pop_front();
      batch.items.push_back(Launch(errand, now, /*cost_ns=*/1));
    }
    return batch;
  }
  SteadyTime NextBatchTime() const override {
    if (order_.empty() || batches_in_flight() >= options_.max_batches) return kNever;
    return order_.front()->ready_at + options_.delay;
  }
  void Send(ErrandBatch& batch) override { send_(std::move(batch)); }
  void AnswerFailed(Errand& errand, const absl::Status& status) override {
    if (errand.ticket == 0) errand.refusal = status;
    errand.done(status);
  }

  const ErrandOptions options_;
  const std::function<void(ErrandBatch)> send_;
  std::list<Errand*> order_;
};

// Counts how often an alarm is set.
class CountingClock final : public Clock {
 public:
  SteadyTime Now() const override { return fake.Now(); }
  std::unique_ptr<Alarm> MakeAlarm(absl::AnyInvocable<void()> callback) override {
    return std::make_unique<CountingAlarm>(fake.MakeAlarm(std::move(callback)), &settings);
  }
  FakeClock fake;
  std::vector<SteadyTime> settings;

 private:
  class CountingAlarm final : public Alarm {
   public:
    CountingAlarm(std::unique_ptr<Alarm> alarm, std::vector<SteadyTime>* settings)
        : alarm_(std::move(alarm)), settings_(*settings) {}
    void Set(SteadyTime when) override {
      settings_.push_back(when);
      alarm_->Set(when);
    }

   private:
    const std::unique_ptr<Alarm> alarm_;
    std::vector<SteadyTime>& settings_;
  };
};

class WorkQueueTest : public ::testing::Test {
 protected:
  void Make(ErrandOptions options) {
    options.work.ledger = &ledger_;
    queue_ = std::make_unique<ErrandQueue>(&clock_, &observer_, options, [this](ErrandBatch batch) {
      sent_.push_back(std::move(batch));
    });
  }
  WorkTicket Submit(int number, const std::string& client = "a", SteadyTime deadline = kNever,
                    int64_t bytes = 1) {
    ++submitted_;
    return queue_
        ->Submit(number, client, deadline, bytes,
                 [this, number](const absl::Status& status) {
                   EXPECT_FALSE(answers_.contains(number)) << number << " was answered twice";
                   answers_[number] = status;
                 })
        .value_or(0);
  }
  void Finish() {
    ErrandBatch batch = std::move(sent_.front());
    sent_.pop_front();
    queue_->Finish(std::move(batch));
  }
  void FinishAll() {
    while (!sent_.empty()) Finish();
  }
  std::vector<int> Sent() const {
    std::vector<int> numbers;
    for (const ErrandBatch& batch : sent_) {
      for (const auto& errand : batch.items) numbers.push_back(errand->number);
    }
    return numbers;
  }
  bool IsOk(int number) const { return answers_.contains(number) && answers_.at(number).ok(); }
  std::optional<ErrorReason> ReasonFor(int number) const {
    if (!answers_.contains(number) || answers_.at(number).ok()) return std::nullopt;
    return ReasonOf(answers_.at(number));
  }
  SteadyTime After(int64_t us) const { return clock_.Now() + microseconds(us); }
  void ExpectBalanced() const {
    EXPECT_EQ(submitted_, static_cast<int>(answers_.size()) + queue_->open_items());
  }

  Ledger ledger_;
  FakeClock clock_;
  ServingObserver observer_;
  std::deque<ErrandBatch> sent_;
  std::map<int, absl::Status> answers_;
  int submitted_ = 0;
  WorkerPool answerers_{{.threads = 2}};  // for queues that take it
  std::unique_ptr<ErrandQueue> queue_;
};

TEST_F(WorkQueueTest, ItemsGatherWhileTheBackendIsBusyAndEachIsAnsweredOnce) {
  Make({});
  for (const int number : {1, 2, 3, 4}) EXPECT_NE(Submit(number), 0u);
  EXPECT_THAT(Sent(), ElementsAre(1));
  EXPECT_EQ(queue_->open_items(), 4);
  EXPECT_EQ(ledger_.held(Resource::kFrames), 3);
  ExpectBalanced();
  Finish();
  EXPECT_THAT(Sent(), ElementsAre(2, 3));
  EXPECT_TRUE(IsOk(1));
  FinishAll();
  EXPECT_EQ(answers_.size(), 4u);
  EXPECT_EQ(queue_->open_items(), 0);
  ExpectBalanced();
}

TEST_F(WorkQueueTest, TheTimeInTheQueueEndsAtTheLaunch) {
  Make({.delay = microseconds(30)});
  Submit(1);
  clock_.Advance(microseconds(10));
  Submit(2);
  EXPECT_THAT(sent_, IsEmpty());
  clock_.Advance(microseconds(20));
  ASSERT_THAT(Sent(), ElementsAre(1, 2));
  EXPECT_EQ(sent_[0].items[0]->queued, microseconds(30));
  EXPECT_EQ(sent_[0].items[1]->queued, microseconds(20));
  FinishAll();
}

TEST_F(WorkQueueTest, ADeadlineIsAnsweredAtItsMomentWhileTheBackendIsBusy) {
  Make({});
  Submit(1);
  Submit(2, "a", After(10));
  Submit(3, "a", After(5));
  clock_.Advance(microseconds(4));
  EXPECT_THAT(answers_, IsEmpty());
  clock_.Advance(microseconds(1));
  EXPECT_EQ(ReasonFor(3), ErrorReason::kDeadlineExceeded);
  EXPECT_FALSE(answers_.contains(2));
  clock_.Advance(microseconds(5));
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDeadlineExceeded);
  ExpectBalanced();
  FinishAll();
}

TEST_F(WorkQueueTest, ALateItemIsNotLaunchedThoughTheAlarmIsLate) {
  Make({});
  Submit(1);
  Submit(2, "a", After(10));
  Submit(3, "a", After(11));
  clock_.StandStill(microseconds(10));
  Finish();
  EXPECT_THAT(Sent(), ElementsAre(3));
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDeadlineExceeded);
  FinishAll();
}

TEST_F(WorkQueueTest, ALaunchedItemIsAnsweredAtItsDeadlineAndItsFlagIsRaised) {
  Make({});
  Submit(1, "a", After(10));
  Submit(2, "a", After(20));
  const auto flag = sent_[0].items[0]->cancelled;
  clock_.Advance(microseconds(9));
  EXPECT_FALSE(flag->load());
  EXPECT_THAT(answers_, IsEmpty());
  clock_.Advance(microseconds(1));
  EXPECT_TRUE(flag->load());
  EXPECT_EQ(ReasonFor(1), ErrorReason::kDeadlineExceeded);
  EXPECT_EQ(queue_->open_items(), 1) << "the second waits: the backend is not done with the first";
  ExpectBalanced();
  Finish();
  // The deadline of the second, which is launched now, has its alarm too, and may pass afterwards.
  Finish();
  EXPECT_TRUE(IsOk(2));
  clock_.Advance(microseconds(20));
  EXPECT_EQ(answers_.size(), 2u);
  ExpectBalanced();
}

// Launching the next batch takes time, and the alarm's thread may be busy.
TEST_F(WorkQueueTest, NoAnswerIsOkAfterItsDeadlineThoughTheBatchCameBackBefore) {
  Make({});
  Submit(1, "a", After(10));
  clock_.Advance(microseconds(9));
  queue_->before_close = [this] { clock_.StandStill(microseconds(1)); };
  Finish();
  EXPECT_EQ(ReasonFor(1), ErrorReason::kDeadlineExceeded);
  clock_.Advance(microseconds(10));
  EXPECT_EQ(answers_.size(), 1u);
  ExpectBalanced();
}

TEST_F(WorkQueueTest, ManyLateAnswersDoNotHoldUpTheClock) {
  ErrandOptions options;
  options.work.answerers = &answerers_;
  Make(options);
  Submit(0);
  absl::Notification go;
  std::atomic<int> late = 0;
  for (int i = 1; i <= 20; ++i) {
    ASSERT_TRUE(queue_
                    ->Submit(i, "a", After(5), 1,
                             [&](const absl::Status&) {
                               go.WaitForNotification();
                               ++late;
                             })
                    .ok());
  }
  clock_.Advance(microseconds(5));  // returns though no answer can be given
  EXPECT_EQ(late, 0);
  EXPECT_EQ(queue_->open_items(), 1);
  go.Notify();
  FinishAll();
  queue_.reset();
  EXPECT_EQ(late, 20);
}

TEST_F(WorkQueueTest, NoOwnerFillsTheQueueWhoeverElseWaits) {
  ErrandOptions options;
  options.work = {.max_items = 1000, .max_items_per_client = 1000, .max_bytes = 1000};
  Make(options);
  Submit(0);  // launched
  int number = 1;
  const auto fill = [&](const std::string& client, int64_t bytes) {
    int taken = 0;
    while (Submit(number, client, kNever, bytes) != 0) {
      ++number;
      ++taken;
    }
    EXPECT_EQ(ReasonFor(number++), ErrorReason::kQuotaExceeded) << client;
    return taken;
  };
  const int of_a = fill("a", 10);  // of 100 places
  EXPECT_GE(of_a, 60);
  EXPECT_LE(of_a, 75);
  const int of_b = fill("b", 10);
  EXPECT_GE(of_b, 15);
  EXPECT_LT(of_b, 25);
  EXPECT_GT(fill("c", 10), 2);
  for (int i = 0; i < 3; ++i) EXPECT_NE(Submit(number++, std::to_string(i), kNever, 5), 0u);
  FinishAll();
  ExpectBalanced();
}

TEST_F(WorkQueueTest, TheNamesOfAnOwnerLeaveRoomForEachOther) {
  ErrandOptions options;
  options.work = {.max_items = 1000, .max_items_per_client = 1000, .max_bytes = 1'000'000};
  Make(options);
  int number = 0;
  const auto submit = [&](const std::string& name) {
    ++number;
    return queue_
        ->Submit(number, ClientId{.owner = "o", .name = name}, kNever, 1,
                 [](const absl::Status&) {})
        .ok();
  };
  submit("launched");
  for (int name = 0; name < 3; ++name) {
    while (submit(std::to_string(name))) {
    }
  }
  EXPECT_TRUE(submit("new"));
  FinishAll();
}

TEST_F(WorkQueueTest, AFullPartOfAnOwnerHasRoomForNamesWithNothingWaiting) {
  ErrandOptions options;
  options.work = {.max_items = 1000, .max_items_per_client = 1000, .max_bytes = 1'000'000};
  Make(options);
  int number = 0;
  const auto submit = [&](const std::string& owner, const std::string& name) {
    ++number;
    return queue_
        ->Submit(number, ClientId{.owner = owner, .name = name}, kNever, 1,
                 [](const absl::Status&) {})
        .ok();
  };
  submit("o", "launched");
  for (int name = 0; name < 100; ++name) {
    while (submit("o", std::to_string(name))) {
    }
  }
  EXPECT_TRUE(submit("o", "new"));
  EXPECT_FALSE(submit("o", "new")) << "it has something waiting";
  // However many names it has, it leaves room for other owners.
  int names = 0;
  while (submit("o", "name " + std::to_string(names))) ++names;
  EXPECT_LT(names, 200);
  EXPECT_TRUE(submit("p", "robot"));
  FinishAll();
}

TEST_F(WorkQueueTest, CancellationAnswersAnItemThatWaitsAndFlagsALaunchedOne) {
  Make({});
  const WorkTicket launched = Submit(1);
  const WorkTicket waiting = Submit(2);
  const WorkTicket late = Submit(3, "a", After(5));
  queue_->Cancel(waiting);
  EXPECT_EQ(ReasonFor(2), ErrorReason::kCancelled);
  queue_->Cancel(waiting);
  queue_->Cancel(launched);
  EXPECT_FALSE(answers_.contains(1));
  EXPECT_TRUE(sent_[0].items[0]->cancelled->load());
  clock_.StandStill(microseconds(5));
  queue_->Cancel(late);  // by gRPC, before the alarm
  EXPECT_EQ(ReasonFor(3), ErrorReason::kDeadlineExceeded);
  Finish();
  EXPECT_EQ(ReasonFor(1), ErrorReason::kCancelled);
  queue_->Cancel(launched);
  queue_->Cancel(12345);
  EXPECT_THAT(sent_, IsEmpty());
  ExpectBalanced();
}

TEST_F(WorkQueueTest, NumberClientAndBytesAreBounded) {
  ErrandOptions options;
  options.work = {.max_items = 3, .max_items_per_client = 2, .max_bytes = 100};
  Make(options);
  Submit(1);  // launched
  Submit(2, "a", kNever, 50);
  EXPECT_EQ(Submit(3, "b", kNever, 51), 0u);
  EXPECT_EQ(ReasonFor(3), ErrorReason::kQueueFull);
  Submit(4, "a", kNever, 0);
  EXPECT_EQ(Submit(5, "a", kNever, 0), 0u);
  EXPECT_EQ(ReasonFor(5), ErrorReason::kQuotaExceeded);
  Submit(6, "b", kNever, 50);
  EXPECT_EQ(Submit(7, "c", kNever, 0), 0u);
  EXPECT_EQ(ReasonFor(7), ErrorReason::kQueueFull);
  EXPECT_EQ(Submit(8, "c", clock_.Now(), 0), 0u);
  EXPECT_EQ(ReasonFor(8), ErrorReason::kDeadlineExceeded);
  EXPECT_EQ(ledger_.held(Resource::kFrames), 3);
  EXPECT_EQ(ledger_.held(Resource::kFrameBytes), 100);
  EXPECT_EQ(ledger_.bounds(Resource::kFrames).all, 3);
  EXPECT_EQ(ledger_.bounds(Resource::kFrameBytes).all, 100);
  FinishAll();
  EXPECT_EQ(ledger_.held(Resource::kFrameBytes), 0);
  // Every end frees the place, and one item alone may be larger than the bound.
  Submit(9);
  EXPECT_NE(Submit(10, "a", kNever, 1000), 0u);
  EXPECT_EQ(Submit(11, "a", kNever, 1), 0u);
  FinishAll();
  ExpectBalanced();
}

TEST_F(WorkQueueTest, WhatWaitsCanBeFailedOneByOneOrAtOnce) {
  Make({});
  const WorkTicket launched = Submit(1);
  const WorkTicket one = Submit(2);
  Submit(3);
  Submit(4, "b", After(5));
  queue_->Fail(one, MakeError(ErrorReason::kBadImage, "no image"));
  EXPECT_EQ(ReasonFor(2), ErrorReason::kBadImage);
  queue_->Fail(launched, MakeError(ErrorReason::kBadImage, "no image"));
  EXPECT_FALSE(answers_.contains(1));
  queue_->FailWaiting(MakeError(ErrorReason::kDeviceLost, "gone"));
  EXPECT_EQ(ReasonFor(3), ErrorReason::kDeviceLost);
  EXPECT_EQ(ReasonFor(4), ErrorReason::kDeviceLost);
  clock_.Advance(microseconds(5));
  FinishAll();
  EXPECT_TRUE(IsOk(1));
  ExpectBalanced();
}

TEST_F(WorkQueueTest, DrainingRefusesNewItemsAndLaunchesTheRestWithoutDelay) {
  Make({.delay = microseconds(1000)});
  Submit(1);
  EXPECT_THAT(sent_, IsEmpty());
  queue_->BeginDrain();
  EXPECT_THAT(Sent(), ElementsAre(1));
  EXPECT_EQ(Submit(2), 0u);
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDraining);
  FinishAll();
  EXPECT_TRUE(IsOk(1));
  ExpectBalanced();
}

TEST_F(WorkQueueTest, AnswersMayCallTheQueue) {
  Make({});
  WorkTicket other = 0;
  const auto again = [&](const absl::Status&) {
    queue_->Cancel(other);
    Submit(3, "b");
    EXPECT_EQ(ledger_.held(Resource::kFrames), 1);
  };
  ASSERT_TRUE(queue_->Submit(1, "a", kNever, 1, again).ok());
  other = Submit(2);
  ErrandBatch first = std::move(sent_.front());
  sent_.pop_front();
  queue_->Finish(std::move(first));
  EXPECT_THAT(Sent(), ElementsAre(2)) << "the next batch goes before the answers of the last";
  FinishAll();
  EXPECT_EQ(ReasonFor(2), ErrorReason::kCancelled);
  EXPECT_TRUE(IsOk(3));
  ExpectBalanced();
}

TEST_F(WorkQueueTest, TheDestructorAnswersWhatWaits) {
  Make({.delay = microseconds(1000)});
  Submit(1);
  Submit(2, "b", After(5));
  queue_.reset();
  EXPECT_EQ(ReasonFor(1), ErrorReason::kDraining);
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDraining);
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(WorkQueueTest, TheDestructorWaitsForTheBackend) {
  Make({});
  Submit(1);
  std::thread backend([queue = queue_.get(), batch = std::move(sent_.front())]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    queue->Finish(std::move(batch));
  });
  queue_.reset();
  EXPECT_TRUE(IsOk(1));
  backend.join();
}

TEST_F(WorkQueueTest, TheDestructorWaitsForThreadsThatStay) {
  Make({});
  Submit(1);
  std::thread helper;
  queue_->Finish(std::move(sent_.front()), absl::OkStatus(), &helper);
  queue_.reset();
  EXPECT_TRUE(IsOk(1));
  helper.join();
}

TEST(WorkQueueAlarmTest, TheAlarmIsSetOnlyForAnEarlierMoment) {
  CountingClock clock;
  ServingObserver observer;
  std::deque<ErrandBatch> sent;
  ErrandQueue queue(&clock, &observer, {},
                    [&](ErrandBatch batch) { sent.push_back(std::move(batch)); });
  int answers = 0;
  const auto submit = [&](SteadyTime deadline) {
    EXPECT_TRUE(queue.Submit(0, "a", deadline, 1, [&](const absl::Status&) { ++answers; }).ok());
  };
  const SteadyTime start = clock.Now();
  submit(kNever);
  for (int i = 0; i < 5; ++i) submit(kNever);
  EXPECT_THAT(clock.settings, IsEmpty()) << "nothing has a deadline";
  submit(start + microseconds(20));
  submit(start + microseconds(30));
  submit(start + microseconds(10));
  EXPECT_THAT(clock.settings, ElementsAre(start + microseconds(20), start + microseconds(10)));
  clock.fake.Advance(microseconds(10));
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(clock.settings.back(), start + microseconds(20)) << "set again after it fired";
  while (!sent.empty()) {
    ErrandBatch batch = std::move(sent.front());
    sent.pop_front();
    queue.Finish(std::move(batch));
  }
  EXPECT_EQ(answers, 9);
  EXPECT_EQ(clock.settings.size(), 3u)
      << "an alarm that is too early costs less than one more setting";
  clock.fake.Advance(microseconds(100));
  EXPECT_EQ(clock.settings.size(), 3u) << "nothing is left to wait for";
}

TEST(WorkQueueStatusTest, MessagesNameTheKindOfWork) {
  EXPECT_THAT(std::string(NoMemoryStatus(WorkKind::kFrames).message()), HasSubstr("frames"));
  EXPECT_THAT(std::string(LateStatus(WorkKind::kTracks).message()), HasSubstr("tracks"));
  EXPECT_THAT(std::string(LateStatus(WorkKind::kMatches).message()), HasSubstr("matches"));
}

// Threads submit and cancel while a backend answers and deadlines pass.
TEST(WorkQueueThreadsTest, EveryItemIsAnsweredOnceAndTheCountsAreExact) {
  constexpr int kThreads = 4;
  constexpr int kItems = 500;
  SystemClock clock;
  ServingObserver observer;
  absl::Mutex mutex;
  std::deque<ErrandBatch> sent;
  bool is_over = false;
  ErrandOptions options;
  options.work = {.max_items = 20, .max_items_per_client = 10, .max_bytes = 1'000};
  WorkerPool answerers({.threads = 2});
  options.work.answerers = &answerers;
  options.max_batches = 2;
  options.delay = microseconds(50);
  auto queue = std::make_unique<ErrandQueue>(&clock, &observer, options, [&](ErrandBatch batch) {
    absl::MutexLock lock(&mutex);
    sent.push_back(std::move(batch));
  });
  std::thread backend([&] {
    for (;;) {
      ErrandBatch batch;
      {
        absl::MutexLock lock(&mutex);
        const auto has_work_or_ends = [&] { return is_over || !sent.empty(); };
        mutex.Await(absl::Condition(&has_work_or_ends));
        if (sent.empty()) return;
        batch = std::move(sent.front());
        sent.pop_front();
      }
      queue->Finish(std::move(batch));
    }
  });
  std::vector<std::atomic<int>> answers(kThreads * kItems);
  std::vector<std::thread> clients;
  for (int t = 0; t < kThreads; ++t) {
    clients.emplace_back([&, t] {
      std::minstd_rand random(static_cast<unsigned>(t + 1));
      WorkTicket last = 0;
      for (int i = 0; i < kItems; ++i) {
        const int number = t * kItems + i;
        const SteadyTime deadline =
            random() % 3 == 0 ? clock.Now() + microseconds(random() % 300) : kNever;
        const auto ticket = queue->Submit(
            number, std::to_string(t), deadline, 1,
            [&, number](const absl::Status&) { ++answers[static_cast<size_t>(number)]; });
        if (random() % 4 == 0) queue->Cancel(last);
        if (ticket.ok()) last = *ticket;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  while (queue->open_items() > 0) std::this_thread::yield();
  queue.reset();
  {
    absl::MutexLock lock(&mutex);
    is_over = true;
  }
  backend.join();
  for (const std::atomic<int>& count : answers) EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace orbserve
