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

class FrameSequenceTrackTest : public FrameSequenceTest {
 protected:
  static StreamOptions Tracking() {
    StreamOptions options;
    options.track = true;
    options.pipeline.suppress.suppression = Suppression::kCell;
    options.pipeline.select.selection = Selection::kBest;
    options.track_options.redetect_percent = 50;
    return options;
  }
  void AddTracked(int count, int max_features = 4) {
    for (int i = 0; i < count; ++i) {
      sequence_->AddFrame({.sequence = 100 + next_++, .max_features = max_features});
    }
  }
  // Extraction ended with `winners` features, the best first, each in a cell of its own.
  void ExtractedAt(uint64_t index, size_t winners, ImageView mask = {}, int width_px = 640) {
    auto features = MakeFeatures(winners);
    features->image_width_px = width_px;
    for (size_t i = 0; i < winners; ++i) {
      features->x[i] = static_cast<float>(8 + 32 * i);
      features->y[i] = 8.0f;
      features->response[i] = static_cast<float>(100 - i);
      features->descriptors[32 * i] = static_cast<uint8_t>(i);
    }
    auto input = std::make_shared<InputSlot>();
    if (!mask.empty()) {
      input->mask = {const_cast<uint8_t*>(mask.data), mask.width_px, mask.height_px,
                     mask.pitch_bytes};
    }
    FrameOutcome outcome;
    outcome.energy_joules = 1.0;
    outcome.features = std::move(features);
    outcome.state = std::make_shared<HandState>(winners, "hand", std::move(input), 5);
    sequence_->FrameDone(index, std::move(outcome));
  }
  // The ids of a result, and the whole pixels of their x.
  std::vector<uint64_t> Ids(size_t result) const {
    std::vector<uint64_t> ids;
    for (const Track& track : results_.at(result).tracks.tracks) ids.push_back(track.id);
    return ids;
  }
  std::vector<int> Columns(size_t result) const {
    std::vector<int> columns;
    for (const Track& track : results_.at(result).tracks.tracks) columns.push_back(track.x >> 14);
    return columns;
  }
};

TEST_F(FrameSequenceTrackTest, TracksAreFollowedFromFrameToFrame) {
  Open(Tracking());
  AddTracked(3, 2);
  ExtractedAt(0, 2);
  ASSERT_THAT(Order(), ElementsAre(0)) << "the first frame has nothing to search";
  EXPECT_THAT(Ids(0), ElementsAre(1, 2));
  ExtractedAt(2, 2);
  EXPECT_THAT(backend_.tracks, IsEmpty());
  ExtractedAt(1, 2);
  ASSERT_EQ(backend_.tracks.size(), 1u) << "each search begins where the one before ended";
  backend_.FinishTracks();
  ASSERT_EQ(backend_.tracks.size(), 1u);
  backend_.FinishTracks();
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2));
  EXPECT_THAT(Ids(2), ElementsAre(1, 2));
  EXPECT_THAT(Columns(2), ElementsAre(10, 42));
  EXPECT_EQ(results_[2].tracks.tracks[0].age_frames, 2u);
}

TEST_F(FrameSequenceTrackTest, AnAnswerHasTheWantedFeaturesAndNewTracksHaveAllWinners) {
  StreamOptions options = Tracking();
  options.track_options.redetect_percent = 100;
  Open(options);
  AddTracked(2, 2);
  ExtractedAt(0, 5);
  EXPECT_EQ(results_[0].outcome.features->count(), 2u);
  EXPECT_EQ(results_[0].outcome.features->descriptors.size(), 64u);
  ExtractedAt(1, 5);
  HandBackend::TrackBatch search = std::move(backend_.tracks.front());
  backend_.tracks.clear();
  TrackBatchAnswer answer;
  TrackedPoints& tracked = answer.jobs.emplace_back().tracked;
  tracked.status = {TrackStatus::kLeftImage, TrackStatus::kOk};
  tracked.x = {0, 8 << 14};  // in the cell of the best winner
  tracked.y = {0, 8 << 14};
  tracked.gain = tracked.offset = tracked.residual = {0.0f, 0.0f};
  std::move(search.done)(std::move(answer));
  ASSERT_EQ(results_.size(), 2u);
  EXPECT_THAT(results_[1].tracks.ended, ElementsAre(EndedTrack{1, TrackEnd::kLeftImage}));
  EXPECT_THAT(Ids(1), ElementsAre(2, 3));
  EXPECT_THAT(Columns(1), ElementsAre(8, 40))
      << "the second winner, as the best one's cell is held";
}

