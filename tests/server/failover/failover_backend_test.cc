// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/failover/failover_backend.h"

#include <atomic>
#include <deque>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "features/errors.h"
#include "gtest/gtest.h"
#include "server/serving/worker_pool.h"
#include "tests/server/serving/fake_clock.h"
#include "tests/server/serving/hand_backend.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;

absl::Status Lost() { return MakeError(ErrorReason::kDeviceLost, "cudaEventQuery: it trapped"); }

// Tasks run when the test says so.
class HandExecutor final : public Executor {
 public:
  explicit HandExecutor(std::deque<absl::AnyInvocable<void() &&>>* tasks) : tasks_(*tasks) {}
  void Run(const ClientId&, const TaskNeeds&, Task task) override {
    tasks_.push_back(std::move(task));
  }

 private:
  std::deque<absl::AnyInvocable<void() &&>>& tasks_;
};

FrameJob JobNumber(int number) {
  FrameJob job;
  job.input = std::make_shared<InputSlot>();
  job.parameters.max_features = number;
  return job;
}

class FailoverBackendTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto primary = std::make_unique<HandBackend>("gpu");
    auto fallback = std::make_unique<HandBackend>("cpu");
    primary_ = primary.get();
    fallback_ = fallback.get();
    primary_->destroyed = &primary_destroyed_;
    primary_->max_batch_frames = 8;
    fallback_->max_batch_frames = 1;
    FailoverOptions options;
    options.stall = milliseconds(50);
    options.silence = milliseconds(500);
    options.rescue_time = milliseconds(100);
    options.on_stall = [this](bool stalled) { stalls_.push_back(stalled); };
    options.on_lost = [this](const DeviceLoss& loss) {
      losses_.push_back(loss);
      rescued_before_told_ = !fallback_->batches.empty();
    };
    backend_ = MakeFailoverBackend(std::move(primary), std::move(fallback), &clock_,
                                   std::make_unique<HandExecutor>(&tasks_), std::move(options));
    plan_ = *backend_->MakePlan({640, 480, {}});
  }

  void RunTasks() {
    while (!tasks_.empty()) {
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      std::move(task)();
    }
  }
  // Submits frames of these numbers; their answer is answers_[returned index], its count counts_.
  size_t Submit(const std::vector<int>& numbers) {
    const size_t index = answers_.size();
    answers_.emplace_back();
    counts_.push_back(0);
    std::vector<FrameJob> jobs;
    for (const int number : numbers) jobs.push_back(JobNumber(number));
    last_jobs_ = jobs;
    backend_->Submit(plan_, std::move(jobs), [this, index](FrameBatchAnswer answer) {
      answers_[index] = std::move(answer);
      ++counts_[index];
    });
    return index;
  }
  size_t SubmitMatch(std::shared_ptr<const FrameState> query,
                     std::shared_ptr<const FrameState> train) {
    const size_t index = match_answers_.size();
    match_answers_.emplace_back();
    backend_->SubmitMatches(
        {{std::move(query), std::move(train), {}}},
        [this, index](MatchBatchAnswer answer) { match_answers_[index] = std::move(answer); });
    return index;
  }
  void LoseDevice() {
    Submit({1});
    primary_->FinishBatch({Lost()});
    RunTasks();
    fallback_->FinishBatch();
    ASSERT_EQ(backend_->state(), BackendState::kLost);
  }
  // Batches that each take so long.
  void Answer(int batches, milliseconds each) {
    for (int i = 0; i < batches; ++i) {
      Submit({1});
      clock_.Advance(each);
      primary_->FinishBatch();
      RunTasks();
    }
  }
  void ExpectFeatures(const FrameAnswer& answer, size_t count) {
    ASSERT_TRUE(answer.status.ok()) << answer.status;
    EXPECT_EQ(answer.features->count(), count);
  }

  FakeClock clock_;
  std::deque<absl::AnyInvocable<void() &&>> tasks_;
  HandBackend* primary_ = nullptr;
  HandBackend* fallback_ = nullptr;
  bool primary_destroyed_ = false;
  std::shared_ptr<FeatureBackend> backend_;
  std::shared_ptr<FeaturePlan> plan_;
  std::vector<FrameJob> last_jobs_;
  std::vector<FrameBatchAnswer> answers_;
  std::vector<int> counts_;
  std::vector<MatchBatchAnswer> match_answers_;
  std::vector<DeviceLoss> losses_;
  std::vector<bool> stalls_;
  bool rescued_before_told_ = false;
};

