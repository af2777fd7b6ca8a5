// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Tracks and keyframes of a stream of a running server.

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/gated_backend.h"
#include "tests/integration/server_fixture.h"

namespace orbserve {
namespace {

class StreamTrackTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerHooks hooks;
    hooks.wrap_backend = [this](std::unique_ptr<FeatureBackend> inner) {
      return std::make_unique<GatedBackend>(std::move(inner), &gates_);
    };
    StartServer({}, std::move(hooks));
  }
  void TearDown() override {
    gates_.tracks.Open();
    server_.reset();  // before the gates
  }

  static v1::StreamOpen TrackingOpen() {
    v1::StreamOpen open;
    open.mutable_pipeline()->set_preset("vio");
    open.set_track(true);
    return open;
  }
  // TrackingOpen() with descriptors to match.
  static v1::StreamOpen MatchingOpen() {
    v1::StreamOpen open = TrackingOpen();
    v1::DescribeOptions& describe = *open.mutable_pipeline()->mutable_describe();
    describe.set_orientation(v1::ORIENTATION_INTENSITY_CENTROID);
    describe.set_descriptor_type(v1::DESCRIPTOR_TYPE_RBRIEF_256);
    open.mutable_pipeline()->mutable_select()->set_border_px(22);
    return open;
  }

  // A camera that moves by (2, 1) pixels a frame over one picture.
  static constexpr int kStepX = 2;
  static constexpr int kStepY = 1;
  static v1::Frame Moved(uint64_t step, int width_px = 320, int height_px = 240) {
    static const std::string* const picture = new std::string(BlockPixels(kSide, kSide, 7));
    v1::Frame frame;
    frame.set_format(v1::PIXEL_FORMAT_GRAY8);
    frame.set_width_px(static_cast<uint32_t>(width_px));
    frame.set_height_px(static_cast<uint32_t>(height_px));
    frame.set_sequence(step);
    for (int y = 0; y < height_px; ++y) {
      frame.mutable_pixels()->append(
          *picture, (static_cast<size_t>(y) + step * kStepY) * kSide + step * kStepX,
          static_cast<size_t>(width_px));
    }
    return frame;
  }

  static v1::FrameResult ReadResult(Stream& stream) {
    v1::StreamFramesResponse response;
    EXPECT_TRUE(stream.Read(&response));
    EXPECT_TRUE(response.has_result()) << response.DebugString();
    return response.result();
  }
  static v1::FrameResult Answer(Stream& stream, const v1::Frame& frame) {
    EXPECT_TRUE(Send(stream, frame));
    v1::FrameResult result = ReadResult(stream);
    EXPECT_EQ(result.sequence(), frame.sequence());
    return result;
  }
  static void Reopen(Stream& stream, const v1::StreamOpen& open) {
    v1::StreamFramesRequest request;
    *request.mutable_open() = open;
    ASSERT_TRUE(stream.Write(request));
    v1::StreamFramesResponse response;
    ASSERT_TRUE(stream.Read(&response));
    EXPECT_TRUE(response.has_opened()) << response.DebugString();
  }
  static void End(Stream& stream) {
    stream.WritesDone();
    v1::StreamFramesResponse response;
    EXPECT_FALSE(stream.Read(&response));
    EXPECT_TRUE(stream.Finish().ok());
  }

  static std::set<uint64_t> IdsOf(const v1::FrameResult& result) {
    std::set<uint64_t> ids;
    for (const v1::Track& track : result.tracks()) ids.insert(track.id());
    EXPECT_EQ(ids.size(), static_cast<size_t>(result.tracks_size()));
    return ids;
  }
  // Every track of `before` goes on in `after` or has ended there, with a reason.
  static void ExpectAllAreToldOf(const v1::FrameResult& before, const v1::FrameResult& after) {
    const std::set<uint64_t> going_on = IdsOf(after);
    std::set<uint64_t> ended;
    for (const v1::EndedTrack& track : after.ended_tracks()) {
      EXPECT_NE(track.reason(), v1::TRACK_END_UNSPECIFIED);
      EXPECT_TRUE(ended.insert(track.id()).second);
      EXPECT_FALSE(going_on.contains(track.id()));
    }
    for (const uint64_t id : IdsOf(before)) {
      EXPECT_NE(going_on.contains(id), ended.contains(id)) << id;
    }
  }

  static constexpr size_t kSide = 512;
  Gates gates_;
};

