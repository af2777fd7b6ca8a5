// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/frame_batch.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "features/algo/quota.h"
#include "features/errors.h"
#include "features/given_keypoints.h"
#include "features/host_device.h"

namespace orbserve::gpu {
namespace {

// The given keypoints that can be described, in pixels of their levels.
absl::Status PlaceGiven(const GpuPlan& plan, const GivenKeypoints& given, FrameWork* work) {
  Features& features = work->result->features;
  ORBSERVE_RETURN_IF_ERROR(
      PlaceGivenKeypoints(given, plan.spec(), static_cast<int>(plan.levels().size()), &features));
  work->given.clear();
  for (size_t row = 0; row < features.count(); ++row) {
    const int32_t octave = features.octave[row];
    const LevelGeometry& level = plan.levels()[static_cast<size_t>(octave)];
    work->given.push_back({static_cast<uint16_t>(RoundToInt(features.x[row] * level.inverse_scale)),
                           static_cast<uint16_t>(RoundToInt(features.y[row] * level.inverse_scale)),
                           features.angle_deg[row], octave});
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PrepareFrame(const GpuPlan& plan, const FrameJob& job, FrameWork* work,
                          FrameParams* params) {
  if (job.cancelled != nullptr && job.cancelled->load(std::memory_order_relaxed)) {
    return MakeError(ErrorReason::kCancelled, "cancelled before it was computed");
  }
  if (job.input == nullptr) return MakeError(ErrorReason::kInternal, "a frame without an input");
  ORBSERVE_RETURN_IF_ERROR(job.parameters.Validate());
  const PlanSpec& spec = plan.spec();
  const ImageView image = job.input->image;
  if (image.width_px != spec.width_px || image.height_px != spec.height_px) {
    return MakeError(ErrorReason::kInternal,
                     absl::StrCat("a frame of ", image.width_px, " x ", image.height_px,
                                  " in a batch of ", spec.width_px, " x ", spec.height_px));
  }
  Features& features = work->result->features;
  features.descriptor_bytes = plan.descriptor_bytes();
  features.image_width_px = spec.width_px;
  features.image_height_px = spec.height_px;
  features.truncated = false;
  features.source_index.clear();

  *params = {};
  params->mask_offset = -1;
  params->threshold_grey = job.parameters.fast_threshold_grey;
  if (job.given_keypoints != nullptr) {
    params->mode = FrameMode::kDescribeGiven;
    return PlaceGiven(plan, *job.given_keypoints, work);
  }
  params->mode = FrameMode::kDetect;
  if (plan.selects_by_level()) {
    int32_t quotas[kMaxLevels] = {};
    algo::LevelQuotas(job.parameters.max_features, spec.pipeline.pyramid.scale_factor,
                      spec.pipeline.pyramid.levels, quotas);
    for (int l = 0; l < kMaxLevels; ++l) {
      params->first_cut[l] = plan.harris() ? 2 * quotas[l] : quotas[l];
      params->second_cut[l] = quotas[l];
    }
  } else {
    // One cut by response over all levels, none before it.
    for (int l = 0; l < kMaxLevels; ++l) {
      params->first_cut[l] = std::numeric_limits<int32_t>::max();
      params->second_cut[l] = job.parameters.max_features;
    }
  }
  return absl::OkStatus();
}

void CopyRecords(const GpuPlan& plan, const FeatureRecord* records, const uint8_t* descriptors,
                 int first, int count, Features* features) {
  const auto begin = static_cast<size_t>(first);
  float* const x = features->x.data() + begin;
  float* const y = features->y.data() + begin;
  float* const size = features->size.data() + begin;
  float* const angle = features->angle_deg.data() + begin;
  float* const response = features->response.data() + begin;
  int32_t* const octave = features->octave.data() + begin;
  for (int i = 0; i < count; ++i) {
    const FeatureRecord& record = records[i];
    const LevelGeometry& level = plan.levels()[static_cast<size_t>(record.level)];
    x[i] = static_cast<float>(record.x) * level.scale;
    y[i] = static_cast<float>(record.y) * level.scale;
    size[i] = level.patch_size_px;
    angle[i] = record.angle_deg;
    response[i] = record.response;
    octave[i] = record.level;
  }
  const auto bytes = static_cast<size_t>(plan.descriptor_bytes());
  if (bytes > 0 && count > 0) {
    std::memcpy(features->descriptors.data() + begin * bytes, descriptors,
                static_cast<size_t>(count) * bytes);
  }
}

}  // namespace orbserve::gpu
