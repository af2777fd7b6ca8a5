// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/serving/named_client.h"
#include "tests/server/serving/stream/frame_sequence_fixture.h"

namespace orbserve {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(FrameSequenceTest, ResultsComeInTheOrderOfTheFrames) {
  Open({});
  Add(3);
  Extracted(2, 1);
  Extracted(1, 1);
  EXPECT_THAT(Order(), IsEmpty());
  Extracted(0, 1);
  EXPECT_THAT(Order(), ElementsAre(0, 1, 2));
}

TEST_F(FrameSequenceTest, EachFrameIsMatchedAgainstTheOneBeforeIt) {
  Open({.match_previous = true});
  Add(3);
  Extracted(1, 11);
  Extracted(2, 12);
  EXPECT_TRUE(backend_.matches.empty()) << "the frame before is not known yet";
  Extracted(0, 10);
  EXPECT_THAT(Order(), ElementsAre(0));
  EXPECT_THAT(results_[0].matches, IsEmpty());
  ASSERT_EQ(backend_.matches.size(), 2u) << "matching need not wait for the matching before";
  backend_.FinishMatches();
  backend_.FinishMatches();
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2));
  EXPECT_EQ(results_[1].matches[0].sequence, 100u);
  EXPECT_EQ(results_[1].matches[0].matches.distance[0], 11'010u);
  EXPECT_EQ(results_[2].matches[0].sequence, 101u);
  EXPECT_EQ(results_[2].matches[0].matches.distance[0], 12'011u);
}

TEST_F(FrameSequenceTest, AFramesEnergyHasItsMatchesInItOrIsAbsent) {
  Open({.match_previous = true});
  Add(3);
  for (uint64_t i = 0; i < 3; ++i) Extracted(i, 10 + i, 0.5);
  observer_.joules = 0.25;
  backend_.FinishMatches();
  observer_.joules.reset();
  backend_.FinishMatches();
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2));
  EXPECT_EQ(results_[0].outcome.energy_joules, 0.5);  // was not matched
  EXPECT_EQ(results_[1].outcome.energy_joules, 0.75);
  EXPECT_FALSE(results_[2].outcome.energy_joules.has_value());
}

TEST_F(FrameSequenceTest, AFailedFrameKeepsItsPlaceAndIsNoTarget) {
  Open({.match_previous = true});
  Add(3);
  Extracted(0, 10);
  Failed(1);
  Extracted(2, 12);
  backend_.FinishMatches();
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2));
  EXPECT_EQ(ReasonOf(results_[1].outcome.status), ErrorReason::kBadImage);
  EXPECT_EQ(results_[2].matches[0].sequence, 100u);
}

TEST_F(FrameSequenceTest, ReferencesAreLookedUpForEachFrame) {
  Open({.references = {"map", "none"}});
  ASSERT_TRUE(references_.Put(Named("robot"), "map", MakeFeatures(5)).ok());
  Add(2);
  Extracted(0, 10);
  backend_.FinishMatches();
  ASSERT_THAT(Order(), ElementsAre(0));
  ASSERT_EQ(results_[0].matches.size(), 2u);
  EXPECT_EQ(results_[0].matches[0].reference_version, 1u);
  EXPECT_EQ(results_[0].matches[0].matches.distance[0], 10'005u);
  EXPECT_EQ(ReasonOf(results_[0].matches[1].status), ErrorReason::kReferenceNotFound);
  ASSERT_TRUE(references_.Delete(Named("robot"), "map").ok());
  Extracted(1, 10);
  ASSERT_THAT(Order(), ElementsAre(0, 1)) << "nothing to match, nothing to wait for";
  EXPECT_EQ(ReasonOf(results_[1].matches[0].status), ErrorReason::kReferenceNotFound);
}

TEST_F(FrameSequenceTest, TheWindowOfAFrameIsForThePreviousFrame) {
  const MatchOptions pipeline = {.window_px = 9.0f, .offset_x_px = 1.0f, .offset_y_px = 2.0f};
  Open({.match_previous = true, .references = {"map"}, .reference_window = pipeline});
  ASSERT_TRUE(references_.Put(Named("robot"), "map", MakeFeatures(5)).ok());
  Add(1);
  const MatchOptions frame = {
      .max_distance = 64, .window_px = 3.0f, .offset_x_px = -20.0f, .offset_y_px = 0.5f};
  sequence_->AddFrame({.sequence = 101, .match = frame});
  Extracted(0, 10);
  Extracted(1, 11);
  ASSERT_EQ(backend_.matches.size(), 2u);
  const std::vector<MatchJob>& jobs = backend_.matches[1].jobs;
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].options, frame);
  MatchOptions with_reference = pipeline;
  with_reference.max_distance = 64;
  EXPECT_EQ(jobs[1].options, with_reference);
  backend_.FinishAllMatches();
}