TEST_F(FailoverBackendTest, MemoryIsThatOfBothBackendsAndALostDeviceIsNotAsked) {
  primary_->memory_held = {{"arenas", "gpu:0", 100}, {"pinned", "host", 10}};
  fallback_->memory_held = {{"inputs", "cpu", 1}};
  const auto bytes = [this] {
    std::vector<std::string> kinds;
    std::vector<int64_t> values;
    for (const MemoryUse& use : backend_->memory()) {
      kinds.emplace_back(use.kind);
      values.push_back(use.bytes);
    }
    EXPECT_EQ(kinds, (std::vector<std::string>{"arenas", "pinned", "inputs"}));
    return values;
  };
  EXPECT_EQ(bytes(), (std::vector<int64_t>{100, 10, 1}));
  primary_->memory_held[0].bytes = 200;
  EXPECT_EQ(bytes(), (std::vector<int64_t>{200, 10, 1}));
  LoseDevice();
  const int calls = primary_->memory_calls;
  primary_->memory_held[0].bytes = 300;
  fallback_->memory_held[0].bytes = 2;
  EXPECT_EQ(bytes(), (std::vector<int64_t>{200, 10, 2}));
  EXPECT_EQ(primary_->memory_calls, calls);
}

TEST_F(FailoverBackendTest, WhileTheDeviceAnswersNothingElseIsUsed) {
  EXPECT_EQ(backend_->name(), "gpu");
  EXPECT_EQ(plan_->max_batch_frames(), 8);
  const size_t batch = Submit({10, 20});
  ASSERT_EQ(primary_->batches.size(), 1u);
  const FeaturePlan* const given = primary_->batches.front().plan.get();
  EXPECT_NE(dynamic_cast<const HandPlan*>(given), nullptr) << "the primary wants its own plan";
  primary_->FinishBatch({absl::OkStatus(), MakeError(ErrorReason::kOutOfMemory, "full")});
  ExpectFeatures(answers_[batch].frames[0], 10);
  EXPECT_EQ(ReasonOf(answers_[batch].frames[1].status), ErrorReason::kOutOfMemory);
  EXPECT_EQ(answers_[batch].cost.device, "gpu:0");
  EXPECT_TRUE(tasks_.empty());
  EXPECT_EQ(fallback_->plans_made, 0);
  EXPECT_EQ(backend_->state(), BackendState::kOk);
}

TEST_F(FailoverBackendTest, LostFramesAreComputedByTheFallbackFromTheirSlots) {
  const size_t batch = Submit({10, 20});
  const std::vector<FrameJob> jobs = last_jobs_;
  primary_->FinishBatch({Lost(), Lost()});
  EXPECT_EQ(counts_[batch], 0);
  RunTasks();
  ASSERT_EQ(losses_.size(), 1u);
  EXPECT_EQ(losses_[0].device, "gpu:0");
  EXPECT_EQ(losses_[0].status, Lost());
  EXPECT_FALSE(rescued_before_told_);
  EXPECT_EQ(backend_->state(), BackendState::kLost);
  ASSERT_EQ(fallback_->batches.size(), 2u);
  EXPECT_EQ(fallback_->batches[0].jobs[0].input, jobs[0].input);
  EXPECT_EQ(fallback_->batches[1].jobs[0].input, jobs[1].input);
  EXPECT_EQ(fallback_->plans_made, 1);
  fallback_->FinishBatch();
  EXPECT_EQ(counts_[batch], 0);
  fallback_->FinishBatch();
  EXPECT_EQ(counts_[batch], 1);
  ExpectFeatures(answers_[batch].frames[0], 10);
  ExpectFeatures(answers_[batch].frames[1], 20);
  EXPECT_EQ(answers_[batch].cost.device, "cpu:0");
}

TEST_F(FailoverBackendTest, WhatTheDeviceAnsweredBeforeStays) {
  const size_t batch = Submit({10, 20, 30});
  const absl::Status bad = MakeError(ErrorReason::kBadOptions, "bad");
  primary_->FinishBatch({absl::OkStatus(), Lost(), bad});
  RunTasks();
  ASSERT_EQ(fallback_->batches.size(), 1u);
  EXPECT_EQ(fallback_->batches[0].jobs[0].parameters.max_features, 20);
  fallback_->FinishBatch();
  ExpectFeatures(answers_[batch].frames[0], 10);
  ExpectFeatures(answers_[batch].frames[1], 20);
  EXPECT_EQ(answers_[batch].frames[2].status, bad);
}