TEST_F(StreamTrackTest, TheCapacityOfAnswersBoundsNoTracks) {
  v1::StreamOpen open = TrackingOpen();
  open.mutable_pipeline()->mutable_select()->set_max_features(60);
  std::vector<v1::FrameResult> results;
  for (const uint32_t capacity : {100'000u, 20u}) {
    open.mutable_pipeline()->mutable_select()->set_capacity(capacity);
    grpc::ClientContext context;
    const auto stream = Open(context, open);
    results.push_back(Answer(*stream, Moved(0)));
    End(*stream);
  }
  EXPECT_EQ(results[0].tracks_size(), 60);
  EXPECT_FALSE(results[0].features().truncated());
  ASSERT_EQ(results[1].tracks_size(), 60);
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(results[1].tracks(i).SerializeAsString(), results[0].tracks(i).SerializeAsString());
  }
  EXPECT_EQ(results[1].features().x_size(), 20);
  EXPECT_TRUE(results[1].features().truncated());
}

TEST_F(StreamTrackTest, TracksFollowTheMotionUnderTheirIds) {
  constexpr int kWanted = 60;  // the frame has 80 cells, whose winners the tracks choose from
  grpc::ClientContext context;
  v1::StreamOpen open = TrackingOpen();
  open.mutable_pipeline()->mutable_select()->set_max_features(kWanted);
  const auto stream = Open(context, open);
  v1::FrameResult before = Answer(*stream, Moved(0));
  EXPECT_EQ(before.tracks_size(), kWanted);
  EXPECT_EQ(before.features().x_size(), kWanted);
  EXPECT_FALSE(before.keyframe());
  EXPECT_EQ(before.timings().track_ns() > 0,
            before.timings().stages().rbegin()->stage() == "track");
  for (int i = 0; i < before.tracks_size(); ++i) {
    EXPECT_EQ(before.tracks(i).id(), static_cast<uint64_t>(i) + 1);
    EXPECT_EQ(before.tracks(i).age_frames(), 0u);
    EXPECT_EQ(before.tracks(i).residual(), 0.0f);
    EXPECT_EQ(before.tracks(i).gain(), 1.0f);
  }
  for (uint64_t step = 1; step < 8; ++step) {
    const v1::FrameResult now = Answer(*stream, Moved(step));
    ASSERT_EQ(now.status().code(), 0) << now.status().message();
    ExpectAllAreToldOf(before, now);
    std::map<uint64_t, v1::Track> old;
    for (const v1::Track& track : before.tracks()) old[track.id()] = track;
    int right = 0;
    uint64_t last_id = 0;
    for (const v1::Track& track : now.tracks()) {
      EXPECT_GT(track.id(), std::exchange(last_id, track.id()));
      if (!old.contains(track.id())) continue;
      EXPECT_EQ(track.age_frames(), old[track.id()].age_frames() + 1);
      right += std::abs(track.x() - old[track.id()].x() + kStepX) < 0.1f &&
               std::abs(track.y() - old[track.id()].y() + kStepY) < 0.1f;
    }
    EXPECT_GT(right, now.tracks_size() * 9 / 10);
    EXPECT_GT(now.tracks_size(), kWanted / 4);
    EXPECT_GT(now.timings().track_ns(), 0u);
    EXPECT_EQ(now.timings().stages().rbegin()->stage(), "track");
    EXPECT_EQ(now.timings().stages().rbegin()->duration_ns(), now.timings().track_ns());
    EXPECT_EQ(now.features().x_size(), kWanted);
    before = now;
  }
  End(*stream);
}

TEST_F(StreamTrackTest, TracksAreEqualWithoutFeaturesAndWithFramesInFlight) {
  constexpr uint64_t kFrames = 12;
  std::vector<std::string> expected;
  {
    grpc::ClientContext context;
    const auto stream = Open(context, TrackingOpen());
    for (uint64_t step = 0; step < kFrames; ++step) {
      v1::FrameResult result = Answer(*stream, Moved(step));
      v1::FrameResult tracks;
      *tracks.mutable_tracks() = result.tracks();
      *tracks.mutable_ended_tracks() = result.ended_tracks();
      expected.push_back(tracks.SerializeAsString());
    }
    End(*stream);
  }
  grpc::ClientContext context;
  v1::StreamOpen open = TrackingOpen();
  open.set_omit_features(true);
  const auto stream = Open(context, open);
  for (uint64_t step = 0; step < kFrames; ++step) ASSERT_TRUE(Send(*stream, Moved(step)));
  for (uint64_t step = 0; step < kFrames; ++step) {
    const v1::FrameResult result = ReadResult(*stream);
    EXPECT_FALSE(result.has_features());
    v1::FrameResult tracks;
    *tracks.mutable_tracks() = result.tracks();
    *tracks.mutable_ended_tracks() = result.ended_tracks();
    EXPECT_EQ(tracks.SerializeAsString(), expected[step]) << step;
  }
  End(*stream);
}