TEST_F(FrameSequenceTrackTest, AFailedFrameIsNoFrameForTracks) {
  Open(Tracking());
  AddTracked(4, 2);
  ExtractedAt(0, 2);
  Failed(1);
  ExtractedAt(2, 2);
  ASSERT_EQ(backend_.tracks.size(), 1u);
  EXPECT_THAT(backend_.tracks.front().jobs[0].points->x, ElementsAre(8 << 14, 40 << 14));
  backend_.FinishTracks(MakeError(ErrorReason::kOutOfMemory, "full"));
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2));
  EXPECT_EQ(ReasonFor(2), ErrorReason::kOutOfMemory) << "a frame without its tracks fails";
  EXPECT_EQ(results_[2].outcome.features, nullptr);
  ExtractedAt(3, 2);
  EXPECT_THAT(backend_.tracks.front().jobs[0].points->x, ElementsAre(8 << 14, 40 << 14));
  backend_.FinishTracks();
  EXPECT_THAT(Ids(3), ElementsAre(1, 2));
  EXPECT_EQ(results_[3].tracks.tracks[0].age_frames, 1u);
}

TEST_F(FrameSequenceTrackTest, MatchesAndTracksOfAFrameAreComputedAtTheSameTime) {
  StreamOptions options = Tracking();
  options.match_previous = true;
  Open(options);
  AddTracked(3, 2);
  for (uint64_t i = 0; i < 3; ++i) ExtractedAt(i, 5);
  ASSERT_EQ(backend_.tracks.size(), 1u);
  ASSERT_EQ(backend_.matches.size(), 1u);
  EXPECT_EQ(backend_.imports, 2) << "all winners were cut to the wanted ones";
  EXPECT_EQ(backend_.matches[0].jobs[0].train->feature_count(), 2u);
  backend_.FinishTracks();
  EXPECT_THAT(Order(), ElementsAre(0));
  ASSERT_EQ(backend_.matches.size(), 2u) << "the next frame has started";
  backend_.FinishAllMatches();
  ASSERT_THAT(Order(), ElementsAre(0, 1));
  backend_.FinishTracks();
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2));
  EXPECT_EQ(results_[2].matches[0].sequence, 101u);
}

TEST_F(FrameSequenceTrackTest, WhereNothingIsCutTheBackendsStateIsMatched) {
  StreamOptions options = Tracking();
  options.match_previous = true;
  Open(options);
  AddTracked(2, 5);
  ExtractedAt(0, 5);
  ExtractedAt(1, 5);
  EXPECT_EQ(backend_.imports, 0);
  EXPECT_NE(backend_.matches[0].jobs[0].query->input(), nullptr);
  backend_.FinishTracks();
  backend_.FinishAllMatches();
}

TEST_F(FrameSequenceTrackTest, AFrameThatIsLateAfterItsTracksIsNoFrame) {
  StreamOptions options = Tracking();
  options.match_previous = true;
  Open(options);
  AddTracked(1, 2);
  sequence_->AddFrame(
      {.sequence = 101, .max_features = 2, .deadline = clock_.Now() + microseconds(100)});
  sequence_->AddFrame({.sequence = 102, .max_features = 2});
  for (uint64_t i = 0; i < 3; ++i) ExtractedAt(i, 2);
  backend_.FinishTracks();
  EXPECT_THAT(backend_.tracks, IsEmpty()) << "the frame can still fail";
  clock_.Advance(microseconds(100));
  backend_.FinishMatches(absl::OkStatus(), /*stops=*/false);
  ASSERT_THAT(Order(), ElementsAre(0, 1));
  EXPECT_EQ(ReasonFor(1), ErrorReason::kDeadlineExceeded);
  EXPECT_THAT(results_[1].tracks.tracks, IsEmpty());
  ASSERT_EQ(backend_.tracks.size(), 1u);
  EXPECT_THAT(backend_.tracks.front().jobs[0].points->x, ElementsAre(8 << 14, 40 << 14));
  backend_.FinishTracks();
  backend_.FinishMatches();
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2));
  EXPECT_EQ(results_[2].tracks.tracks[0].age_frames, 1u);
  EXPECT_EQ(results_[2].matches[0].sequence, 100u);
}

