// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/failover/rescue.h"

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "features/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/serving/hand_backend.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::Status TrappedDevice() { return MakeError(ErrorReason::kDeviceLost, "it trapped"); }

// Batches are told apart by the max_features of their first frame, or the descriptors of their
// query.
class RescueTest : public ::testing::Test {
 protected:
  Rescue::BatchPtr<FrameRescue> AddFrames(std::vector<int> numbers) {
    std::vector<FrameJob> jobs;
    for (const int number : numbers) {
      FrameJob job;
      job.parameters.max_features = number;
      jobs.push_back(std::move(job));
    }
    return rescue_.Add<FrameRescue>(plan_, std::move(jobs),
                                    [this, number = numbers.front()](FrameBatchAnswer answer) {
                                      order_.push_back(number);
                                      frames_.push_back(std::move(answer));
                                    });
  }
  Rescue::BatchPtr<MatchRescue> AddMatch(int number) {
    const auto state = std::make_shared<HandState>(static_cast<size_t>(number), "gpu");
    return rescue_.Add<MatchRescue>({}, {{state, state, {}}},
                                    [this, number](MatchBatchAnswer answer) {
                                      order_.push_back(number);
                                      matches_.push_back(std::move(answer));
                                    });
  }
  static FrameBatchAnswer Answer(const std::vector<absl::Status>& statuses) {
    FrameBatchAnswer answer;
    for (const absl::Status& status : statuses) answer.frames.push_back({.status = status});
    return answer;
  }
  static ErrorReason ReasonIn(const FrameBatchAnswer& answer, size_t frame) {
    return ReasonOf(answer.frames.at(frame).status);
  }

  HandBackend primary_{"gpu"};
  HandBackend fallback_{"cpu"};
  Rescue rescue_{&primary_, &fallback_};
  const std::shared_ptr<std::atomic<bool>> lost_ = std::make_shared<std::atomic<bool>>(false);
  const std::shared_ptr<RescuablePlan> plan_ = std::make_shared<RescuablePlan>(
      std::make_shared<HandPlan>(PlanSpec{640, 480, {}}, 8), nullptr, lost_);
  std::vector<int> order_;  // of the answers
  std::vector<FrameBatchAnswer> frames_;
  std::vector<MatchBatchAnswer> matches_;
};

TEST_F(RescueTest, AnAnswerIsPassedOnOnce) {
  const auto batch = AddFrames({1, 2});
  const absl::Status full = MakeError(ErrorReason::kOutOfMemory, "full");
  EXPECT_TRUE(rescue_.Done<FrameRescue>(batch, Answer({absl::OkStatus(), full})).ok());
  EXPECT_TRUE(rescue_.Done<FrameRescue>(batch, Answer({TrappedDevice(), TrappedDevice()})).ok());
  rescue_.RescueBatch<FrameRescue>(batch);
  rescue_.RescueAll();
  rescue_.GiveUp();
  EXPECT_THAT(order_, ElementsAre(1));
  EXPECT_EQ(ReasonIn(frames_[0], 1), ErrorReason::kOutOfMemory);
  EXPECT_THAT(fallback_.batches, IsEmpty());
  rescue_.WaitUntilEmpty();
}

TEST_F(RescueTest, ABatchThatIsWithdrawnIsNotAnswered) {
  EXPECT_TRUE(rescue_.Withdraw(*AddFrames({1})));
  EXPECT_TRUE(rescue_.Withdraw(*AddMatch(2)));
  rescue_.RescueAll();
  rescue_.GiveUp();
  rescue_.WaitUntilEmpty();
  EXPECT_THAT(order_, IsEmpty());
  EXPECT_THAT(fallback_.batches, IsEmpty());
}

TEST_F(RescueTest, ABatchThatHasAnotherOwnerCannotBeWithdrawn) {
  const auto answered = AddFrames({1});
  EXPECT_TRUE(rescue_.Done<FrameRescue>(answered, Answer({absl::OkStatus()})).ok());
  EXPECT_FALSE(rescue_.Withdraw(*answered));
  const auto rescued = AddFrames({2});
  rescue_.RescueBatch<FrameRescue>(rescued);
  EXPECT_FALSE(rescue_.Withdraw(*rescued));
  fallback_.FinishBatch();
  EXPECT_THAT(order_, ElementsAre(1, 2));
}