TEST_F(FailoverBackendTest, OtherBatchesDoNotWaitForTheLostDevice) {
  const size_t first = Submit({10});
  const size_t second = Submit({20});
  primary_->FinishBatch({Lost()});
  RunTasks();
  ASSERT_EQ(fallback_->batches.size(), 2u);
  fallback_->FinishBatch();
  fallback_->FinishBatch();
  EXPECT_EQ(counts_[first], 1);
  EXPECT_EQ(counts_[second], 1);
  ExpectFeatures(answers_[second].frames[0], 20);
  // A late answer of the device, of either kind, changes nothing.
  primary_->FinishBatch({Lost()});
  RunTasks();
  EXPECT_EQ(counts_[second], 1);
  EXPECT_EQ(losses_.size(), 1u);
}

TEST_F(FailoverBackendTest, ALateAnswerDuringTheRescueIsDropped) {
  const size_t first = Submit({10});
  const size_t second = Submit({20});
  primary_->FinishBatch({Lost()});
  RunTasks();
  primary_->FinishBatch();
  EXPECT_EQ(counts_[second], 0);
  fallback_->FinishBatch();
  fallback_->FinishBatch();
  EXPECT_EQ(counts_[first], 1);
  EXPECT_EQ(counts_[second], 1);
}

TEST_F(FailoverBackendTest, SilenceWithWorkIsALoss) {
  const size_t batch = Submit({10});
  clock_.Advance(milliseconds(499));
  RunTasks();
  EXPECT_TRUE(losses_.empty());
  clock_.Advance(milliseconds(1));
  RunTasks();
  ASSERT_EQ(losses_.size(), 1u);
  EXPECT_EQ(losses_[0].device, "gpu:0");
  EXPECT_EQ(ReasonOf(losses_[0].status), ErrorReason::kDeviceLost);
  fallback_->FinishBatch();
  ExpectFeatures(answers_[batch].frames[0], 10);
}