TEST_F(FrameSequenceTrackTest, AResultThatIsInTimeDoesNotWaitForTheStartOfTheNextFrame) {
  StreamOptions options = Tracking();
  options.client = Named("robot");
  std::vector<size_t> searches;  // that had begun when a result was given out
  sequence_ = std::make_shared<TestSequence>(
      StreamParts{&backend_, &clock_, &observer_, &matcher_, &tracker_, &references_}, options,
      [&](const TestResult& result) {
        EXPECT_TRUE(sequence_->HandOver(result.outcome.status).ok());
        searches.push_back(backend_.tracks.size());
      });
  AddTracked(1, 2);
  sequence_->AddFrame(
      {.sequence = 101, .max_features = 2, .deadline = clock_.Now() + microseconds(100)});
  sequence_->AddFrame({.sequence = 102, .max_features = 2});
  for (uint64_t i = 0; i < 3; ++i) ExtractedAt(i, 2);
  backend_.FinishTracks();
  EXPECT_THAT(searches, ElementsAre(0, 0));
  ASSERT_EQ(backend_.tracks.size(), 1u) << "it starts then";
  backend_.FinishTracks();
  EXPECT_THAT(searches, ElementsAre(0, 0, 0));
}

// The client is told that the frame failed, so its tracks are not those of the stream.
TEST_F(FrameSequenceTrackTest, AFrameThatIsHandedOverLateIsNoFrame) {
  Open(Tracking());
  AddTracked(1, 2);
  ExtractedAt(0, 2);
  holds_results_ = true;
  sequence_->AddFrame({.sequence = 101,
                       .max_features = 2,
                       .keyframe = true,
                       .deadline = clock_.Now() + microseconds(100)});
  sequence_->AddFrame({.sequence = 102, .max_features = 2});
  ExtractedAt(1, 2);
  ExtractedAt(2, 2);
  backend_.FinishTracks();
  ASSERT_THAT(Order(), ElementsAre(0, 1));
  EXPECT_TRUE(results_[1].outcome.status.ok());
  EXPECT_TRUE(results_[1].is_keyframe);
  EXPECT_THAT(backend_.tracks, IsEmpty()) << "the frame can still fail";
  clock_.Advance(microseconds(100));
  HandOver();
  EXPECT_EQ(ReasonFor(1), ErrorReason::kDeadlineExceeded);
  sequence_->Resume();
  ASSERT_EQ(backend_.tracks.size(), 1u);
  EXPECT_THAT(backend_.tracks.front().jobs[0].points->x, ElementsAre(8 << 14, 40 << 14));
  backend_.FinishTracks();
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2));
  EXPECT_EQ(results_[2].tracks.tracks[0].age_frames, 1u);
}

TEST_F(FrameSequenceTrackTest, AFailedFramesSearchIsCancelled) {
  Open(Tracking());
  AddTracked(1, 2);
  sequence_->AddFrame(
      {.sequence = 101, .max_features = 2, .deadline = clock_.Now() + microseconds(100)});
  ExtractedAt(0, 2);
  ExtractedAt(1, 2);
  sequence_->Fail(1, LateStatus(WorkKind::kFrames));
  ASSERT_THAT(Order(), ElementsAre(0, 1));
  EXPECT_TRUE(*backend_.tracks.front().jobs[0].cancelled);
  backend_.FinishTracks();
}

