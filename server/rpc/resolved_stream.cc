// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/resolved_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/algo/lucas_kanade.h"
#include "features/errors.h"
#include "server/rpc/reference_name.h"
#include "server/rpc/response_size.h"

namespace orbserve {
namespace {

constexpr int kMaxReferencesPerStream = 16;
constexpr IntRange kKeyframeFrames{1, 1'000'000};
constexpr IntRange kKeyframeLoss{1, 99};
// Frames in flight of a stream that drops frames: one is computed, the next one is being decoded.
// With more of them a frame would wait longer behind frames that cannot be dropped any more.
constexpr int kInFlightOfDropPolicies = 2;
// Patches that the tracks of a stream may keep: some 10,000 tracks with the levels of "vio". A
// search holds them once more. Without a bound 100,000 tracks would keep 700 MB.
constexpr int64_t kMaxPatchBytes = int64_t{32} << 20;

absl::StatusOr<DropPolicy> DropPolicyFromProto(v1::DropPolicy policy) {
  switch (policy) {
    case v1::DROP_POLICY_UNSPECIFIED:
    case v1::DROP_POLICY_BLOCK:
      return DropPolicy::kBlock;
    case v1::DROP_POLICY_NEWEST:
      return DropPolicy::kNewest;
    case v1::DROP_POLICY_OLDEST:
      return DropPolicy::kOldest;
    default:
      return MakeError(ErrorReason::kBadOptions,
                       absl::StrCat("drop_policy must be one of the values known to this server, "
                                    "0 to 3; got ",
                                    static_cast<int>(policy)));
  }
}

v1::DropPolicy DropPolicyToProto(DropPolicy policy) {
  switch (policy) {
    case DropPolicy::kBlock:
      break;
    case DropPolicy::kNewest:
      return v1::DROP_POLICY_NEWEST;
    case DropPolicy::kOldest:
      return v1::DROP_POLICY_OLDEST;
  }
  return v1::DROP_POLICY_BLOCK;
}

// 0 stands for "no such rule".
absl::Status CheckRule(absl::string_view name, uint32_t value, const IntRange& range) {
  if (value == 0 ||
      (value >= static_cast<uint32_t>(range.low) && value <= static_cast<uint32_t>(range.high))) {
    return absl::OkStatus();
  }
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat(name, " must be 0 (no such rule), or in [", range.low, ", ",
                                range.high, "]; got ", value));
}

absl::Status CheckKeyframeRule(const v1::StreamOpen& open) {
  const v1::KeyframeRule& rule = open.keyframe_rule();
  ORBSERVE_RETURN_IF_ERROR(
      CheckRule("keyframe_rule.every_frames", rule.every_frames(), kKeyframeFrames));
  ORBSERVE_RETURN_IF_ERROR(
      CheckRule("keyframe_rule.lost_percent", rule.lost_percent(), kKeyframeLoss));
  if (rule.lost_percent() != 0 && !open.track()) {
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat("keyframe_rule.lost_percent is ", rule.lost_percent(),
                                  " and track is off; allowed: lost_percent 0, or track"));
  }
  return absl::OkStatus();
}

absl::StatusOr<StreamOptions> OptionsFromProto(const v1::StreamOpen& open,
                                               const ResolvedPipeline& pipeline,
                                               const ClientId& client) {
  if (open.references_size() > kMaxReferencesPerStream) {
    return MakeError(ErrorReason::kBadRequest,
                     absl::StrCat("references must name at most ", kMaxReferencesPerStream,
                                  "; got ", open.references_size()));
  }
  StreamOptions options;
  options.client = client;
  options.match_previous = open.match_previous();
  options.match_keyframe = open.match_keyframe();
  options.reference_window = pipeline.match;
  for (const std::string& name : open.references()) {
    ORBSERVE_RETURN_IF_ERROR(CheckReferenceName(name));
    options.references.push_back(name);
  }
  ORBSERVE_RETURN_IF_ERROR(CheckKeyframeRule(open));
  options.keyframe_rule = {static_cast<int>(open.keyframe_rule().every_frames()),
                           static_cast<int>(open.keyframe_rule().lost_percent())};
  if (open.track()) {
    ORBSERVE_RETURN_IF_ERROR(CheckTrackPyramid(pipeline.options.pyramid));
    options.track = true;
    options.pipeline = pipeline.options;
    options.track_options = pipeline.track;
  }
  if (options.matches() && DescriptorBytes(pipeline.options.describe.descriptor) == 0) {
    return MakeError(ErrorReason::kBadOptions,
                     "matching needs descriptors; describe.descriptor_type is NONE");
  }
  return options;
}

}  // namespace

