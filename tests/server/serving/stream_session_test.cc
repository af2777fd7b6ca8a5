// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/stream_session.h"

#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/serving/fake_clock.h"
#include "tests/server/serving/hand_backend.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class EnergyObserver final : public ServingObserver {
 public:
  std::optional<double> OnBatchFinished(WorkKind, int, const BatchCost&) override { return joules; }
  std::optional<double> joules;
};

class StreamSessionTest : public ::testing::Test {
 protected:
  void Open(StreamSessionOptions options) {
    options.client = "robot";
    session_ = std::make_shared<StreamSession>(
        StreamSessionParts{&backend_, &clock_, &observer_, &matcher_, &tracker_, &references_},
        std::move(options), [this](StreamResult result) { results_.push_back(std::move(result)); });
  }
  // Frames are numbered from 0; their sequence is 100 + number.
  void Add(int count) {
    for (int i = 0; i < count; ++i) session_->AddFrame({.sequence = 100 + next_++});
  }
  // Extraction of frame `index` ended with `features` features.
  void Extracted(uint64_t index, size_t features, std::optional<double> joules = {}) {
    FrameOutcome outcome;
    outcome.energy_joules = joules;
    outcome.features = MakeFeatures(features);
    outcome.state = std::make_shared<HandState>(features);
    session_->FrameDone(index, std::move(outcome));
  }
  void Failed(uint64_t index) {
    FrameOutcome outcome;
    outcome.status = MakeError(ErrorReason::kBadImage, "broken");
    session_->FrameDone(index, std::move(outcome));
  }
  std::vector<uint64_t> Order() const {
    std::vector<uint64_t> order;
    for (const StreamResult& result : results_) order.push_back(result.index);
    return order;
  }

  FakeClock clock_;
  HandBackend backend_;
  EnergyObserver observer_;
  ReferenceStore references_{{}};
  std::vector<StreamResult> results_;
  MatchQueue matcher_{&backend_, &clock_, &observer_, {.answer_threads = 0}};
  TrackQueue tracker_{&backend_, &clock_, &observer_, {.answer_threads = 0}};
  std::shared_ptr<StreamSession> session_;
  uint64_t next_ = 0;
};

TEST_F(StreamSessionTest, ResultsComeInTheOrderOfTheFrames) {
  Open({});
  Add(3);
  Extracted(2, 1);
  Extracted(1, 1);
  EXPECT_THAT(Order(), IsEmpty());
  Extracted(0, 1);
  EXPECT_THAT(Order(), ElementsAre(0, 1, 2));
}

TEST_F(StreamSessionTest, EachFrameIsMatchedAgainstTheOneBeforeIt) {
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

TEST_F(StreamSessionTest, AFramesEnergyHasItsMatchesInItOrIsAbsent) {
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

TEST_F(StreamSessionTest, AFailedFrameKeepsItsPlaceAndIsNoTarget) {
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

TEST_F(StreamSessionTest, ReferencesAreLookedUpForEachFrame) {
  Open({.references = {"map", "none"}});
  ASSERT_TRUE(references_.Put("robot", "map", MakeFeatures(5)).ok());
  Add(2);
  Extracted(0, 10);
  backend_.FinishMatches();
  ASSERT_THAT(Order(), ElementsAre(0));
  ASSERT_EQ(results_[0].matches.size(), 2u);
  EXPECT_EQ(results_[0].matches[0].reference_version, 1u);
  EXPECT_EQ(results_[0].matches[0].matches.distance[0], 10'005u);
  EXPECT_EQ(ReasonOf(results_[0].matches[1].status), ErrorReason::kReferenceNotFound);
  ASSERT_TRUE(references_.Delete("robot", "map").ok());
  Extracted(1, 10);
  ASSERT_THAT(Order(), ElementsAre(0, 1)) << "nothing to match, nothing to wait for";
  EXPECT_EQ(ReasonOf(results_[1].matches[0].status), ErrorReason::kReferenceNotFound);
}

TEST_F(StreamSessionTest, TheWindowOfAFrameIsForThePreviousFrame) {
  const MatchOptions pipeline = {.window_px = 9.0f, .offset_x_px = 1.0f, .offset_y_px = 2.0f};
  Open({.match_previous = true, .references = {"map"}, .reference_window = pipeline});
  ASSERT_TRUE(references_.Put("robot", "map", MakeFeatures(5)).ok());
  Add(1);
  const MatchOptions frame = {
      .max_distance = 64, .window_px = 3.0f, .offset_x_px = -20.0f, .offset_y_px = 0.5f};
  session_->AddFrame({.sequence = 101, .match = frame});
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

TEST_F(StreamSessionTest, MatchesThatComeOutOfOrderDoNotChangeTheOrderOfResults) {
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

TEST_F(StreamSessionTest, AClosedSessionGivesNothingOutAndHoldsNothing) {
  Open({.match_previous = true});
  Add(3);
  Extracted(0, 10);
  Extracted(1, 11);
  session_->Close();
  Extracted(2, 12);
  backend_.FinishMatches();
  EXPECT_THAT(Order(), ElementsAre(0));
  std::weak_ptr<StreamSession> weak = session_;
  session_.reset();
  EXPECT_TRUE(weak.expired());
}

}  // namespace
}  // namespace orbserve