TEST_F(StreamTrackTest, AnotherSizeEndsAllTracksAndIdsGoOn) {
  grpc::ClientContext context;
  const auto stream = Open(context, TrackingOpen());
  const v1::FrameResult small = Answer(*stream, Moved(0));
  const v1::FrameResult large = Answer(*stream, Moved(1, 384, 256));
  ExpectAllAreToldOf(small, large);
  EXPECT_EQ(large.ended_tracks_size(), small.tracks_size());
  for (const v1::EndedTrack& ended : large.ended_tracks()) {
    EXPECT_EQ(ended.reason(), v1::TRACK_END_IMAGE_SIZE);
  }
  ASSERT_GT(large.tracks_size(), 50);
  EXPECT_EQ(large.tracks(0).id(), small.tracks().rbegin()->id() + 1);
  End(*stream);
}

TEST_F(StreamTrackTest, ASecondOpeningKeepsOrEndsTheTracks) {
  grpc::ClientContext context;
  v1::StreamOpen open = TrackingOpen();
  const auto stream = Open(context, open);
  const v1::FrameResult first = Answer(*stream, Moved(0));
  // The options of the tracks stay, so do the tracks.
  open.set_omit_features(true);
  open.set_drop_policy(v1::DROP_POLICY_OLDEST);
  Reopen(*stream, open);
  const v1::FrameResult second = Answer(*stream, Moved(1));
  ExpectAllAreToldOf(first, second);
  EXPECT_GT(IdsOf(second).size(), 30u);
  EXPECT_EQ(second.tracks(0).age_frames(), 1u);
  // Other options of the tracks end them; new ones begin.
  open.mutable_pipeline()->mutable_track()->set_levels(3);
  Reopen(*stream, open);
  const v1::FrameResult third = Answer(*stream, Moved(2));
  ExpectAllAreToldOf(second, third);
  EXPECT_EQ(third.ended_tracks_size(), second.tracks_size());
  EXPECT_EQ(third.ended_tracks(0).reason(), v1::TRACK_END_PIPELINE);
  ASSERT_GT(third.tracks_size(), 50);
  EXPECT_GT(third.tracks(0).id(), first.tracks().rbegin()->id());
  // Without `track` they end, too, and nothing begins.
  open.set_track(false);
  Reopen(*stream, open);
  const v1::FrameResult fourth = Answer(*stream, Moved(3));
  EXPECT_EQ(fourth.ended_tracks_size(), third.tracks_size());
  EXPECT_EQ(fourth.tracks_size(), 0);
  EXPECT_EQ(fourth.timings().track_ns(), 0u);
  End(*stream);
}

TEST_F(StreamTrackTest, ATrackThatComesToLieUnderTheMaskEnds) {
  grpc::ClientContext context;
  const auto stream = Open(context, TrackingOpen());
  const v1::FrameResult first = Answer(*stream, Moved(0));
  v1::Frame masked = Moved(1);
  masked.mutable_mask()->set_width_px(320);
  masked.mutable_mask()->set_height_px(240);
  masked.mutable_mask()->set_pixels(std::string(320 * 120, '\xff') + std::string(320 * 120, '\0'));
  const v1::FrameResult second = Answer(*stream, masked);
  ExpectAllAreToldOf(first, second);
  int masked_out = 0;
  for (const v1::EndedTrack& ended : second.ended_tracks()) {
    masked_out += ended.reason() == v1::TRACK_END_MASKED;
  }
  EXPECT_GT(masked_out, 10);
  for (const v1::Track& track : second.tracks()) EXPECT_LT(track.y(), 119.6f);
  End(*stream);
}

TEST_F(StreamTrackTest, AFrameThatFailsIsNoFrameForTracksAndKeyframes) {
  grpc::ClientContext context;
  v1::StreamOpen open = MatchingOpen();
  open.set_match_keyframe(true);
  const auto stream = Open(context, open);
  const v1::FrameResult first = Answer(*stream, Moved(0));
  EXPECT_TRUE(first.keyframe()) << "the first frame with features";
  EXPECT_EQ(first.matches_size(), 0);
  v1::Frame broken = Moved(1);
  broken.set_pixels("short");
  broken.set_keyframe(true);
  const v1::FrameResult failed = Answer(*stream, broken);
  EXPECT_EQ(failed.status().reason(), "BAD_IMAGE");
  EXPECT_FALSE(failed.keyframe());
  EXPECT_EQ(failed.tracks_size() + failed.ended_tracks_size(), 0);
  const v1::FrameResult second = Answer(*stream, Moved(1));
  ExpectAllAreToldOf(first, second);
  EXPECT_EQ(second.tracks(0).age_frames(), 1u);
  ASSERT_EQ(second.matches_size(), 1);
  EXPECT_EQ(second.matches(0).target(), v1::MATCH_TARGET_KEYFRAME);
  EXPECT_EQ(second.matches(0).target_sequence(), 0u);
  End(*stream);
}

