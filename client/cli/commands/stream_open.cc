// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/stream_open.h"

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/images/camera/camera_source.h"
#include "client/cli/output/drawing/stream_pictures.h"
#include "client/cli/wire_names.h"

namespace orbserve::cli {
namespace {

constexpr int kMaxReferences = 16;
constexpr char kTrackPipeline[] = "odometry";
constexpr double kBulkKeepaliveSeconds = 10;

// The first option that asks for matches, as it was given; "" if there is none.
std::string AskedMatch(const StreamOptions& options) {
  if (options.match_keyframe) return "--match-keyframe";
  if (!options.references.empty()) return absl::StrCat("--reference ", options.references[0]);
  return MatchingFlagOf(options.image.flags);
}

absl::Status CheckSource(const StreamOptions& options) {
  if (options.source.empty() == options.photo.empty()) {
    return absl::InvalidArgumentError(
        options.source.empty()
            ? "SOURCE is missing: a folder, a video, a camera, or --simulate PHOTO"
            : absl::StrCat("--simulate ", options.photo, " and SOURCE ", options.source,
                           " exclude each other"));
  }
  const bool camera = !options.source.empty() && IsCamera(options.source);
  if (!options.size.empty() && options.photo.empty() && !camera) {
    return absl::InvalidArgumentError(
        absl::StrCat("--size ", options.size, " has no effect: it needs a camera or --simulate"));
  }
  if (!options.camera_format.empty() && !camera) {
    return absl::InvalidArgumentError(absl::StrCat("--camera-format ", options.camera_format,
                                                   " has no effect: it needs a camera"));
  }
  if (const auto [low, high] = options.camera_window; low != 0 || high != 0) {
    if (options.camera_format != "y16") {
      return absl::InvalidArgumentError(absl::StrCat(
          "--camera-window ", low, " ", high, " has no effect: it needs --camera-format y16"));
    }
    if (low >= high) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--camera-window must be LOW HIGH with LOW below HIGH; got ", low, " ", high));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void CompleteStreamOptions(StreamOptions* options) {
  // References are kept by servers only.
  if (!options->references.empty() && options->common.server.empty()) {
    options->common.server = kDefaultServer;
  }
  if (options->track && options->image.pipeline.empty()) options->image.pipeline = kTrackPipeline;
  // Frames that go as fast as the link takes them keep the answers to probes waiting.
  const bool drops = !options->drop_policy.empty() && options->drop_policy != "block";
  const bool is_bulk = !drops && options->fps == 0 && !IsCamera(options->source);
  if (is_bulk && !options->common.server.empty() && !options->common.keepalive_s.has_value()) {
    options->common.keepalive_s = kBulkKeepaliveSeconds;
  }
}

absl::Status CheckStreamOptions(const StreamOptions& options) {
  if (absl::Status source = CheckSource(options); !source.ok()) return source;
  if (options.references.size() > kMaxReferences) {
    return absl::InvalidArgumentError(absl::StrCat("--reference can be given up to ",
                                                   kMaxReferences, " times; got ",
                                                   options.references.size()));
  }
  if (!options.track) {
    std::string idle = TrackingFlagOf(options.image.flags);
    if (idle.empty() && options.keyframe_lost_percent > 0) {
      idle = absl::StrCat("--keyframe-lost-percent ", options.keyframe_lost_percent);
    }
    if (!idle.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(idle, " has no effect: it needs --track"));
    }
  }
  if (options.matches && !options.common.json) {
    return absl::InvalidArgumentError("--matches has no effect: it needs --json");
  }
  if (options.reconnect_s.has_value() && options.common.server.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--reconnect ", *options.reconnect_s, " has no effect: it needs --server"));
  }
  if (options.jpeg_age_s.has_value() && options.common.server.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--jpeg-age ", *options.jpeg_age_s, " has no effect: it needs --server"));
  }
  const auto& policies = *v1::DropPolicy_descriptor();
  if (!options.drop_policy.empty() && FindShortName(policies, options.drop_policy) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--drop-policy must be one of ",
                     absl::AsciiStrToLower(absl::StrJoin(ShortNames(policies), ", ")), "; got ",
                     options.drop_policy));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::StreamOpen> MakeStreamOpen(const StreamOptions& options,
                                              const RequestSetup& setup,
                                              const v1::GetServerInfoResponse& server) {
  v1::StreamOpen open;
  *open.mutable_pipeline() = setup.pipeline;
  for (const std::string& reference : options.references) open.add_references(reference);
  open.set_track(options.track);
  open.set_match_keyframe(options.match_keyframe);
  if (options.keyframe_every > 0) {
    open.mutable_keyframe_rule()->set_every_frames(options.keyframe_every);
  }
  if (options.keyframe_lost_percent > 0) {
    open.mutable_keyframe_rule()->set_lost_percent(options.keyframe_lost_percent);
  }
  if (!options.drop_policy.empty()) {
    open.set_drop_policy(static_cast<v1::DropPolicy>(
        FindShortName(*v1::DropPolicy_descriptor(), options.drop_policy)->number()));
  }
  open.set_deadline_ms(options.deadline_ms);
  const v1::Pipeline pipeline = EffectivePipeline(setup.pipeline, server);
  const bool has_descriptors = pipeline.describe().descriptor_type() != v1::DESCRIPTOR_TYPE_NONE;
  open.set_match_previous(has_descriptors);
  const std::string asked = AskedMatch(options);
  if (has_descriptors || asked.empty()) return open;
  return absl::InvalidArgumentError(
      absl::StrCat(asked, " needs descriptors to match, and describe.descriptor_type is NONE"));
}

absl::StatusOr<FrameSourceOptions> SourceOptionsOf(const StreamOptions& options) {
  FrameSourceOptions source;
  source.source = options.source;
  source.photo = options.photo;
  source.keep_pictures = !options.draw.empty();
  if (!StreamPictures::IsVideo(options.draw)) source.picture_folder = options.draw;
  source.fps = options.fps;
  source.simulated_frames = options.frames > 0 ? options.frames : kSimulatedFrames;
  source.camera_format = options.camera_format;
  if (const auto [low, high] = options.camera_window; high != 0) {
    source.camera_window = {static_cast<uint16_t>(low), static_cast<uint16_t>(high)};
  }
  source.track = options.track;
  if (options.size.empty()) return source;
  const std::vector<std::string> sides = absl::StrSplit(options.size, 'x');
  if (sides.size() != 2 || !absl::SimpleAtoi(sides[0], &source.width_px) ||
      !absl::SimpleAtoi(sides[1], &source.height_px) || source.width_px < 1 ||
      source.height_px < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--size must be WIDTHxHEIGHT in pixels, such as 640x480; got ", options.size));
  }
  return source;
}

}  // namespace orbserve::cli
