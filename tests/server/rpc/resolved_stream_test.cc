// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/resolved_stream.h"

#include <string>

#include "gtest/gtest.h"
#include "server/rpc/response_size.h"
#include "tests/server/rpc/reason_of_failure.h"
#include "tests/server/serving/named_client.h"

namespace orbserve {
namespace {

using Open = v1::StreamOpen;

TEST(ResolvedStreamTest, AnEmptyOpeningBlocksAndHasNoDeadlineMatchesOrTracks) {
  const auto stream = StreamFromProto({}, {}, Named("robot"));
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_EQ(stream->pipeline->preset, "orb");
  EXPECT_EQ(stream->options.drop_policy, DropPolicy::kBlock);
  EXPECT_EQ(stream->deadline_ms, 0u);
  EXPECT_EQ(stream->options.max_in_flight, 8);
  EXPECT_EQ(stream->options.max_waiting, 0);
  EXPECT_EQ(stream->options.match_targets(), 0);
  EXPECT_FALSE(stream->options.omit_features);
  EXPECT_FALSE(stream->options.matches());
  EXPECT_EQ(stream->options.keep_state(), KeepState::kNone);
  EXPECT_TRUE(stream->options.keyframe_rule.empty());
}

TEST(ResolvedStreamTest, EveryFieldOfTheOpeningArrives) {
  Open open;
  open.mutable_pipeline()->set_preset("vio");
  open.mutable_pipeline()->mutable_track()->set_levels(3);
  open.mutable_pipeline()->mutable_match()->set_window_px(7);
  open.set_drop_policy(v1::DROP_POLICY_OLDEST);
  open.set_deadline_ms(33);
  open.set_match_previous(true);
  open.set_match_keyframe(true);
  open.add_references(std::string("one"));
  open.add_references(std::string("two"));
  open.set_track(true);
  open.set_omit_features(true);
  open.mutable_keyframe_rule()->set_every_frames(5);
  open.mutable_keyframe_rule()->set_lost_percent(40);
  open.mutable_pipeline()->mutable_describe()->set_descriptor_type(v1::DESCRIPTOR_TYPE_RBRIEF_256);
  open.mutable_pipeline()->mutable_describe()->set_orientation(v1::ORIENTATION_INTENSITY_CENTROID);
  open.mutable_pipeline()->mutable_select()->set_border_px(31);
  StreamLimits limits;
  limits.max_frames_waiting = 7;
  const auto stream = StreamFromProto(open, limits, Named("robot"));
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_EQ(stream->options.drop_policy, DropPolicy::kOldest);
  EXPECT_EQ(stream->deadline_ms, 33u);
  EXPECT_EQ(stream->options.max_in_flight, 2);
  EXPECT_EQ(stream->options.max_waiting, 7);
  EXPECT_EQ(stream->options.match_targets(), 4);
  EXPECT_TRUE(stream->options.omit_features);
  const StreamOptions& options = stream->options;
  EXPECT_EQ(options.client, Named("robot"));
  EXPECT_TRUE(options.match_previous);
  EXPECT_TRUE(options.match_keyframe);
  EXPECT_EQ(options.references, std::vector<std::string>({"one", "two"}));
  EXPECT_EQ(options.reference_window.window_px, 7);
  EXPECT_EQ(options.keyframe_rule.every_frames, 5);
  EXPECT_EQ(options.keyframe_rule.lost_percent, 40);
  EXPECT_TRUE(options.track);
  EXPECT_EQ(options.pipeline, stream->pipeline->options);
  EXPECT_EQ(options.track_options, stream->pipeline->track);
  EXPECT_EQ(options.track_options.levels, 3);
  EXPECT_EQ(options.keep_state(), KeepState::kPyramid);

  v1::StreamOpened opened;
  StreamToProto(*stream, &opened);
  EXPECT_EQ(opened.drop_policy(), v1::DROP_POLICY_OLDEST);
  EXPECT_EQ(opened.max_in_flight(), 2u);
  EXPECT_EQ(opened.max_waiting(), 7u);
  EXPECT_EQ(opened.deadline_ms(), 33u);
  EXPECT_EQ(opened.pipeline().preset(), "vio");
  EXPECT_EQ(opened.pipeline().track().levels(), 3u);
}

TEST(ResolvedStreamTest, ADropPolicyNeverHasMoreFramesInFlightThanTheServerAllows) {
  StreamLimits limits;
  limits.max_frames_in_flight = 1;
  Open open;
  open.set_drop_policy(v1::DROP_POLICY_NEWEST);
  EXPECT_EQ(StreamFromProto(open, limits, Named("robot"))->options.max_in_flight, 1);
  EXPECT_EQ(StreamFromProto(open, limits, Named("robot"))->options.drop_policy,
            DropPolicy::kNewest);
}

TEST(ResolvedStreamTest, WrongOpeningsAreRefusedWithFieldValueAndRange) {
  const struct {
    const char* message;
    ErrorReason reason;
    void (*change)(Open&);
  } rows[] = {
      {"drop_policy must be one of the values known to this server, 0 to 3; got 4",
       ErrorReason::kBadOptions,
       [](Open& o) { o.set_drop_policy(static_cast<v1::DropPolicy>(4)); }},
      {"drop_policy must be one of the values known to this server, 0 to 3; got -1",
       ErrorReason::kBadOptions,
       [](Open& o) { o.set_drop_policy(static_cast<v1::DropPolicy>(-1)); }},
      {"keyframe_rule.every_frames must be 0 (no such rule), or in [1, 1000000]; got 1000001",
       ErrorReason::kBadOptions,
       [](Open& o) { o.mutable_keyframe_rule()->set_every_frames(1'000'001); }},
      {"keyframe_rule.every_frames must be 0 (no such rule), or in [1, 1000000]; got 4294967295",
       ErrorReason::kBadOptions,
       [](Open& o) { o.mutable_keyframe_rule()->set_every_frames(4'294'967'295u); }},
      {"keyframe_rule.lost_percent must be 0 (no such rule), or in [1, 99]; got 100",
       ErrorReason::kBadOptions,
       [](Open& o) {
         o.mutable_pipeline()->set_preset("vio");
         o.set_track(true);
         o.mutable_keyframe_rule()->set_lost_percent(100);
       }},
      {"keyframe_rule.lost_percent is 30 and track is off; allowed: lost_percent 0, or track",
       ErrorReason::kBadOptions, [](Open& o) { o.mutable_keyframe_rule()->set_lost_percent(30); }},
      {"references must name at most 16; got 17", ErrorReason::kBadRequest,
       [](Open& o) {
         for (int i = 0; i < 17; ++i) o.add_references(std::string("marker"));
       }},
      {"matching needs descriptors; describe.descriptor_type is NONE", ErrorReason::kBadOptions,
       [](Open& o) {
         o.mutable_pipeline()->set_preset("vio");
         o.set_match_keyframe(true);
       }},
      {"max_features is 10357 and track.template FIRST keeps 3240 bytes of patches for each track "
       "with track.levels 5; allowed: 33554432 bytes, so max_features of at most 10356, or the "
       "template PREVIOUS",
       ErrorReason::kBadOptions,
       [](Open& o) {
         o.mutable_pipeline()->set_preset("vio");
         o.mutable_pipeline()->mutable_track()->set_template_(v1::TRACK_TEMPLATE_FIRST);
         o.mutable_pipeline()->mutable_select()->set_max_features(10'357);
         o.set_track(true);
       }},
  };
  for (const auto& row : rows) {
    Open open;
    row.change(open);
    const absl::Status status = StreamFromProto(open, {}, Named("robot")).status();
    EXPECT_EQ(std::string(status.message()), row.message);
    EXPECT_EQ(ReasonOfFailure(status), row.reason) << row.message;
  }
  Open open;
  open.set_track(true);  // of "orb", whose pyramid has another factor
  const absl::Status status = StreamFromProto(open, {}, Named("robot")).status();
  EXPECT_EQ(ReasonOfFailure(status), ErrorReason::kBadOptions);
  EXPECT_NE(std::string(status.message()).find("pyramid.scale_factor is 1.2"), std::string::npos);
}

TEST(ResolvedStreamTest, PatchesThatTracksKeepAreBounded) {
  Open open;
  open.mutable_pipeline()->set_preset("vio");
  open.set_track(true);
  EXPECT_TRUE(StreamFromProto(open, {}, Named("robot"))->CheckTracks(kMaxFeatures).ok())
      << "PREVIOUS keeps none";
  open.mutable_pipeline()->mutable_track()->set_template_(v1::TRACK_TEMPLATE_FIRST);
  const auto first = StreamFromProto(open, {}, Named("robot"));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(first->CheckTracks(10'356).ok());
  EXPECT_EQ(ReasonOfFailure(first->CheckTracks(10'357)), ErrorReason::kBadOptions);
  open.set_track(false);
  open.mutable_pipeline()->mutable_select()->set_max_features(kMaxFeatures);
  EXPECT_TRUE(StreamFromProto(open, {}, Named("robot")).ok()) << "nothing is tracked";
}

TEST(ResolvedStreamTest, TheReservationHasRoomForEverythingThatAnAnswerMayHold) {
  Open open;
  open.mutable_pipeline()->set_preset("vio");
  const auto plain = StreamFromProto(open, {}, Named("robot"));
  open.set_track(true);
  const auto tracks = StreamFromProto(open, {}, Named("robot"));
  open.set_omit_features(true);
  const auto bare = StreamFromProto(open, {}, Named("robot"));
  ASSERT_TRUE(plain.ok() && tracks.ok() && bare.ok());
  v1::FrameParameters frame;
  EXPECT_EQ(plain->WantedFeatures(frame), 100);
  frame.set_max_features(300);
  EXPECT_EQ(plain->WantedFeatures(frame), 300);
  frame.set_max_features(4'294'967'295u);  // the frame itself is refused
  EXPECT_EQ(plain->WantedFeatures(frame), kMaxFeatures);
  const int64_t features = plain->ResponseBoundOf(100, {}).For(1000);
  EXPECT_EQ(features, kOtherWireBytes + MostWireBytes(1000, plain->pipeline->options));
  EXPECT_EQ(tracks->ResponseBoundOf(100, {}).For(1000), features + 100 * kTrackWireBytes);
  EXPECT_EQ(bare->ResponseBoundOf(100, {}).For(1000), features + 100 * kTrackWireBytes)
      << "candidates of new tracks are held";
}

}  // namespace
}  // namespace orbserve