TEST_F(RescueTest, ALossIsToldAndKeptForTheRescueOfTheFramesThatItHit) {
  const auto batch = AddFrames({1, 2, 3});
  EXPECT_EQ(rescue_.Done<FrameRescue>(batch,
                                      Answer({absl::OkStatus(), TrappedDevice(), TrappedDevice()})),
            TrappedDevice());
  EXPECT_THAT(order_, IsEmpty());
  rescue_.RescueBatch<FrameRescue>(batch);
  rescue_.RescueBatch<FrameRescue>(batch);
  ASSERT_EQ(fallback_.batches.size(), 2u);
  EXPECT_THAT(fallback_.Numbers(0), ElementsAre(2));
  EXPECT_THAT(fallback_.Numbers(1), ElementsAre(3));
  EXPECT_TRUE(
      rescue_.Done<FrameRescue>(batch, Answer({TrappedDevice(), TrappedDevice(), TrappedDevice()}))
          .ok());  // too late
  fallback_.FinishBatch();
  EXPECT_THAT(order_, IsEmpty());
  fallback_.FinishBatch({MakeError(ErrorReason::kOutOfMemory, "full")});
  ASSERT_THAT(order_, ElementsAre(1));
  EXPECT_TRUE(frames_[0].frames[0].status.ok());
  EXPECT_EQ(frames_[0].frames[1].features->count(), 2u);
  EXPECT_EQ(ReasonIn(frames_[0], 2), ErrorReason::kOutOfMemory);
  EXPECT_EQ(frames_[0].cost.device, "cpu:0");
}

TEST_F(RescueTest, EverythingIsRescuedMatchesFirstAndInOrder) {
  for (const int number : {10, 20, 30}) {
    AddFrames({number});
    AddMatch(number + 1);
  }
  rescue_.RescueAll();
  std::vector<size_t> queries;
  for (const auto& batch : fallback_.matches) {
    queries.push_back(batch.jobs[0].query->feature_count());
  }
  EXPECT_THAT(queries, ElementsAre(11, 21, 31));
  ASSERT_EQ(fallback_.batches.size(), 3u);
  EXPECT_THAT(fallback_.Numbers(0), ElementsAre(10));
  EXPECT_THAT(fallback_.Numbers(2), ElementsAre(30));
  EXPECT_EQ(fallback_.plans_made, 1);
  fallback_.FinishAllMatches();
  while (!fallback_.batches.empty()) fallback_.FinishBatch();
  EXPECT_THAT(order_, ElementsAre(11, 21, 31, 10, 20, 30));
  rescue_.WaitUntilEmpty();
}

TEST_F(RescueTest, WithoutAPlanThereIsNoRescue) {
  fallback_.plan_status = MakeError(ErrorReason::kOutOfMemory, "full");
  rescue_.RescueBatch<FrameRescue>(AddFrames({1}));
  ASSERT_THAT(order_, ElementsAre(1));
  EXPECT_EQ(ReasonIn(frames_[0], 0), ErrorReason::kDeviceLost);
  const auto foreign = rescue_.Add<FrameRescue>(
      nullptr, std::vector<FrameJob>(1),
      [this](FrameBatchAnswer answer) { frames_.push_back(std::move(answer)); });
  rescue_.RescueBatch<FrameRescue>(foreign);
  ASSERT_EQ(frames_.size(), 2u);
  EXPECT_EQ(ReasonIn(frames_[1], 0), ErrorReason::kDeviceLost);
}

TEST_F(RescueTest, AMatchWhoseStateCannotMoveIsLostAndTheOthersAreNot) {
  const auto state = [](size_t count, const char* owner) {
    return std::make_shared<HandState>(count, owner);
  };
  std::vector<MatchJob> jobs = {{state(1, "gpu"), state(2, "cpu"), {}},
                                {state(3, "gpu"), state(4, "elsewhere"), {}},
                                {state(5, "gpu"), state(6, "gpu"), {}}};
  const auto batch = rescue_.Add<MatchRescue>({}, std::move(jobs), [this](MatchBatchAnswer answer) {
    matches_.push_back(std::move(answer));
  });
  rescue_.RescueBatch<MatchRescue>(batch);
  EXPECT_EQ(fallback_.matches.size(), 2u);
  fallback_.FinishAllMatches();
  ASSERT_EQ(matches_.size(), 1u);
  ASSERT_EQ(matches_[0].pairs.size(), 3u);
  EXPECT_THAT(matches_[0].pairs[0].matches.distance, ElementsAre(1002));
  EXPECT_EQ(ReasonOf(matches_[0].pairs[1].status), ErrorReason::kDeviceLost);
  EXPECT_THAT(matches_[0].pairs[2].matches.distance, ElementsAre(5006));
  EXPECT_EQ(matches_[0].cost.device, "cpu:0");
  rescue_.WaitUntilEmpty();
}

