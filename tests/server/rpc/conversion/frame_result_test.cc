// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/conversion/frame_result.h"

#include "gtest/gtest.h"
#include "server/rpc/response_size.h"

namespace orbserve {
namespace {

TEST(TracksToProtoTest, EveryNumberHasItsFieldAndUnit) {
  FrameTracks tracks;
  tracks.tracks.push_back({.id = 7,
                           .x = 3 * 16384 + 4096,
                           .y = -8192,
                           .age_frames = 12,
                           .residual = 2.5f,
                           .alpha = -0.25f,
                           .beta = 40.0f});
  tracks.tracks.push_back({.id = uint64_t{1} << 40});
  v1::FrameResult proto;
  TracksToProto(tracks, &proto);
  ASSERT_EQ(proto.tracks_size(), 2);
  const v1::Track& track = proto.tracks(0);
  EXPECT_EQ(track.id(), 7u);
  EXPECT_EQ(track.x(), 3.25f);
  EXPECT_EQ(track.y(), -0.5f);
  EXPECT_EQ(track.age_frames(), 12u);
  EXPECT_EQ(track.residual(), 2.5f);
  EXPECT_EQ(track.gain(), 0.75f);
  EXPECT_EQ(track.offset(), 2.5f);
  EXPECT_EQ(proto.tracks(1).id(), uint64_t{1} << 40);
  EXPECT_EQ(proto.tracks(1).gain(), 1.0f);
  EXPECT_EQ(proto.tracks(1).offset(), 0.0f);
  EXPECT_EQ(proto.ended_tracks_size(), 0);
}

TEST(TracksToProtoTest, EveryReasonOfAnEndIsOneOfTheWire) {
  const std::pair<TrackEnd, v1::TrackEnd> reasons[] = {
      {TrackEnd::kNoTexture, v1::TRACK_END_NO_TEXTURE},
      {TrackEnd::kLeftImage, v1::TRACK_END_LEFT_IMAGE},
      {TrackEnd::kNotConverged, v1::TRACK_END_NOT_CONVERGED},
      {TrackEnd::kDifferent, v1::TRACK_END_DIFFERENT},
      {TrackEnd::kMasked, v1::TRACK_END_MASKED},
      {TrackEnd::kImageSize, v1::TRACK_END_IMAGE_SIZE},
      {TrackEnd::kPipeline, v1::TRACK_END_PIPELINE}};
  FrameTracks tracks;
  uint64_t id = 0;
  for (const auto& [ours, wire] : reasons) tracks.ended.push_back({++id, ours});
  v1::FrameResult proto;
  TracksToProto(tracks, &proto);
  ASSERT_EQ(proto.ended_tracks_size(), 7);
  // Those behind it are reasons of client libraries.
  EXPECT_EQ(v1::TRACK_END_RECONNECTED, 8) << "a reason of the wire that is not tested here";
  EXPECT_EQ(v1::TrackEnd_MAX, v1::TRACK_END_RECONNECTED);
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(proto.ended_tracks(i).id(), static_cast<uint64_t>(i) + 1);
    EXPECT_EQ(proto.ended_tracks(i).reason(), reasons[i].second);
  }
}

// A stream reserves memory for its tracks before they exist.
TEST(TracksToProtoTest, NoAnswerHasMoreBytesThanItsTracksReserve) {
  constexpr int kTracks = 1000;
  FrameTracks tracks;
  for (int i = 0; i < kTracks; ++i) {
    const uint64_t id = ~uint64_t{0} - static_cast<uint64_t>(i);
    tracks.tracks.push_back({.id = id,
                             .x = -5,
                             .y = 123456789,
                             .age_frames = ~0u,
                             .residual = 1.5f,
                             .alpha = 0.1f,
                             .beta = -3.0f});
    tracks.ended.push_back({id, TrackEnd::kPipeline});
  }
  v1::FrameResult proto;
  TracksToProto(tracks, &proto);
  EXPECT_LE(static_cast<int64_t>(proto.ByteSizeLong()), kTracks * kTrackWireBytes);
  EXPECT_GE(static_cast<int64_t>(proto.ByteSizeLong()), kTracks * (kTrackWireBytes - 4));
}

}  // namespace
}  // namespace orbserve