TEST_F(FrameSequenceTest, MatchesThatComeOutOfOrderDoNotChangeTheOrderOfResults) {
  Open({.match_previous = true});
  Add(3);
  for (uint64_t i = 0; i < 3; ++i) Extracted(i, 10 + i);
  ASSERT_EQ(backend_.matches.size(), 2u);
  std::swap(backend_.matches[0], backend_.matches[1]);
  backend_.FinishMatches();
  EXPECT_THAT(Order(), ElementsAre(0));
  backend_.FinishMatches();
  EXPECT_THAT(Order(), ElementsAre(0, 1, 2));
}

TEST_F(FrameSequenceTest, AClosedSequenceGivesNothingOutAndHoldsNothing) {
  Open({.match_previous = true});
  Add(3);
  Extracted(0, 10);
  Extracted(1, 11);
  sequence_->Close();
  Extracted(2, 12);
  backend_.FinishMatches();
  EXPECT_THAT(Order(), ElementsAre(0));
  std::weak_ptr<TestSequence> weak = sequence_;
  sequence_.reset();
  EXPECT_TRUE(weak.expired());
}

TEST_F(FrameSequenceTest, AResultThatComesAtItsDeadlineIsLate) {
  Open({.match_previous = true});
  Add(1);
  AddWithDeadline(100);
  Extracted(0, 10);
  Extracted(1, 11);
  clock_.Advance(microseconds(100));
  backend_.FinishMatches(absl::OkStatus(), /*stops=*/false);
  ASSERT_THAT(Order(), ElementsAre(0, 1));
  EXPECT_EQ(ReasonFor(1), ErrorReason::kDeadlineExceeded);
  EXPECT_EQ(results_[1].outcome.features, nullptr);
  EXPECT_THAT(results_[1].matches, IsEmpty());
}

TEST_F(FrameSequenceTest, AResultThatAnEarlierFrameHeldBackBeyondItsDeadlineIsLateAndNoTarget) {
  Open({.match_previous = true});
  Add(2);
  AddWithDeadline(100);
  Add(1);
  Extracted(0, 10);
  Extracted(1, 11);  // its matches go on
  Extracted(2, 12);
  Extracted(3, 13);
  ASSERT_EQ(backend_.matches.size(), 2u) << "the last frame waits until the one before cannot fail";
  std::swap(backend_.matches[0], backend_.matches[1]);
  backend_.FinishMatches();
  clock_.Advance(microseconds(100));
  backend_.FinishMatches();
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2));
  EXPECT_EQ(ReasonFor(2), ErrorReason::kDeadlineExceeded);
  backend_.FinishMatches();
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(results_[3].matches[0].sequence, 101u);
}

// Between a result that was given out and its client lie its encoding and the results before it.
TEST_F(FrameSequenceTest, AResultThatIsHandedOverAtItsDeadlineIsLateAndNoTarget) {
  Open({.match_previous = true});
  Add(1);
  Extracted(0, 10);
  holds_results_ = true;
  AddWithDeadline(100);
  Add(1);
  Extracted(1, 11);
  Extracted(2, 12);
  backend_.FinishMatches();
  ASSERT_THAT(Order(), ElementsAre(0, 1));
  EXPECT_TRUE(results_[1].outcome.status.ok());
  sequence_->Fail(1, LateStatus(WorkKind::kFrames));  // changes nothing: it was given out
  clock_.Advance(microseconds(100));
  HandOver();
  EXPECT_EQ(ReasonFor(1), ErrorReason::kDeadlineExceeded);
  EXPECT_THAT(backend_.matches, IsEmpty()) << "nothing starts under the lock of the caller";
  sequence_->Resume();
  backend_.FinishMatches();
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2));
  EXPECT_EQ(results_[2].matches[0].sequence, 100u);
}

