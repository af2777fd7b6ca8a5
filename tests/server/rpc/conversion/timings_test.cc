// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/conversion/timings.h"

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

using std::chrono::nanoseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Stages of `timings`, one text each: name, nanoseconds, '*' when sampled.
std::vector<std::string> StagesOf(const v1::FrameTimings& timings) {
  std::vector<std::string> stages;
  for (const v1::StageTime& stage : timings.stages()) {
    stages.push_back(
        absl::StrCat(stage.stage(), " ", stage.duration_ns(), stage.sampled() ? "*" : ""));
  }
  return stages;
}

FrameOutcome TimedOutcome(int64_t base_ns, bool sampled) {
  FrameOutcome outcome;
  const auto now = std::chrono::steady_clock::now();
  outcome.times.Begin(now - std::chrono::milliseconds(3));
  int64_t time_ns = base_ns;
  for (const FramePhase phase :
       {FramePhase::kDecode, FramePhase::kQueue, FramePhase::kUpload, FramePhase::kCompute,
        FramePhase::kDownload, FramePhase::kAdmit, FramePhase::kDecodeQueue}) {
    outcome.times.Spend(phase, nanoseconds(++time_ns), now);
  }
  outcome.times.Enter(FramePhase::kSend, outcome.times.arrival() + outcome.times.total());
  outcome.stages.sampled = sampled;
  outcome.stages.Add(Stage::kPyramid, base_ns + 6);
  outcome.stages.Add({Stage::kDetect, Stage::kSuppress}, base_ns + 7);
  return outcome;
}

FrameOutcome TrackedAndMatched() {
  FrameOutcome outcome = TimedOutcome(10, true);
  const auto now = std::chrono::steady_clock::now();
  outcome.times.Spend(FramePhase::kTrackQueue, nanoseconds(5), now);
  outcome.times.Spend(FramePhase::kTrack, nanoseconds(77), now);
  outcome.times.Spend(FramePhase::kMatchQueue, nanoseconds(6), now);
  outcome.times.Spend(FramePhase::kMatch, nanoseconds(99), now);
  return outcome;
}

v1::FrameTimings TimingsOf(const FrameOutcome& outcome) {
  v1::FrameTimings timings;
  TimingsToProto(outcome, &timings);
  return timings;
}

TEST(TimingsToProtoTest, EveryTimeHasItsField) {
  v1::FrameTimings timings;
  TimingsToProto(TimedOutcome(10, false), &timings);
  EXPECT_EQ(timings.decode_ns(), 11u);
  EXPECT_EQ(timings.queue_ns(), 12u);
  EXPECT_EQ(timings.upload_ns(), 13u);
  EXPECT_EQ(timings.compute_ns(), 14u);
  EXPECT_EQ(timings.download_ns(), 15u);
  EXPECT_EQ(timings.match_ns(), 0u);
  EXPECT_GE(timings.total_ns(), 3'000'000u);
}

TEST(TimingsToProtoTest, StagesKeepOrderNamesAndHowTheyWereTimed) {
  EXPECT_THAT(StagesOf(TimingsOf(TimedOutcome(10, false))),
              ElementsAre("pyramid 16", "detect+suppress 17"));
  EXPECT_THAT(StagesOf(TimingsOf(TimedOutcome(20, true))),
              ElementsAre("pyramid 26*", "detect+suppress 27*"));
}

TEST(TimingsToProtoTest, AFrameThatWasNotTimedHasNoStages) {
  EXPECT_THAT(StagesOf(TimingsOf({})), IsEmpty());
}

TEST(AddMatchTimeTest, IsAFieldAndTheLastStage) {
  v1::FrameTimings timings = TimingsOf(TimedOutcome(10, true));
  AddMatchTime(nanoseconds(0), nanoseconds(99), &timings);
  EXPECT_EQ(timings.match_ns(), 99u);
  EXPECT_THAT(StagesOf(timings), ElementsAre("pyramid 16*", "detect+suppress 17*", "match 99"));
}

TEST(AddMatchTimeTest, NothingMatchedIsNoStage) {
  v1::FrameTimings timings;
  AddMatchTime(nanoseconds(5), nanoseconds(0), &timings);
  EXPECT_EQ(timings.ByteSizeLong(), 0u);
}