absl::StatusOr<ResolvedStream> StreamFromProto(const v1::StreamOpen& open,
                                               const StreamLimits& limits, const ClientId& client) {
  ResolvedStream stream;
  ORBSERVE_ASSIGN_OR_RETURN(ResolvedPipeline pipeline, PipelineFromProto(open.pipeline()));
  ORBSERVE_ASSIGN_OR_RETURN(const DropPolicy policy, DropPolicyFromProto(open.drop_policy()));
  ORBSERVE_ASSIGN_OR_RETURN(stream.options, OptionsFromProto(open, pipeline, client));
  StreamOptions& options = stream.options;
  options.drop_policy = policy;
  options.omit_features = open.omit_features();
  options.preset = pipeline.preset;
  stream.pipeline = std::make_shared<const ResolvedPipeline>(std::move(pipeline));
  ORBSERVE_RETURN_IF_ERROR(stream.CheckTracks(stream.pipeline->frame.max_features));
  stream.deadline_ms = open.deadline_ms();
  options.max_in_flight = limits.max_frames_in_flight;
  if (policy != DropPolicy::kBlock) {
    options.max_in_flight = std::min(options.max_in_flight, kInFlightOfDropPolicies);
    options.max_waiting = limits.max_frames_waiting;
  }
  stream.match_targets = static_cast<int>(options.references.size()) +
                         (options.match_previous ? 1 : 0) + (options.match_keyframe ? 1 : 0);
  return stream;
}

void StreamToProto(const ResolvedStream& stream, v1::StreamOpened* opened) {
  opened->set_max_in_flight(static_cast<uint32_t>(stream.options.max_in_flight));
  opened->set_max_waiting(static_cast<uint32_t>(stream.options.max_waiting));
  opened->set_drop_policy(DropPolicyToProto(stream.options.drop_policy));
  opened->set_deadline_ms(stream.deadline_ms);
  PipelineToProto(*stream.pipeline, opened->mutable_pipeline());
}

int ResolvedStream::WantedFeatures(const v1::FrameParameters& frame) const {
  return frame.has_max_features()
             ? static_cast<int>(std::min<uint32_t>(frame.max_features(), kMaxFeatures))
             : pipeline->frame.max_features;
}

absl::Status ResolvedStream::CheckTracks(int wanted) const {
  const TrackOptions& track = options.track_options;
  if (!options.track || track.track_template != TrackTemplate::kFirst) return absl::OkStatus();
  const int64_t bytes_of_one =
      algo::TrackPatchValues(track.levels, track.coarse_patch_px) * int64_t{sizeof(int16_t)};
  if (wanted * bytes_of_one <= kMaxPatchBytes) return absl::OkStatus();
  return MakeError(
      ErrorReason::kBadOptions,
      absl::StrCat("max_features is ", wanted, " and track.template FIRST keeps ", bytes_of_one,
                   " bytes of patches for each track with track.levels ", track.levels,
                   "; allowed: ", kMaxPatchBytes, " bytes, so max_features of at most ",
                   kMaxPatchBytes / bytes_of_one, ", or the template PREVIOUS"));
}

ResponseBound ResolvedStream::ResponseBoundOf(int wanted, const MatchOptions& match) const {
  ResponseBound bound;
  bound.fixed = kOtherWireBytes + (options.track ? wanted * kTrackWireBytes : 0);
  bound.each_feature = match_targets * match.k * kMatchWireBytes;
  // Features that are not sent are held while they are matched, or tracks begin at them.
  if (!options.omit_features || match_targets > 0 || options.track) {
    bound.each_feature += MostWireBytes(1, pipeline->options.describe.descriptor);
  }
  return bound;
}

}  // namespace orbserve