TEST_F(FailoverBackendTest, ProgressIsASignOfLife) {
  Submit({10});
  for (int i = 0; i < 30; ++i) {
    clock_.Advance(milliseconds(400));
    ++primary_->progress_made;
  }
  RunTasks();
  EXPECT_TRUE(losses_.empty());
  clock_.Advance(milliseconds(1'000));
  RunTasks();
  EXPECT_EQ(losses_.size(), 1u);
  fallback_->FinishBatch();
}

TEST_F(FailoverBackendTest, EachAnswerIsASignOfLife) {
  Submit({10});
  Submit({20});
  Submit({30});
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(milliseconds(400));
    primary_->FinishBatch();
  }
  clock_.Advance(milliseconds(10'000));  // nothing to do is not silence
  Submit({40});
  clock_.Advance(milliseconds(400));
  primary_->FinishBatch();
  RunTasks();
  EXPECT_TRUE(losses_.empty());
  EXPECT_EQ(counts_, (std::vector<int>{1, 1, 1, 1}));
}

TEST_F(FailoverBackendTest, AStallIsToldAndEndsWithTheNextAnswer) {
  Answer(20, milliseconds(1));
  Submit({10});
  clock_.Advance(milliseconds(49));
  RunTasks();
  EXPECT_TRUE(stalls_.empty());
  clock_.Advance(milliseconds(1));
  RunTasks();
  EXPECT_EQ(stalls_, std::vector<bool>{true});
  EXPECT_EQ(backend_->state(), BackendState::kOk);
  primary_->FinishBatch();
  RunTasks();
  EXPECT_EQ(stalls_, (std::vector<bool>{true, false}));
  EXPECT_TRUE(losses_.empty());
}

TEST_F(FailoverBackendTest, AStallThatDoesNotEndIsALoss) {
  Answer(20, milliseconds(1));
  Submit({10});
  clock_.Advance(milliseconds(499));
  RunTasks();
  EXPECT_TRUE(losses_.empty());
  clock_.Advance(milliseconds(1));
  RunTasks();
  EXPECT_EQ(stalls_, std::vector<bool>{true});
  EXPECT_EQ(losses_.size(), 1u);
  fallback_->FinishBatch();
}

TEST_F(FailoverBackendTest, WhatIsUsualIsNoStall) {
  Answer(20, milliseconds(40));
  Answer(20, milliseconds(100));
  Submit({10});
  clock_.Advance(milliseconds(390));
  RunTasks();
  EXPECT_TRUE(stalls_.empty());
  clock_.Advance(milliseconds(10));
  RunTasks();
  EXPECT_EQ(stalls_, std::vector<bool>{true});
  primary_->FinishBatch();
  RunTasks();
}

TEST_F(FailoverBackendTest, TheFirstAnswersAndPlansMayTakeLong) {
  Answer(4, milliseconds(300));
  EXPECT_TRUE(stalls_.empty());
  Answer(20, milliseconds(1));
  Submit({10});
  primary_->on_make_plan = [this] { clock_.Advance(milliseconds(300)); };
  ASSERT_TRUE(backend_->MakePlan({320, 240, {}}).ok());
  primary_->FinishBatch();
  RunTasks();
  EXPECT_TRUE(stalls_.empty());
  // And are not usual afterwards.
  Submit({10});
  clock_.Advance(milliseconds(60));
  RunTasks();
  EXPECT_EQ(stalls_, std::vector<bool>{true});
  primary_->FinishBatch();
  RunTasks();
}

TEST_F(FailoverBackendTest, APlanThatIsNeverMadeIsALossToo) {
  primary_->on_make_plan = [this] { clock_.Advance(milliseconds(600)); };
  const auto plan = backend_->MakePlan({320, 240, {}});
  ASSERT_TRUE(plan.ok());
  RunTasks();
  EXPECT_EQ(losses_.size(), 1u);
}

TEST_F(FailoverBackendTest, AfterTheLossTheFallbackServes) {
  LoseDevice();
  const int plans = primary_->plans_made;
  const auto plan = backend_->MakePlan({320, 240, {}});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ((*plan)->spec().width_px, 320);
  EXPECT_EQ((*plan)->max_batch_frames(), 1);
  EXPECT_EQ(primary_->plans_made, plans);
  ASSERT_TRUE(backend_->LeaseInput(320, 240, false).ok());
  EXPECT_EQ(primary_->leases, 0);
  EXPECT_EQ(fallback_->leases, 1);
  ASSERT_TRUE(backend_->ImportState(MakeFeatures(3)).ok());
  EXPECT_EQ(fallback_->imports, 1);

  plan_ = *plan;
  const size_t batch = Submit({10});
  EXPECT_TRUE(fallback_->batches.empty()) << "Submit() must not make plans";
  RunTasks();
  ASSERT_EQ(fallback_->batches.size(), 1u);
  fallback_->FinishBatch();
  ExpectFeatures(answers_[batch].frames[0], 10);
  EXPECT_TRUE(primary_->batches.empty());
}

TEST_F(FailoverBackendTest, APlanThatFailsByTheLossIsMadeByTheFallback) {
  primary_->plan_status = Lost();
  const auto plan = backend_->MakePlan({320, 240, {}});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ((*plan)->max_batch_frames(), 1);
  RunTasks();
  EXPECT_EQ(losses_.size(), 1u);
}

TEST_F(FailoverBackendTest, ALeaseThatFailsByTheLossIsTheFallbacks) {
  primary_->lease_status = Lost();
  EXPECT_TRUE(backend_->LeaseInput(320, 240, false).ok());
  EXPECT_EQ(fallback_->leases, 1);
  RunTasks();
  EXPECT_EQ(losses_.size(), 1u);
}

TEST_F(FailoverBackendTest, OtherErrorsAreNoLoss) {
  primary_->plan_status = MakeError(ErrorReason::kOutOfMemory, "full");
  primary_->lease_status = primary_->plan_status;
  EXPECT_EQ(ReasonOf(backend_->MakePlan({320, 240, {}}).status()), ErrorReason::kOutOfMemory);
  EXPECT_EQ(ReasonOf(backend_->LeaseInput(320, 240, false).status()), ErrorReason::kOutOfMemory);
  RunTasks();
  EXPECT_TRUE(losses_.empty());
  EXPECT_EQ(backend_->state(), BackendState::kOk);
}

TEST_F(FailoverBackendTest, TracksGoOnFromPyramidsThatTheFallbackMakesAgain) {
  const auto slot = [] { return std::make_shared<InputSlot>(); };
  const auto state = [&](const char* owner) {
    return std::make_shared<HandState>(2, owner, slot(), 5);
  };
  auto points = std::make_shared<TrackPoints>();
  points->x = {100, 200};
  points->y = points->x;
  points->gain = points->offset = {0.0f, 0.0f};
  const auto first = state("gpu");
  const auto second = state("gpu");
  std::vector<TrackBatchAnswer> answers;
  const auto submit = [&](std::shared_ptr<const FrameState> from,
                          std::shared_ptr<const FrameState> to) {
    backend_->SubmitTracks(
        {{std::move(from), std::move(to), points, {}}},
        [&answers](TrackBatchAnswer answer) { answers.push_back(std::move(answer)); });
  };
  submit(first, second);
  primary_->FinishTracks(Lost());
  RunTasks();
  EXPECT_EQ(losses_.size(), 1u);
  ASSERT_EQ(fallback_->tracks.size(), 1u);
  const TrackJob& job = fallback_->tracks.front().jobs[0];
  EXPECT_EQ(job.points, points);
  EXPECT_EQ(job.from->input(), first->input());
  EXPECT_EQ(job.to->input(), second->input());
  EXPECT_EQ(job.to->pyramid_levels(), 5);
  EXPECT_EQ(fallback_->rebuilt_pyramids, 2);
  EXPECT_EQ(primary_->rebuilt_pyramids, 0);
  fallback_->FinishTracks();
  ASSERT_EQ(answers.size(), 1u);
  ASSERT_TRUE(answers[0].jobs[0].status.ok());
  EXPECT_EQ(answers[0].jobs[0].tracked.x, (std::vector<int32_t>{100 + 16384, 200 + 16384}));
  EXPECT_EQ(answers[0].cost.device, "cpu:0");

  // The next frame is one of the fallback, and only the one before it is made again.
  submit(second, state("cpu"));
  RunTasks();
  EXPECT_EQ(fallback_->rebuilt_pyramids, 3);
  fallback_->FinishTracks();
  EXPECT_TRUE(answers.at(1).jobs[0].status.ok());
  EXPECT_TRUE(primary_->tracks.empty());
  ASSERT_TRUE(backend_->RebuildPyramid(*first).ok());
  EXPECT_EQ(fallback_->rebuilt_pyramids, 4);
}

TEST_F(FailoverBackendTest, MatchesTakeTheirStatesAlong) {
  const auto query = std::make_shared<HandState>(2, "gpu");
  const auto train = std::make_shared<HandState>(3, "gpu");
  const size_t match = SubmitMatch(query, train);
  primary_->FinishMatches(Lost());
  RunTasks();
  EXPECT_EQ(losses_.size(), 1u);
  ASSERT_EQ(fallback_->matches.size(), 1u);
  for (const auto& state :
       {fallback_->matches[0].jobs[0].query, fallback_->matches[0].jobs[0].train}) {
    EXPECT_EQ(dynamic_cast<const HandState&>(*state).owner(), "cpu");
  }
  fallback_->FinishMatches();
  ASSERT_TRUE(match_answers_[match].pairs[0].status.ok());
  EXPECT_EQ(match_answers_[match].pairs[0].matches.distance, std::vector<uint32_t>{2003});

  // Later a state of each kind.
  const size_t mixed = SubmitMatch(query, std::make_shared<HandState>(7, "cpu"));
  RunTasks();
  fallback_->FinishMatches();
  ASSERT_TRUE(match_answers_[mixed].pairs[0].status.ok());
  EXPECT_EQ(match_answers_[mixed].pairs[0].matches.distance, std::vector<uint32_t>{2007});
  EXPECT_TRUE(backend_->ExportState(*query).ok());
  EXPECT_TRUE(backend_->ExportState(HandState(1, "cpu")).ok());
}

TEST_F(FailoverBackendTest, AStateThatStaysOnTheDeviceIsLost) {
  primary_->exports = false;
  const auto state = std::make_shared<HandState>(2, "gpu");
  const size_t match = SubmitMatch(state, state);
  primary_->FinishMatches(Lost());
  RunTasks();
  ASSERT_EQ(match_answers_[match].pairs.size(), 1u);
  EXPECT_EQ(ReasonOf(match_answers_[match].pairs[0].status), ErrorReason::kDeviceLost);
}

TEST_F(FailoverBackendTest, ABatchForWhichThePrimaryHasNoMemoryStaysWithItsSender) {
  primary_->has_memory = false;
  EXPECT_THROW(Submit({1}), std::bad_alloc);
  const auto state = std::make_shared<HandState>(1, "gpu");
  EXPECT_THROW(SubmitMatch(state, state), std::bad_alloc);
  clock_.Advance(milliseconds(10'000));
  RunTasks();
  EXPECT_EQ(counts_, std::vector<int>{0});
  EXPECT_TRUE(losses_.empty());  // the device holds no work
  primary_->has_memory = true;
  const size_t second = Submit({2});
  primary_->FinishBatch();
  ExpectFeatures(answers_[second].frames.at(0), 2);
  LoseDevice();
  EXPECT_EQ(counts_, (std::vector<int>{0, 1, 1}));
  backend_.reset();  // waits for the open batches: there are none
}

TEST_F(FailoverBackendTest, ALossBeforeTheMemoryRunsOutHasTheBatchRescued) {
  // The primary tells the loss of its first batch while it finds no memory for the second.
  Submit({1});
  primary_->on_submit = [this] {
    primary_->FinishBatch({Lost()});
    RunTasks();
  };
  primary_->has_memory = false;
  const size_t second = Submit({2});
  EXPECT_EQ(losses_.size(), 1u);
  while (!fallback_->batches.empty()) fallback_->FinishBatch();
  ExpectFeatures(answers_[second].frames.at(0), 2);
  EXPECT_EQ(counts_, (std::vector<int>{1, 1}));
}

TEST_F(FailoverBackendTest, AfterTheRescueTimeTheRestIsToldThatTheDeviceIsLost) {
  const size_t batch = Submit({10, 20});
  const auto state = std::make_shared<HandState>(2, "gpu");
  const size_t match = SubmitMatch(state, state);
  primary_->FinishBatch({Lost(), Lost()});
  RunTasks();
  fallback_->FinishBatch();
  clock_.Advance(milliseconds(100));
  RunTasks();
  EXPECT_EQ(counts_[batch], 1);
  ExpectFeatures(answers_[batch].frames[0], 10);
  EXPECT_EQ(ReasonOf(answers_[batch].frames[1].status), ErrorReason::kDeviceLost);
  EXPECT_EQ(answers_[batch].frames[1].status.code(), absl::StatusCode::kUnavailable);
  ASSERT_EQ(match_answers_[match].pairs.size(), 1u);
  EXPECT_EQ(ReasonOf(match_answers_[match].pairs[0].status), ErrorReason::kDeviceLost);
  // Too late.
  fallback_->FinishBatch();
  fallback_->FinishMatches();
  EXPECT_EQ(counts_[batch], 1);
  // And whatever comes now, though not inside the call.
  const size_t next = Submit({30});
  EXPECT_EQ(counts_[next], 0);
  RunTasks();
  EXPECT_EQ(counts_[next], 1);
  EXPECT_EQ(ReasonOf(answers_[next].frames[0].status), ErrorReason::kDeviceLost);
  EXPECT_TRUE(fallback_->batches.empty());
}

TEST_F(FailoverBackendTest, WithoutMemoryForThePlanTheFramesAreLost) {
  fallback_->plan_status = MakeError(ErrorReason::kOutOfMemory, "full");
  const size_t batch = Submit({10});
  primary_->FinishBatch({Lost()});
  RunTasks();
  ASSERT_EQ(counts_[batch], 1);
  EXPECT_EQ(ReasonOf(answers_[batch].frames[0].status), ErrorReason::kDeviceLost);
}

TEST_F(FailoverBackendTest, AHealthyDeviceIsFreedAndALostOneIsNot) {
  backend_.reset();
  EXPECT_TRUE(primary_destroyed_);
  SetUp();
  primary_destroyed_ = false;
  LoseDevice();
  HandBackend* const lost = primary_;
  backend_.reset();
  plan_.reset();
  EXPECT_FALSE(primary_destroyed_);
  lost->destroyed = nullptr;
}

// Answers from threads of its own; from frame `healthy` on it loses them, or says nothing at all.
class FailingBackend final : public FeatureBackend {
 public:
  FailingBackend(int healthy, bool silent)
      : left_(healthy), silent_(silent), pool_({.threads = 3}) {}
  absl::string_view name() const override { return "failing"; }
  std::vector<DeviceDescription> devices() const override { return {{"failing:0"}}; }
  BackendState state() const override { return BackendState::kOk; }
  absl::StatusOr<std::shared_ptr<FeaturePlan>> MakePlan(const PlanSpec& spec) override {
    return std::make_shared<HandPlan>(spec, 64);
  }
  absl::StatusOr<std::shared_ptr<InputSlot>> LeaseInput(int, int, bool) override {
    return std::make_shared<InputSlot>();
  }
  void Submit(std::shared_ptr<FeaturePlan>, std::vector<FrameJob> jobs,
              FrameBatchDone done) override {
    pool_.Run(ClientId{}, {}, [this, jobs = std::move(jobs), done = std::move(done)]() mutable {
      FrameBatchAnswer answer;
      for (const FrameJob& job : jobs) {
        FrameAnswer frame;
        if (left_.fetch_sub(1) <= 0) {
          if (silent_) {
            const absl::MutexLock lock(&mutex_);
            silenced_.push_back(std::move(done));
            return;
          }
          frame.status = Lost();
        } else {
          frame.features = MakeFeatures(static_cast<size_t>(job.parameters.max_features));
        }
        answer.frames.push_back(std::move(frame));
      }
      std::move(done)(std::move(answer));
    });
  }
  void SubmitMatches(std::vector<MatchJob>, MatchBatchDone done) override {
    std::move(done)(MatchBatchAnswer());
  }
  void SubmitTracks(std::vector<TrackJob>, TrackBatchDone done) override {
    std::move(done)(TrackBatchAnswer());
  }
  absl::StatusOr<std::shared_ptr<const FrameState>> RebuildPyramid(const FrameState&) override {
    return std::make_shared<HandState>(0, "failing");
  }
  absl::StatusOr<std::shared_ptr<const FrameState>> ImportState(
      std::shared_ptr<const Features> features) override {
    return std::make_shared<HandState>(features->count(), "failing");
  }
  absl::StatusOr<std::shared_ptr<const Features>> ExportState(const FrameState&) override {
    return Lost();
  }

 private:
  std::atomic<int> left_;
  const bool silent_;
  absl::Mutex mutex_;
  std::vector<FrameBatchDone> silenced_ ABSL_GUARDED_BY(mutex_);
  WorkerPool pool_;
};

class FailoverBackendThreadsTest : public ::testing::TestWithParam<bool> {};

TEST_P(FailoverBackendThreadsTest, EveryFrameIsAnsweredOnceWhenTheDeviceFailsUnderLoad) {
  constexpr int kThreads = 4;
  constexpr int kBatches = 200;
  for (int round = 0; round < 3; ++round) {
    SystemClock clock;
    std::atomic<int> losses{0};
    FailoverOptions options;
    options.silence = milliseconds(50);
    options.rescue_time = std::chrono::minutes(5);
    options.on_lost = [&](const DeviceLoss&) { ++losses; };
    const auto backend =
        MakeFailoverBackend(std::make_unique<FailingBackend>(300 + 400 * round, GetParam()),
                            std::make_unique<FailingBackend>(1 << 30, false), &clock,
                            std::make_unique<WorkerPool>(WorkerPoolOptions{}), std::move(options));
    const auto plan = *backend->MakePlan({64, 64, {}});
    std::atomic<int> wrong{0};
    absl::BlockingCounter open(kThreads * kBatches);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kBatches; ++i) {
          std::vector<FrameJob> jobs;
          for (int j = 0; j <= i % 3; ++j) jobs.push_back(JobNumber(1 + t + i + j));
          backend->Submit(plan, std::move(jobs), [&, t, i](FrameBatchAnswer answer) {
            if (answer.frames.size() != static_cast<size_t>(1 + i % 3)) ++wrong;
            for (size_t j = 0; j < answer.frames.size(); ++j) {
              const FrameAnswer& frame = answer.frames[j];
              const size_t expected = static_cast<size_t>(1 + t + i) + j;
              if (!frame.status.ok() || frame.features->count() != expected) ++wrong;
            }
            open.DecrementCount();
          });
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    open.Wait();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(losses, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(ErrorsOrSilence, FailoverBackendThreadsTest, ::testing::Bool());

}  // namespace
}  // namespace orbserve
