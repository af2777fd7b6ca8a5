// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/given_keypoints.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "features/algo/sincos.h"
#include "features/algo/teblid.h"
#include "features/errors.h"

namespace orbserve {

namespace {

// True where the keypoint can be described: for most descriptors no sample may lie outside the
// keypoint's level.
bool FitsLevel(const CompiledPipeline& pipeline, const GivenKeypoints& given, size_t i) {
  if (pipeline.descriptor_bytes == 0 || pipeline.reach.describes_everywhere) return true;
  const LevelGeometry& level = pipeline.level(given.octave[i]);
  const int x = level.FromLevelZero(given.x[i]);
  const int y = level.FromLevelZero(given.y[i]);
  const int reach = pipeline.reach.describe_px;
  return x >= reach && x < level.width_px - reach && y >= reach && y < level.height_px - reach;
}

}  // namespace

absl::Status PlaceGivenKeypoints(const GivenKeypoints& given, const CompiledPipeline& pipeline,
                                 Features* features) {
  const PlanSpec& spec = pipeline.spec;
  const int levels = pipeline.level_count();
  const size_t count = given.count();
  for (const size_t length : {given.y.size(), given.size.size(), given.angle_deg.size(),
                              given.response.size(), given.octave.size()}) {
    if (length != count) {
      return MakeError(ErrorReason::kBadRequest,
                       absl::StrCat("columns of given keypoints must be of equal length; got ",
                                    count, " x and ", length, " of another"));
    }
  }
  const bool describes = spec.pipeline.describe.descriptor != Descriptor::kNone;
  const auto border = static_cast<float>(spec.pipeline.select.border_px);
  const auto capacity = static_cast<size_t>(spec.pipeline.select.capacity);
  features->source_index.clear();
  for (size_t i = 0; i < count; ++i) {
    if (given.octave[i] < 0 || given.octave[i] >= levels) {
      return MakeError(ErrorReason::kBadOptions,
                       absl::StrCat("octave of given keypoint ", i, " must be in [0, ", levels - 1,
                                    "], the levels that exist; got ", given.octave[i]));
    }
    if (describes && !(given.angle_deg[i] >= -algo::kMaxAngleDegrees &&
                       given.angle_deg[i] <= algo::kMaxAngleDegrees)) {
      return MakeError(ErrorReason::kBadOptions,
                       absl::StrCat("angle of given keypoint ", i,
                                    " must be in [-720, 720] degrees; got ", given.angle_deg[i]));
    }
    if (IsOfLevelZero(spec.pipeline.describe.descriptor)) {
      const float patch_px = pipeline.reach.patch_factor * given.size[i];
      if (!(patch_px >= algo::kLeastPatchPx && patch_px <= algo::kMostPatchPx)) {
        return MakeError(
            ErrorReason::kBadOptions,
            absl::StrCat("size of given keypoint ", i, " times ", pipeline.reach.patch_factor,
                         " must be in [", algo::kLeastPatchPx, ", ", algo::kMostPatchPx,
                         "] pixels; got ", given.size[i]));
      }
    }
    // Compared as floats: a coordinate may be anything, NaN too.
    const float x = std::rint(given.x[i]);
    const float y = std::rint(given.y[i]);
    const bool inside = x >= border && x < static_cast<float>(spec.width_px) - border &&
                        y >= border && y < static_cast<float>(spec.height_px) - border;
    if (!inside || !FitsLevel(pipeline, given, i)) continue;
    if (features->source_index.size() == capacity) {
      features->truncated = true;
      break;
    }
    features->source_index.push_back(static_cast<uint32_t>(i));
  }
  features->Resize(features->source_index.size());
  for (size_t row = 0; row < features->source_index.size(); ++row) {
    const uint32_t i = features->source_index[row];
    features->x[row] = given.x[i];
    features->y[row] = given.y[i];
    features->size[row] = given.size[i];
    features->angle_deg[row] = given.angle_deg[i];
    features->response[row] = given.response[i];
    features->octave[row] = given.octave[i];
  }
  return absl::OkStatus();
}

}  // namespace orbserve
