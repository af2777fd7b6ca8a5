// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/frame_batch.h"

#include <algorithm>
#include <cstring>

#include "features/errors.h"
#include "features/given_keypoints.h"

namespace orbserve::gpu {
namespace {

// The given keypoints that can be described, in pixels of their levels.
absl::Status PlaceGiven(const CompiledPipeline& pipeline, const GivenKeypoints& given,
                        FrameWork* work) {
  Features& features = work->result->features;
  ORBSERVE_RETURN_IF_ERROR(PlaceGivenKeypoints(given, pipeline, &features));
  work->given.clear();
  for (size_t row = 0; row < features.count(); ++row) {
    const PlacedKeypoint keypoint = PlacedKeypointAt(pipeline, features, row);
    work->given.push_back({static_cast<uint16_t>(keypoint.x), static_cast<uint16_t>(keypoint.y),
                           keypoint.angle_deg, keypoint.level});
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PrepareFrame(const CompiledPipeline& pipeline, const FrameJob& job, FrameWork* work,
                          FrameParams* params) {
  if (job.cancelled != nullptr && job.cancelled->load(std::memory_order_relaxed)) {
    return MakeError(ErrorReason::kCancelled, "cancelled before it was computed");
  }
  ORBSERVE_RETURN_IF_ERROR(BeginFrame(pipeline, job, &work->result->features));
  *params = {};
  params->mask_offset = -1;
  params->threshold_grey = job.parameters.detection_threshold_grey();
  if (job.parameters.fast_threshold_low_grey > 0) {
    params->strong_threshold_grey = job.parameters.fast_threshold_grey;
  }
  params->quality_level = job.parameters.quality_level;
  if (job.given_keypoints != nullptr) {
    params->mode = FrameMode::kDescribeGiven;
    ORBSERVE_RETURN_IF_ERROR(PlaceGiven(pipeline, *job.given_keypoints, work));
    work->room = FrameRoom::ForGiven(static_cast<int>(work->given.size()));
    return absl::OkStatus();
  }
  params->mode = FrameMode::kDetect;
  const Cuts cuts = pipeline.CutsFor(job.parameters);
  std::copy(cuts.by_score.begin(), cuts.by_score.end(), params->first_cut);
  std::copy(cuts.by_response.begin(), cuts.by_response.end(), params->second_cut);
  params->answer_limit = std::min(cuts.wanted, cuts.capacity);
  params->first_keys = FirstKeys(cuts);
  work->room = FrameRoom::ForDetection(pipeline, job.parameters, cuts);
  return absl::OkStatus();
}

bool IsTruncated(const CompiledPipeline& pipeline, const FrameJob& job, const FrameReport& report) {
  int64_t survivors = 0;
  for (const int32_t of_level : report.survivors) survivors += of_level;
  return pipeline.CutsFor(job.parameters).Truncates(survivors, report.total);
}

void CopyRecords(const CompiledPipeline& pipeline, const FeatureRecord* records,
                 const uint8_t* descriptors, int first, int count, Features* features) {
  const auto begin = static_cast<size_t>(first);
  float* const x = features->x.data() + begin;
  float* const y = features->y.data() + begin;
  float* const size = features->size.data() + begin;
  float* const angle = features->angle_deg.data() + begin;
  float* const response = features->response.data() + begin;
  int32_t* const octave = features->octave.data() + begin;
  for (int i = 0; i < count; ++i) {
    const FeatureRecord& record = records[i];
    const LevelGeometry& level = pipeline.level(record.level);
    x[i] = static_cast<float>(record.x) * level.scale;
    y[i] = static_cast<float>(record.y) * level.scale;
    size[i] = level.patch_size_px;
    angle[i] = record.angle_deg;
    response[i] = record.response;
    octave[i] = record.level;
  }
  const auto bytes = static_cast<size_t>(pipeline.descriptor_bytes);
  if (bytes > 0 && count > 0) {
    std::memcpy(features->descriptors.data() + begin * bytes, descriptors,
                static_cast<size_t>(count) * bytes);
  }
}

}  // namespace orbserve::gpu