TEST_F(FrameSequenceTrackTest, TheMaskOfTheFrameEndsTracks) {
  Open(Tracking());
  AddTracked(2, 2);
  ExtractedAt(0, 2);
  std::vector<uint8_t> mask(640 * 480, 255);
  mask[8 * 640 + 41] = 0;  // where the search will find track 2
  ExtractedAt(1, 0, {mask.data(), 640, 480, 640});
  backend_.FinishTracks();
  EXPECT_THAT(Ids(1), ElementsAre(1));
  EXPECT_THAT(results_[1].tracks.ended, ElementsAre(EndedTrack{2, TrackEnd::kMasked}));
}

TEST_F(FrameSequenceTrackTest, AnotherSizeEndsTracksAndIdsGoOn) {
  Open(Tracking());
  AddTracked(2, 2);
  ExtractedAt(0, 2);
  ExtractedAt(1, 2, {}, 800);
  EXPECT_THAT(backend_.tracks, IsEmpty());
  ASSERT_THAT(Order(), ElementsAre(0, 1));
  EXPECT_THAT(Ids(1), ElementsAre(3, 4));
  EXPECT_THAT(results_[1].tracks.ended, ElementsAre(EndedTrack{1, TrackEnd::kImageSize},
                                                    EndedTrack{2, TrackEnd::kImageSize}));
}

TEST_F(FrameSequenceTrackTest, AnotherPipelineEndsTracksFromItsFirstFrameOnThatDoesNotFail) {
  Open(Tracking());
  AddTracked(1, 2);
  sequence_->SetOptions(Tracking());  // equal
  AddTracked(1, 2);
  StreamOptions other = Tracking();
  other.track_options.iterations = 7;
  sequence_->SetOptions(other);
  AddTracked(2, 2);
  ExtractedAt(0, 2);
  ExtractedAt(1, 2);
  backend_.FinishTracks();
  EXPECT_THAT(Ids(1), ElementsAre(1, 2));
  Failed(2);
  ExtractedAt(3, 2);
  ASSERT_EQ(results_.size(), 4u);
  EXPECT_THAT(Ids(3), ElementsAre(3, 4));
  EXPECT_THAT(results_[3].tracks.ended,
              ElementsAre(EndedTrack{1, TrackEnd::kPipeline}, EndedTrack{2, TrackEnd::kPipeline}));
}

TEST_F(FrameSequenceTrackTest, WithoutTracksTheOldOnesEndAndAreTold) {
  Open(Tracking());
  AddTracked(1, 2);
  sequence_->SetOptions({.client = Named("robot")});
  AddTracked(2, 2);
  ExtractedAt(0, 2);
  ExtractedAt(1, 2);
  ExtractedAt(2, 2);
  ASSERT_EQ(results_.size(), 3u);
  EXPECT_THAT(results_[1].tracks.ended,
              ElementsAre(EndedTrack{1, TrackEnd::kPipeline}, EndedTrack{2, TrackEnd::kPipeline}));
  EXPECT_THAT(results_[1].tracks.tracks, IsEmpty());
  EXPECT_THAT(results_[2].tracks.ended, IsEmpty());
}

TEST_F(FrameSequenceTrackTest, AFrameBecomesAKeyframeWhenTooManyOfItsTracksHaveEnded) {
  StreamOptions options = Tracking();
  options.keyframe_rule.lost_percent = 50;
  options.track_options.redetect_percent = 0;
  Open(options);
  AddTracked(4, 4);
  ExtractedAt(0, 4);
  const auto lose = [&](uint64_t index, std::vector<TrackStatus> statuses) {
    ExtractedAt(index, 4);
    HandBackend::TrackBatch search = std::move(backend_.tracks.front());
    backend_.tracks.clear();
    const TrackPoints& points = *search.jobs[0].points;
    TrackBatchAnswer answer;
    answer.jobs.emplace_back().tracked = {std::move(statuses), points.x,    points.y, points.gain,
                                          points.offset,       points.gain, {}};
    std::move(search.done)(std::move(answer));
  };
  constexpr TrackStatus kOk = TrackStatus::kOk;
  constexpr TrackStatus kLost = TrackStatus::kNoTexture;
  lose(1, {kLost, kLost, kOk, kOk});  // half is not more than half
  lose(2, {kOk, kLost});              // 3 of 4
  lose(3, {kOk});
  ASSERT_EQ(results_.size(), 4u);
  EXPECT_THAT(Keyframes(), ElementsAre(0, 2));
}