TEST_F(RescueTest, ASearchWhosePyramidCannotBeMadeAgainIsLostAndTheOthersAreNot) {
  const auto pyramid = [](const char* owner) {
    return std::make_shared<HandState>(1, owner, std::make_shared<InputSlot>(), 5);
  };
  auto points = std::make_shared<TrackPoints>();
  points->x = points->y = {0};
  points->gain = points->offset = {0.0f};
  const auto without_slot = std::make_shared<HandState>(1, "gpu");
  std::vector<TrackJob> jobs = {{pyramid("gpu"), pyramid("cpu"), points, {}},
                                {pyramid("gpu"), without_slot, points, {}},
                                {pyramid("cpu"), pyramid("cpu"), points, {}}};
  std::vector<TrackBatchAnswer> answers;
  const auto batch = rescue_.Add<TrackRescue>(
      {}, std::move(jobs),
      [&answers](TrackBatchAnswer answer) { answers.push_back(std::move(answer)); });
  rescue_.RescueBatch<TrackRescue>(batch);
  ASSERT_EQ(fallback_.tracks.size(), 2u);
  EXPECT_EQ(fallback_.rebuilt_pyramids, 2) << "and none of the fallback's own";
  while (!fallback_.tracks.empty()) fallback_.FinishTracks();
  ASSERT_EQ(answers.size(), 1u);
  ASSERT_EQ(answers[0].jobs.size(), 3u);
  EXPECT_TRUE(answers[0].jobs[0].status.ok());
  EXPECT_EQ(ReasonOf(answers[0].jobs[1].status), ErrorReason::kDeviceLost);
  EXPECT_THAT(answers[0].jobs[2].tracked.x, ElementsAre(1 << kTrackFractionBits));
  rescue_.WaitUntilEmpty();
}

TEST_F(RescueTest, ABatchThatIsGivenUpWhileItsPlanIsMadeIsAnsweredOnce) {
  fallback_.on_make_plan = [this] { rescue_.GiveUp(); };
  rescue_.RescueBatch<FrameRescue>(AddFrames({1, 2}));
  EXPECT_THAT(order_, ElementsAre(1));
  EXPECT_EQ(ReasonIn(frames_[0], 1), ErrorReason::kDeviceLost);
  EXPECT_THAT(fallback_.batches, IsEmpty());
  rescue_.WaitUntilEmpty();
}

TEST_F(RescueTest, AfterItIsGivenUpEverythingIsAnsweredAtOnce) {
  const auto begun = AddFrames({1, 2});
  rescue_.RescueBatch<FrameRescue>(begun);
  fallback_.FinishBatch();
  AddFrames({3});
  AddMatch(4);
  rescue_.GiveUp();
  EXPECT_THAT(order_, ::testing::UnorderedElementsAre(1, 3, 4));
  fallback_.FinishBatch();  // too late
  rescue_.RescueBatch<FrameRescue>(AddFrames({5}));
  rescue_.RescueBatch<MatchRescue>(AddMatch(6));
  EXPECT_EQ(order_.size(), 5u);
  EXPECT_THAT(fallback_.batches, IsEmpty());
  EXPECT_THAT(fallback_.matches, IsEmpty());
  for (const FrameBatchAnswer& answer : frames_) {
    const size_t last = answer.frames.size() - 1;
    EXPECT_EQ(ReasonIn(answer, last), ErrorReason::kDeviceLost);
    // What the fallback had computed by then is kept.
    if (last == 1) {
      EXPECT_TRUE(answer.frames[0].status.ok());
    }
  }
  for (const MatchBatchAnswer& answer : matches_) {
    EXPECT_EQ(ReasonOf(answer.pairs.at(0).status), ErrorReason::kDeviceLost);
  }
}

TEST(RescuablePlanTest, ItsSizeIsThatOfThePlansThatCanStillBeFreed) {
  const auto lost = std::make_shared<std::atomic<bool>>(false);
  const auto primary = std::make_shared<HandPlan>(PlanSpec{640, 480, {}}, 8);
  HandBackend fallback("cpu");
  RescuablePlan plan(primary, nullptr, lost);
  EXPECT_EQ(plan.size_bytes(), 1000u);
  EXPECT_EQ(plan.max_batch_frames(), 8);
  primary->bytes = 1234;
  EXPECT_EQ(plan.size_bytes(), 1234u);
  const auto made = plan.Fallback(fallback);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(plan.size_bytes(), 2234u);
  EXPECT_EQ(*plan.Fallback(fallback), *made);
  EXPECT_EQ(fallback.plans_made, 1);
  lost->store(true);
  EXPECT_EQ(plan.size_bytes(), 1000u);
}

// A plan that says when it is freed.
class ToldPlan final : public FeaturePlan {
 public:
  explicit ToldPlan(bool* freed) : freed_(*freed) {}
  ~ToldPlan() override { freed_ = true; }
  const PlanSpec& spec() const override { return spec_; }
  int max_batch_frames() const override { return 1; }
  size_t size_bytes() const override { return 0; }

 private:
  const PlanSpec spec_ = {1, 1, {}};
  bool& freed_;
};

TEST(RescuablePlanTest, APlanOfALostDeviceIsNotFreed) {
  static bool freed = false;  // the plan lives for the rest of the process
  for (const bool is_lost : {false, true}) {
    freed = false;
    const auto lost = std::make_shared<std::atomic<bool>>(false);
    auto plan = std::make_unique<RescuablePlan>(std::make_shared<ToldPlan>(&freed), nullptr, lost);
    lost->store(is_lost);
    plan.reset();
    EXPECT_EQ(freed, !is_lost);
  }
}

}  // namespace
}  // namespace orbserve