TEST(TimingsToProtoTest, TracksAreAStageAfterTheMatches) {
  const v1::FrameTimings timings = TimingsOf(TrackedAndMatched());
  EXPECT_EQ(timings.match_ns(), 99u);
  EXPECT_EQ(timings.track_ns(), 77u);
  EXPECT_EQ(timings.track_queue_ns(), 5u);
  EXPECT_THAT(StagesOf(timings),
              ElementsAre("pyramid 16*", "detect+suppress 17*", "match 99", "track 77"));
}

TEST(TimingsToProtoTest, TheTimesAddUpToTheTotal) {
  const v1::FrameTimings t = TimingsOf(TrackedAndMatched());
  EXPECT_EQ(t.admit_ns() + t.decode_queue_ns() + t.decode_ns() + t.queue_ns() + t.upload_ns() +
                t.compute_ns() + t.download_ns() + t.track_queue_ns() + t.track_ns() +
                t.match_queue_ns() + t.match_ns() + t.send_ns(),
            t.total_ns());
}

TEST(SetTotalTimeTest, WhatIsLeftOfItIsSending) {
  v1::FrameTimings timings;
  timings.set_compute_ns(10);
  AddMatchTime(nanoseconds(2), nanoseconds(30), &timings);
  EXPECT_EQ(timings.match_queue_ns(), 2u);
  SetTotalTime(nanoseconds(50), &timings);
  EXPECT_EQ(timings.send_ns(), 8u);
  SetTotalTime(nanoseconds(40), &timings);  // of two images
  EXPECT_EQ(timings.send_ns(), 0u);
}

TEST(SumOfTimingsTest, IsTheLongerWaitAndTheSumOfTheWork) {
  const v1::FrameTimings sum =
      SumOfTimings(TimingsOf(TimedOutcome(10, false)), TimingsOf(TimedOutcome(1000, false)));
  EXPECT_EQ(sum.decode_ns(), 1012u);
  EXPECT_EQ(sum.queue_ns(), 1002u);
  EXPECT_EQ(sum.admit_ns(), 1006u);
  EXPECT_EQ(sum.decode_queue_ns(), 1007u);
  EXPECT_EQ(sum.upload_ns(), 1016u);
  EXPECT_EQ(sum.compute_ns(), 1018u);
  EXPECT_EQ(sum.download_ns(), 1020u);
}

TEST(SumOfTimingsTest, StagesAreAddedByName) {
  FrameOutcome given;  // keypoints: other steps
  given.stages.Add(Stage::kDescribe, 5);
  given.stages.Add(Stage::kPyramid, 100);
  EXPECT_THAT(StagesOf(SumOfTimings(TimingsOf(TimedOutcome(10, true)), TimingsOf(given))),
              ElementsAre("pyramid 116*", "detect+suppress 17*", "describe 5"));
}

TEST(SumOfTimingsTest, StagesOfOneImageAloneAreLeftOut) {
  const v1::FrameTimings timed = TimingsOf(TimedOutcome(10, true));
  EXPECT_THAT(StagesOf(SumOfTimings(timed, TimingsOf({}))), IsEmpty());
  EXPECT_THAT(StagesOf(SumOfTimings(TimingsOf({}), timed)), IsEmpty());
}

FrameOutcome OutcomeOfABatch() {
  FrameOutcome outcome;
  outcome.batch_frames = 7;
  outcome.cost.backend = "cuda";
  outcome.cost.device = "cuda:1";
  outcome.cost.lane = 3;
  return outcome;
}

TEST(ExecutionToProtoTest, SaysWhereAFrameRan) {
  v1::Execution execution;
  ExecutionToProto(OutcomeOfABatch(), &execution);
  EXPECT_EQ(execution.batch_size(), 7u);
  EXPECT_EQ(execution.backend(), "cuda");
  EXPECT_EQ(execution.device(), "cuda:1");
  EXPECT_EQ(execution.lane(), 3u);
}

TEST(ExecutionToProtoTest, EnergyIsThereOrAbsentAndNeverZeroForUnknown) {
  v1::Execution execution;
  FrameOutcome outcome = OutcomeOfABatch();
  ExecutionToProto(outcome, &execution);
  EXPECT_FALSE(execution.has_energy_joules());
  outcome.energy_joules = 0.0125;
  ExecutionToProto(outcome, &execution);
  ASSERT_TRUE(execution.has_energy_joules());
  EXPECT_EQ(execution.energy_joules(), 0.0125);
}

TEST(ExecutionToProtoTest, AFrameThatNeverRanHasNone) {
  v1::Execution execution;
  ExecutionToProto({}, &execution);
  EXPECT_EQ(execution.ByteSizeLong(), 0u);
}

}  // namespace
}  // namespace orbserve
