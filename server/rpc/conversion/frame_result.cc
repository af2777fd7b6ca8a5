// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/conversion/frame_result.h"

#include "server/rpc/conversion/features.h"
#include "server/rpc/conversion/timings.h"
#include "server/rpc/status.h"

namespace orbserve {
namespace {

// Enums of the wire are ours with UNSPECIFIED = 0 in front, in the same order.

// `kind`: of the frame's descriptors.
void TargetToProto(const TargetMatches& target, Descriptor kind, v1::FrameMatches* proto) {
  proto->set_target(static_cast<v1::MatchTarget>(static_cast<int>(target.target) + 1));
  if (target.target == MatchTarget::kReference) {
    proto->set_reference(target.reference);
    proto->set_reference_version(target.reference_version);
  } else {
    proto->set_target_sequence(target.sequence);
  }
  if (target.status.ok()) {
    MatchesToProto(target.matches, kind, proto->mutable_matches());
  } else {
    StatusToProto(target.status, proto->mutable_status());
  }
}

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

void FrameResultToProto(const StreamFrame& frame, v1::FrameResult* proto) {
  const StreamResult& result = frame.result;
  proto->set_sequence(frame.sequence);
  proto->set_timestamp_ns(frame.timestamp_ns);
  if (!result.outcome.status.ok()) StatusToProto(result.outcome.status, proto->mutable_status());
  const Descriptor kind = frame.options->pipeline.describe.descriptor;
  for (const TargetMatches& target : result.matches) {
    TargetToProto(target, kind, proto->add_matches());
  }
  TracksToProto(result.tracks, proto);
  proto->set_keyframe(result.is_keyframe);
  if (!frame.options->omit_features && result.outcome.features != nullptr) {
    FeaturesToProto(*result.outcome.features, proto->mutable_features());
  }
  ExecutionToProto(result.outcome, proto->mutable_execution());
  TimingsToProto(result.outcome, proto->mutable_timings());
}

void FrameFailureToProto(const StreamFrame& frame, const absl::Status& status,
                         v1::FrameResult* proto) {
  proto->set_sequence(frame.sequence);
  proto->set_timestamp_ns(frame.timestamp_ns);
  StatusToProto(status, proto->mutable_status());
  FrameOutcome outcome;  // nothing of a batch
  outcome.times = frame.result.outcome.times;
  TimingsToProto(outcome, proto->mutable_timings());
}

}  // namespace orbserve