TEST_F(FrameSequenceTrackTest, AFrameThatLosesAllTracksAndHasNoFeaturesIsNoKeyframeByRule) {
  StreamOptions options = Tracking();
  options.keyframe_rule.lost_percent = 50;
  Open(options);
  AddTracked(3, 2);
  ExtractedAt(0, 2);
  ExtractedAt(1, 0, {}, 800);  // ends all tracks
  ExtractedAt(2, 2, {}, 800);
  ASSERT_EQ(results_.size(), 3u);
  EXPECT_EQ(results_[1].tracks.ended.size(), 2u);
  EXPECT_THAT(Keyframes(), ElementsAre(0, 2));
}

TEST_F(FrameSequenceTrackTest, EnergyHasTracksInIt) {
  Open(Tracking());
  AddTracked(3, 2);
  observer_.joules = 0.25;
  for (uint64_t i = 0; i < 3; ++i) ExtractedAt(i, 2);
  backend_.FinishTracks();
  observer_.joules.reset();
  backend_.FinishTracks();
  EXPECT_EQ(results_[0].outcome.energy_joules, 1.0);
  EXPECT_EQ(results_[1].outcome.energy_joules, 1.25);
  EXPECT_FALSE(results_[2].outcome.energy_joules.has_value());
}

TEST_F(FrameSequenceTrackTest, AKeyframeThatOutlastsItsPyramidKeepsItsFeaturesAlone) {
  StreamOptions options = Tracking();
  options.match_keyframe = true;
  Open(options);
  AddTracked(4, 5);
  ExtractedAt(0, 5);
  ExtractedAt(1, 5);
  const std::weak_ptr<InputSlot> input = backend_.tracks.front().jobs[0].from->input();
  EXPECT_EQ(backend_.imports, 0) << "the tracks need the pyramid still";
  backend_.FinishTracks();
  backend_.FinishAllMatches();
  ExtractedAt(2, 5);
  EXPECT_TRUE(input.expired());
  ASSERT_EQ(backend_.matches.size(), 1u);
  EXPECT_EQ(backend_.matches[0].jobs[0].train->pyramid_levels(), 0);
  backend_.FinishTracks();
  backend_.FinishAllMatches();
  ExtractedAt(3, 5);
  EXPECT_EQ(backend_.imports, 1) << "once for each keyframe";
  backend_.FinishTracks();
  backend_.FinishAllMatches();
  ASSERT_THAT(Order(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Keyframes(), ElementsAre(0));
  EXPECT_EQ(results_[3].matches[0].sequence, 100u);
  EXPECT_EQ(results_[3].matches[0].matches.distance[0], 5005u);
}

TEST_F(FrameSequenceTrackTest, EverythingThatAStreamKeepsIsCountedAndReleased) {
  StreamOptions options = Tracking();
  options.match_previous = options.match_keyframe = true;
  Open(options);
  AddTracked(3, 2);
  ExtractedAt(0, 2);
  EXPECT_GT(observer_.track_bytes, 0);
  ExtractedAt(1, 2);
  backend_.FinishTracks();
  backend_.FinishAllMatches();
  ExtractedAt(2, 2);
  sequence_->Close();
  EXPECT_EQ(observer_.track_bytes, 0);
  EXPECT_TRUE(*backend_.tracks.front().jobs[0].cancelled);
  // Only the work that is still with the backend holds states.
  std::vector<std::weak_ptr<const FrameState>> states;
  for (const TrackJob& job : backend_.tracks.front().jobs) {
    states = {job.from, job.to};
  }
  backend_.FinishTracks();
  backend_.FinishAllMatches();
  for (const auto& state : states) EXPECT_TRUE(state.expired());
  EXPECT_THAT(Order(), ElementsAre(0, 1));
  std::weak_ptr<TestSequence> weak = sequence_;
  sequence_.reset();
  EXPECT_TRUE(weak.expired());
}

}  // namespace
}  // namespace orbserve