TEST_F(FrameSequenceTest, AResultThatIsHandedOverInTimeIsATargetAndTheNextOneComesAfterIt) {
  Open({.match_previous = true});
  Add(1);
  Extracted(0, 10);
  holds_results_ = true;
  AddWithDeadline(100);
  AddWithDeadline(200);
  Extracted(1, 11);
  Failed(2);
  backend_.FinishMatches();
  clock_.Advance(microseconds(99));
  ASSERT_THAT(Order(), ElementsAre(0, 1)) << "the one before is not handed over";
  HandOver();
  EXPECT_TRUE(results_[1].outcome.status.ok());
  sequence_->Resume();
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2));
  HandOver();
  EXPECT_EQ(ReasonFor(2), ErrorReason::kBadImage);
  Add(1);
  Extracted(3, 13);
  backend_.FinishMatches();
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(results_[3].matches[0].sequence, 101u);
}

// A result for whose encoding there is no memory.
TEST_F(FrameSequenceTest, AFrameWhoseResultCannotBeSentIsNoTarget) {
  Open({.match_previous = true});
  Add(1);
  Extracted(0, 10);
  holds_results_ = true;
  AddWithDeadline(100);
  Extracted(1, 11);
  backend_.FinishMatches();
  ASSERT_THAT(Order(), ElementsAre(0, 1));
  const absl::Status status = MakeError(ErrorReason::kOutOfMemory, "none");
  EXPECT_EQ(sequence_->HandOver(status), status);
  Add(1);
  Extracted(2, 12);
  backend_.FinishMatches();
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2));
  EXPECT_EQ(results_[2].matches[0].sequence, 100u);
}

TEST_F(FrameSequenceTest, AFrameCanBeFailedWhereverItIs) {
  Open({.match_previous = true});
  Add(1);
  for (int i = 0; i < 3; ++i) AddWithDeadline(1000);
  Add(1);
  Extracted(0, 10);
  const absl::Status late = LateStatus(WorkKind::kFrames);
  sequence_->Fail(1, late);  // is being extracted
  ASSERT_THAT(Order(), ElementsAre(0, 1));
  Extracted(1, 11);  // too late
  Extracted(2, 12);
  ASSERT_EQ(backend_.matches.size(), 1u);
  sequence_->Fail(2, late);  // is being matched
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2));
  EXPECT_TRUE(*backend_.matches.front().jobs[0].cancelled);
  backend_.FinishMatches();
  sequence_->Fail(2, late);  // is over
  Extracted(4, 14);
  sequence_->Fail(3, late);
  backend_.FinishMatches();
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2, 3, 4));
  for (const size_t i : {1, 2, 3}) EXPECT_EQ(ReasonFor(i), ErrorReason::kDeadlineExceeded);
  EXPECT_EQ(results_[4].matches[0].sequence, 100u) << "failed frames are no targets";
}

TEST_F(FrameSequenceTest, ALateFrameIsAnsweredWhileAnotherThreadStartsIt) {
  Open({.match_previous = true});
  Add(1);
  AddWithDeadline(1000);
  Extracted(0, 10);
  backend_.on_matches = [this] {
    sequence_->Fail(1, LateStatus(WorkKind::kFrames));
    EXPECT_THAT(Order(), ElementsAre(0, 1)) << "its start goes on";
  };
  Extracted(1, 11);
  EXPECT_EQ(ReasonFor(1), ErrorReason::kDeadlineExceeded);
  EXPECT_TRUE(*backend_.matches.front().jobs[0].cancelled);
  backend_.on_matches = nullptr;
  Add(1);
  Extracted(2, 12);
  backend_.FinishAllMatches();
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2));
  EXPECT_EQ(results_[2].matches[0].sequence, 100u);
}

TEST_F(FrameSequenceTest, ALateFrameIsAnsweredBeforeTheNextOneStarts) {
  Open({.references = {"map"}});
  ASSERT_TRUE(references_.Put(Named("robot"), "map", MakeFeatures(5)).ok());
  AddWithDeadline(1000);
  Add(1);
  Extracted(1, 11);
  backend_.on_matches = [this] { EXPECT_THAT(Order(), ElementsAre(0)); };
  sequence_->Fail(0, LateStatus(WorkKind::kFrames));
  ASSERT_EQ(backend_.matches.size(), 1u);
  backend_.FinishAllMatches();
  EXPECT_THAT(Order(), ElementsAre(0, 1));
}

