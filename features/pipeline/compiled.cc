// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/pipeline/compiled.h"

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "features/input_limits.h"

namespace orbserve {

absl::StatusOr<CompiledPipeline> CompilePipeline(const PlanSpec& spec) {
  ORBSERVE_RETURN_IF_ERROR(spec.pipeline.Validate());
  ORBSERVE_RETURN_IF_ERROR(CheckImageSize(spec.width_px, spec.height_px));
  if (spec.track_levels != 0) {
    ORBSERVE_RETURN_IF_ERROR(CheckRange("track.levels", spec.track_levels, kTrackLevelRange));
    ORBSERVE_RETURN_IF_ERROR(CheckTrackPyramid(spec.pipeline.pyramid));
  }
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
  features->descriptor_bytes = pipeline.descriptor_bytes;
  features->descriptor_type = spec.pipeline.describe.descriptor;
  features->image_width_px = spec.width_px;
  features->image_height_px = spec.height_px;
  features->truncated = false;
  features->suppression_passes = 0;
  features->source_index.clear();
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
