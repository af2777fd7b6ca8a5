// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/pipeline/compiled.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "features/algo/node_list.h"
#include "features/algo/pyramid.h"
#include "features/algo/zone.h"
#include "features/errors.h"
#include "features/input_limits.h"
#include "features/pipeline/detection.h"

namespace orbserve {

namespace {

// Sizes at which ORB-SLAM3 fails, by the first level that it fails at.
absl::Status CheckOrbSlam3Levels(const PlanSpec& spec) {
  if (spec.pipeline.select.selection != Selection::kOrbSlam3) return absl::OkStatus();
  for (int l = 0; l < spec.pipeline.pyramid.levels; ++l) {
    const float scale = ScaleOfLevel(spec.pipeline, l);
    const int width_px = algo::LevelSide(spec.width_px, scale);
    const int height_px = algo::LevelSide(spec.height_px, scale);
    const int64_t width = width_px - 2 * algo::kZoneFramePx;
    const int64_t height = height_px - 2 * algo::kZoneFramePx;
    const auto refuse = [&](absl::string_view reason) {
      return MakeError(ErrorReason::kBadImage,
                       absl::StrCat("select.selection is ORB_SLAM3 and level ", l, " is ", width_px,
                                    "x", height_px, ", ", reason));
    };
    if (width_px == 0 || height_px == 0) return refuse("empty; fewer levels are possible");
    // The number of roots, width / height rounded, would be negative or no number.
    if (height == 0 || (width * height < 0 && 2 * std::abs(width) >= std::abs(height))) {
      return refuse("too small; fewer levels are possible");
    }
    if (width >= algo::kZoneLeastPx && height >= algo::kZoneLeastPx && 2 * width < height) {
      return refuse("more than twice as high as wide without its border of 16");
    }
  }
  return absl::OkStatus();
}

// Methods that are one whole take neither keypoints nor masks.
absl::Status CheckWholeMethod(const PipelineOptions& options, const FrameJob& job) {
  const bool is_sift = HasScaleSpace(options);
  if (!is_sift && options.select.selection != Selection::kOrbSlam3) return absl::OkStatus();
  const absl::string_view method =
      is_sift ? "detect.detector is SIFT" : "select.selection is ORB_SLAM3";
  const absl::string_view other = is_sift ? "another detector" : "another selection";
  if (job.given_keypoints != nullptr) {
    return MakeError(
        ErrorReason::kBadOptions,
        absl::StrCat(method, " and keypoints are given; allowed: no keypoints, or ", other));
  }
  if (!job.input->mask.empty()) {
    return MakeError(
        ErrorReason::kBadOptions,
        absl::StrCat(method, " and the frame has a mask; allowed: no mask, or ", other));
  }
  return absl::OkStatus();
}

absl::Status CheckOrbSlam3Frame(const CompiledPipeline& pipeline, const FrameJob& job) {
  if (pipeline.spec.pipeline.select.selection != Selection::kOrbSlam3) return absl::OkStatus();
  const int64_t most = pipeline.MostNodes(pipeline.CutsFor(job.parameters));
  if (most > pipeline.spec.pipeline.select.capacity) {
    return MakeError(
        ErrorReason::kBadOptions,
        absl::StrCat("max_features is ", job.parameters.max_features,
                     ", which ORB_SLAM3 may exceed up to ", most, ", and select.capacity is ",
                     pipeline.spec.pipeline.select.capacity,
                     "; allowed: fewer features, or a capacity of ", most, " at least, up to ",
                     kMaxFeatures));
  }
  return absl::OkStatus();
}

}  // namespace

int CompiledPipeline::MostNodes(const Cuts& cuts, int l) const {
  const algo::NodeRoots roots = algo::NodeRootsOf(level(l).width_px, level(l).height_px);
  return roots.count == 0 ? 0
                          : algo::MostNodes(cuts.by_response[static_cast<size_t>(l)], roots.count);
}

int64_t CompiledPipeline::MostNodes(const Cuts& cuts) const {
  int64_t most = 0;
  for (int l = 0; l < level_count(); ++l) most += MostNodes(cuts, l);
  return most;
}

absl::StatusOr<CompiledPipeline> CompilePipeline(const PlanSpec& spec) {
  ORBSERVE_RETURN_IF_ERROR(spec.pipeline.Validate());
  ORBSERVE_RETURN_IF_ERROR(CheckImageSize(spec.width_px, spec.height_px));
  if (spec.track_levels != 0) {
    ORBSERVE_RETURN_IF_ERROR(CheckRange("track.levels", spec.track_levels, kTrackLevelRange));
    ORBSERVE_RETURN_IF_ERROR(CheckTrackPyramid(spec.pipeline));
  }
  ORBSERVE_RETURN_IF_ERROR(CheckOrbSlam3Levels(spec));
  CompiledPipeline compiled;
  compiled.spec = spec;
  compiled.pyramid = PyramidGeometry::For(spec);
  compiled.reach = Reach::Of(spec.pipeline);
  compiled.descriptor_bytes = DescriptorBytes(spec.pipeline.describe.descriptor);
  return compiled;
}

absl::Status BeginFrame(const CompiledPipeline& pipeline, const FrameJob& job, Features* features) {
  if (job.input == nullptr) return MakeError(ErrorReason::kInternal, "a frame without an input");
  ORBSERVE_RETURN_IF_ERROR(job.parameters.Validate());
  const PlanSpec& spec = pipeline.spec;
  if (job.parameters.fast_threshold_low_grey > 0 &&
      spec.pipeline.detect.detector != Detector::kFast) {
    return MakeError(
        ErrorReason::kBadOptions,
        absl::StrCat("fast_threshold_low is ", job.parameters.fast_threshold_low_grey,
                     " and detect.detector is not FAST; allowed: fast_threshold_low 0, "
                     "or detector FAST"));
  }
  if (job.keep_state == KeepState::kPyramid && spec.track_levels == 0) {
    return MakeError(ErrorReason::kInternal, "a pyramid is wanted of a plan that keeps none");
  }
  const ImageView image = job.input->image;
  if (image.width_px != spec.width_px || image.height_px != spec.height_px) {
    return MakeError(ErrorReason::kInternal,
                     absl::StrCat("a frame of ", image.width_px, " x ", image.height_px,
                                  " in a batch of ", spec.width_px, " x ", spec.height_px));
  }
  ORBSERVE_RETURN_IF_ERROR(CheckWholeMethod(spec.pipeline, job));
  ORBSERVE_RETURN_IF_ERROR(CheckOrbSlam3Frame(pipeline, job));
  features->descriptor_bytes = pipeline.descriptor_bytes;
  features->descriptor_type = spec.pipeline.describe.descriptor;
  features->image_width_px = spec.width_px;
  features->image_height_px = spec.height_px;
  features->truncated = false;
  features->suppression_passes = 0;
  features->source_index.clear();
  features->layer.clear();
  features->layer_fraction.clear();
  return absl::OkStatus();
}

PlacedKeypoint PlacedKeypointAt(const CompiledPipeline& pipeline, const Features& features,
                                size_t row) {
  const int level_index = features.octave[row];
  const LevelGeometry& level = pipeline.level(level_index);
  return {level.FromLevelZero(features.x[row]), level.FromLevelZero(features.y[row]), level_index,
          features.angle_deg[row]};
}

}  // namespace orbserve