TEST_F(FrameSequenceTest, OptionsHoldForTheFramesThatAreAddedAfterThem) {
  Open({.match_previous = true});
  Add(2);
  sequence_->SetOptions({.client = Named("robot")});
  Add(1);
  sequence_->SetOptions({.client = Named("robot"), .match_previous = true});
  Add(2);
  for (uint64_t i = 0; i < 5; ++i) Extracted(i, 10 + i);
  backend_.FinishAllMatches();
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(results_[1].matches.size(), 1u);
  EXPECT_THAT(results_[2].matches, IsEmpty());
  EXPECT_THAT(results_[3].matches, IsEmpty()) << "the frame before was not kept";
  EXPECT_EQ(results_[4].matches[0].sequence, 103u);
}

// Keyframes.

TEST_F(FrameSequenceTest, TheFirstFrameWithFeaturesAndThoseThatAskAreKeyframes) {
  Open({.match_previous = true, .match_keyframe = true});
  Add(3);
  sequence_->AddFrame({.sequence = 103, .keyframe = true});
  sequence_->AddFrame({.sequence = 104, .keyframe = true});
  sequence_->AddFrame({.sequence = 105});
  Extracted(0, 0);
  Extracted(1, 11);
  Extracted(2, 12);
  Extracted(3, 13);
  Failed(4);
  Extracted(5, 15);
  backend_.FinishAllMatches();
  ASSERT_EQ(results_.size(), 6u);
  EXPECT_THAT(Keyframes(), ElementsAre(1, 3));
  EXPECT_THAT(Targets(1), ElementsAre(Target(MatchTarget::kPrevious, 100)));
  EXPECT_THAT(Targets(2), ElementsAre(Target(MatchTarget::kPrevious, 101),
                                      Target(MatchTarget::kKeyframe, 101)));
  // A keyframe is matched against the one before it.
  EXPECT_THAT(Targets(3), ElementsAre(Target(MatchTarget::kPrevious, 102),
                                      Target(MatchTarget::kKeyframe, 101)));
  EXPECT_THAT(Targets(5), ElementsAre(Target(MatchTarget::kPrevious, 103),
                                      Target(MatchTarget::kKeyframe, 103)));
  EXPECT_EQ(results_[2].matches[1].matches.distance[0], 12'011u);
}

TEST_F(FrameSequenceTest, OneFrameInSoManyThatDidNotFailIsAKeyframe) {
  Open({.keyframe_rule = {.every_frames = 3}});
  Add(4);
  sequence_->AddFrame({.sequence = 104, .keyframe = true});  // the count begins anew
  Add(4);
  for (uint64_t i = 0; i < 9; ++i) {
    if (i == 2) {
      Failed(i);
    } else {
      Extracted(i, 10);
    }
  }
  ASSERT_EQ(results_.size(), 9u);
  EXPECT_THAT(Keyframes(), ElementsAre(0, 4, 7));
}

TEST_F(FrameSequenceTest, ARuleWaitsForAFrameWithFeatures) {
  Open({.match_keyframe = true, .keyframe_rule = {.every_frames = 2}});
  Add(5);
  sequence_->AddFrame({.sequence = 105, .keyframe = true});
  const size_t features[] = {10, 11, 0, 13, 14, 0};
  for (uint64_t i = 0; i < 6; ++i) Extracted(i, features[i]);
  backend_.FinishAllMatches();
  ASSERT_EQ(results_.size(), 6u);
  EXPECT_THAT(Keyframes(), ElementsAre(0, 3, 5)) << "a frame that asks is one in any case";
  EXPECT_THAT(Targets(3), ElementsAre(Target(MatchTarget::kKeyframe, 100)));
}

TEST_F(FrameSequenceTest, WithoutRuleAndMatchesOnlyFramesThatAskAreKeyframes) {
  Open({});
  Add(1);
  sequence_->AddFrame({.sequence = 101, .keyframe = true});
  Add(1);
  for (uint64_t i = 0; i < 3; ++i) Extracted(i, 10);
  EXPECT_THAT(Keyframes(), ElementsAre(1));
}

TEST_F(FrameSequenceTest, TheWindowOfTheStreamIsForTheKeyframe) {
  const MatchOptions stream = {.window_px = 9.0f};
  Open({.match_keyframe = true, .reference_window = stream});
  Add(1);
  sequence_->AddFrame({.sequence = 101, .match = {.max_distance = 64, .window_px = 3.0f}});
  Extracted(0, 10);
  Extracted(1, 11);
  MatchOptions expected = stream;
  expected.max_distance = 64;
  EXPECT_EQ(backend_.matches[0].jobs[0].options, expected);
  backend_.FinishAllMatches();
}

}  // namespace
}  // namespace orbserve
