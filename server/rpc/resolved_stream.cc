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

}  // namespace

absl::StatusOr<ResolvedStream> StreamFromProto(const v1::StreamOpen& open,
                                               const StreamLimits& limits, const ClientId& client) {
  ResolvedStream stream;
  ORBSERVE_ASSIGN_OR_RETURN(ResolvedPipeline resolved, PipelineFromProto(open.pipeline()));
  stream.pipeline = std::make_shared<const ResolvedPipeline>(std::move(resolved));
  stream.deadline_ms = open.deadline_ms();
  const ResolvedPipeline& pipeline = *stream.pipeline;
  if (!v1::DropPolicy_IsValid(open.drop_policy())) {
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat("drop_policy must be one of the values known to this server, "
                                  "0 to 3; got ",
                                  static_cast<int>(open.drop_policy())));
  }
  if (open.references_size() > kMaxReferencesPerStream) {
    return MakeError(ErrorReason::kBadRequest,
                     absl::StrCat("references must name at most ", kMaxReferencesPerStream,
                                  "; got ", open.references_size()));
  }
  for (const std::string& name : open.references()) {
    ORBSERVE_RETURN_IF_ERROR(CheckReferenceName(name));
  }
  ORBSERVE_RETURN_IF_ERROR(CheckKeyframeRule(open));
  if (open.track()) ORBSERVE_RETURN_IF_ERROR(CheckTrackPyramid(pipeline.options));

  StreamOptions& options = stream.options;
  options.client = client;
  options.match_previous = open.match_previous();
  options.match_keyframe = open.match_keyframe();
  options.references.assign(open.references().begin(), open.references().end());
  options.reference_window = pipeline.match;
  options.keyframe_rule = {static_cast<int>(open.keyframe_rule().every_frames()),
                           static_cast<int>(open.keyframe_rule().lost_percent())};
  options.track = open.track();
  options.pipeline = pipeline.options;
  options.track_options = pipeline.track;
  options.omit_features = open.omit_features();
  options.preset = pipeline.preset;
  options.max_in_flight = limits.max_frames_in_flight;
  if (open.drop_policy() > v1::DROP_POLICY_BLOCK) {
    // The wire's policies are ours with UNSPECIFIED = 0, which stands for the first, in front.
    options.drop_policy = static_cast<DropPolicy>(open.drop_policy() - 1);
    options.max_in_flight = std::min(options.max_in_flight, kInFlightOfDropPolicies);
    options.max_waiting = limits.max_frames_waiting;
  }
  if (options.match_targets() > 0 && DescriptorBytes(pipeline.options.describe.descriptor) == 0) {
    return MakeError(ErrorReason::kBadOptions,
                     "matching needs descriptors; describe.descriptor_type is NONE");
  }
  ORBSERVE_RETURN_IF_ERROR(stream.CheckTracks(pipeline.frame.max_features));
  return stream;
}

void StreamToProto(const ResolvedStream& stream, v1::StreamOpened* opened) {
  opened->set_max_in_flight(static_cast<uint32_t>(stream.options.max_in_flight));
  opened->set_max_waiting(static_cast<uint32_t>(stream.options.max_waiting));
  opened->set_drop_policy(
      static_cast<v1::DropPolicy>(static_cast<int>(stream.options.drop_policy) + 1));
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
  bound.each_feature = options.match_targets() * match.k * kMatchWireBytes;
  // Features that are not sent are held while they are matched, or tracks begin at them.
  if (!options.omit_features || options.match_targets() > 0 || options.track) {
    bound.each_feature += MostWireBytes(1, pipeline->options);
  }
  return bound;
}

}  // namespace orbserve