TEST_F(StreamTrackTest, KeyframesComeByRuleAndOnRequestAndAreMatched) {
  grpc::ClientContext context;
  v1::StreamOpen open = MatchingOpen();
  open.set_match_previous(true);
  open.set_match_keyframe(true);
  open.mutable_keyframe_rule()->set_every_frames(3);
  const auto stream = Open(context, open);
  uint64_t keyframe = 0;
  for (uint64_t step = 0; step < 10; ++step) {
    v1::Frame frame = Moved(step);
    frame.set_keyframe(step == 4);
    const v1::FrameResult result = Answer(*stream, frame);
    // Every third frame since the last keyframe, and the fourth by request.
    const bool is_keyframe = step == 0 || step == 3 || step == 4 || step == 7;
    EXPECT_EQ(result.keyframe(), is_keyframe) << step;
    if (step > 0) {
      ASSERT_EQ(result.matches_size(), 2) << step;
      EXPECT_EQ(result.matches(0).target(), v1::MATCH_TARGET_PREVIOUS);
      EXPECT_EQ(result.matches(0).target_sequence(), step - 1);
      EXPECT_EQ(result.matches(1).target(), v1::MATCH_TARGET_KEYFRAME);
      EXPECT_EQ(result.matches(1).target_sequence(), keyframe) << step;
      EXPECT_GT(result.matches(1).matches().query_index_size(), 20);
    }
    if (is_keyframe) keyframe = step;
  }
  End(*stream);
}

TEST_F(StreamTrackTest, ALateSearchMakesTheFrameLateAndTheNextOneGoesOn) {
  grpc::ClientContext context;
  const auto stream = Open(context, TrackingOpen());
  const v1::FrameResult first = Answer(*stream, Moved(0));
  gates_.tracks.Close();
  v1::Frame hurried = Moved(1);
  hurried.set_deadline_ms(100);
  const v1::FrameResult late = Answer(*stream, hurried);
  EXPECT_EQ(late.status().reason(), "DEADLINE_EXCEEDED");
  EXPECT_EQ(late.tracks_size() + late.ended_tracks_size(), 0);
  gates_.tracks.Open();
  const v1::FrameResult next = Answer(*stream, Moved(2));
  EXPECT_EQ(next.status().code(), 0);
  ExpectAllAreToldOf(first, next);
  EXPECT_EQ(next.tracks(0).age_frames(), 1u) << "the late frame was none";
  End(*stream);
  EXPECT_EQ(Metric("orbserve_frames_total{outcome=\"ok\"}"), 2);
  EXPECT_EQ(Metric("orbserve_frames_total{outcome=\"DEADLINE_EXCEEDED\"}"), 1);
}

TEST_F(StreamTrackTest, AFrameThatWantsMoreTracksThanMayKeepPatchesIsRefused) {
  v1::StreamOpen open = TrackingOpen();
  open.mutable_pipeline()->mutable_track()->set_template_(v1::TRACK_TEMPLATE_FIRST);
  grpc::ClientContext context;
  auto stream = Open(context, open);
  const v1::FrameResult first = Answer(*stream, Moved(0));
  EXPECT_GT(first.tracks_size(), 0);
  v1::Frame frame = Moved(1);
  frame.mutable_parameters()->set_max_features(100'000);
  const v1::FrameResult refused = Answer(*stream, frame);
  EXPECT_EQ(refused.status().reason(), "BAD_OPTIONS");
  EXPECT_NE(refused.status().message().find("max_features of at most 10356"), std::string::npos)
      << refused.status().message();
  ExpectAllAreToldOf(first, Answer(*stream, Moved(2)));
  End(*stream);
}

TEST_F(StreamTrackTest, TracksNeedAPyramidOfFactorTwo) {
  grpc::ClientContext context;
  SetLimit(context);
  auto stream = stub_->StreamFrames(&context);
  v1::StreamFramesRequest request;
  request.mutable_open()->set_track(true);
  ASSERT_TRUE(stream->Write(request));
  v1::StreamFramesResponse response;
  EXPECT_FALSE(stream->Read(&response));
  const v1::Status refused = Details(stream->Finish());
  EXPECT_EQ(refused.reason(), "BAD_OPTIONS");
  EXPECT_NE(refused.message().find("pyramid.scale_factor is 1.2"), std::string::npos);
}

}  // namespace
}  // namespace orbserve
