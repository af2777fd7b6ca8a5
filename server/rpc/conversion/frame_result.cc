// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/conversion/frame_result.h"

#include "server/rpc/conversion/features.h"
#include "server/rpc/conversion/tracks.h"
#include "server/rpc/status.h"

namespace orbserve {
namespace {

void TargetToProto(const TargetMatches& target, v1::FrameMatches* proto) {
  switch (target.target) {
    case MatchTarget::kPrevious:
      proto->set_target(v1::MATCH_TARGET_PREVIOUS);
      proto->set_target_sequence(target.sequence);
      break;
    case MatchTarget::kKeyframe:
      proto->set_target(v1::MATCH_TARGET_KEYFRAME);
      proto->set_target_sequence(target.sequence);
      break;
    case MatchTarget::kReference:
      proto->set_target(v1::MATCH_TARGET_REFERENCE);
      proto->set_reference(target.reference);
      proto->set_reference_version(target.reference_version);
      break;
  }
  if (target.status.ok()) {
    MatchesToProto(target.matches, proto->mutable_matches());
  } else {
    StatusToProto(target.status, proto->mutable_status());
  }
}

}  // namespace

void FrameResultToProto(const StreamResult& result, bool omit_features, v1::FrameResult* proto) {
  if (!result.outcome.status.ok()) StatusToProto(result.outcome.status, proto->mutable_status());
  for (const TargetMatches& target : result.matches) TargetToProto(target, proto->add_matches());
  TracksToProto(result.tracks, proto);
  proto->set_keyframe(result.is_keyframe);
  if (!omit_features && result.outcome.features != nullptr) {
    FeaturesToProto(*result.outcome.features, proto->mutable_features());
  }
}

}  // namespace orbserve
