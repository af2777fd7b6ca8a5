// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/conversion/tracks.h"

namespace orbserve {
namespace {

// An enum of the wire is ours with UNSPECIFIED = 0 in front, in the same order.
static_assert(static_cast<int>(TrackEnd::kNoTexture) + 1 == v1::TRACK_END_NO_TEXTURE);
static_assert(static_cast<int>(TrackEnd::kLeftImage) + 1 == v1::TRACK_END_LEFT_IMAGE);
static_assert(static_cast<int>(TrackEnd::kNotConverged) + 1 == v1::TRACK_END_NOT_CONVERGED);
static_assert(static_cast<int>(TrackEnd::kDifferent) + 1 == v1::TRACK_END_DIFFERENT);
static_assert(static_cast<int>(TrackEnd::kMasked) + 1 == v1::TRACK_END_MASKED);
static_assert(static_cast<int>(TrackEnd::kImageSize) + 1 == v1::TRACK_END_IMAGE_SIZE);
static_assert(static_cast<int>(TrackEnd::kPipeline) + 1 == v1::TRACK_END_PIPELINE);

}  // namespace

void TracksToProto(const FrameTracks& tracks, v1::FrameResult* proto) {
  proto->mutable_tracks()->Reserve(static_cast<int>(tracks.tracks.size()));
  for (const Track& track : tracks.tracks) {
    v1::Track& out = *proto->add_tracks();
    out.set_id(track.id);
    out.set_x(track.x_px());
    out.set_y(track.y_px());
    out.set_age_frames(track.age_frames);
    out.set_residual(track.residual);
    out.set_gain(track.gain());
    out.set_offset(track.offset_grey());
  }
  proto->mutable_ended_tracks()->Reserve(static_cast<int>(tracks.ended.size()));
  for (const EndedTrack& ended : tracks.ended) {
    v1::EndedTrack& out = *proto->add_ended_tracks();
    out.set_id(ended.id);
    out.set_reason(static_cast<v1::TrackEnd>(static_cast<int>(ended.reason) + 1));
  }
}

}  // namespace orbserve
