// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/frame_batch.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "features/errors.h"
#include "features/given_keypoints.h"
#include "features/pipeline/detection.h"
#include "features/pipeline/sift_rows.h"

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
                           keypoint.angle_deg, keypoint.level, features.x[row], features.y[row],
                           pipeline.reach.patch_factor * features.size[row]});
  }
  return absl::OkStatus();
}

// Columns of records of one level. Both places are read as one number, so that compilers find four
// numbers a record and use vectors.
void SplitRecords(const FeatureRecord* __restrict records, int count, float scale,
                  float* __restrict x, float* __restrict y, float* __restrict angle_deg,
                  float* __restrict response) {
  static_assert(std::endian::native == std::endian::little);
  static_assert(offsetof(FeatureRecord, x) == 0 && offsetof(FeatureRecord, y) == 2);
  for (int i = 0; i < count; ++i) {
    uint32_t place = 0;
    std::memcpy(&place, &records[i], sizeof(place));
    x[i] = static_cast<float>(static_cast<int32_t>(place & 0xffff)) * scale;
    y[i] = static_cast<float>(static_cast<int32_t>(place >> 16)) * scale;
    angle_deg[i] = records[i].angle_deg;
    response[i] = records[i].response;
  }
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
  const Cuts cuts = pipeline.CutsFor(job.parameters);
  if (HasScaleSpace(pipeline.spec.pipeline)) {
    return (cuts.wanted > cuts.capacity ? survivors : report.total) > cuts.capacity;
  }
  return cuts.Truncates(survivors, report.total);
}

bool MovesLapping(const CompiledPipeline& pipeline, const FrameJob& job) {
  return HasZones(pipeline.spec.pipeline) && job.parameters.has_lapping_area();
}

void CopyLappingRecords(const CompiledPipeline& pipeline, const FeatureRecord* records,
                        const uint8_t* descriptors, int count, LappingRows* rows,
                        Features* features) {
  const auto bytes = static_cast<size_t>(pipeline.descriptor_bytes);
  for (int i = 0; i < count; ++i) {
    const FeatureRecord record = records[i];
    const LevelGeometry& level = pipeline.level(record.level);
    const float x = static_cast<float>(record.x) * level.scale;
    const size_t row = rows->Next(x);
    features->x[row] = x;
    features->y[row] = static_cast<float>(record.y) * level.scale;
    features->angle_deg[row] = record.angle_deg;
    features->response[row] = record.response;
    features->size[row] = level.patch_size_px;
    features->octave[row] = record.level;
    std::memcpy(features->descriptors.data() + row * bytes,
                descriptors + static_cast<size_t>(i) * bytes, bytes);
  }
}

void CopyRecords(const CompiledPipeline& pipeline, const FeatureRecord* records,
                 const uint8_t* descriptors, int first, int count, Features* features) {
  const auto begin = static_cast<size_t>(first);
  const bool is_sift = HasScaleSpace(pipeline.spec.pipeline);
  if (is_sift) {
    SetSiftRows(reinterpret_cast<const algo::SiftFeature*>(records), static_cast<size_t>(count),
                pipeline.spec.pipeline.sift.first_octave, begin, features);
  }
  for (int run = 0; run < count && !is_sift;) {
    const int32_t octave = records[run].level;
    const int end = static_cast<int>(
        std::upper_bound(records + run, records + count, octave,
                         [](int32_t l, const FeatureRecord& record) { return l < record.level; }) -
        records);
    const LevelGeometry& level = pipeline.level(octave);
    const size_t row = begin + static_cast<size_t>(run);
    const auto rows = static_cast<ptrdiff_t>(end - run);
    SplitRecords(records + run, end - run, level.scale, features->x.data() + row,
                 features->y.data() + row, features->angle_deg.data() + row,
                 features->response.data() + row);
    std::fill_n(features->size.begin() + static_cast<ptrdiff_t>(row), rows, level.patch_size_px);
    std::fill_n(features->octave.begin() + static_cast<ptrdiff_t>(row), rows, octave);
    run = end;
  }
  const auto bytes = static_cast<size_t>(pipeline.descriptor_bytes);
  if (bytes > 0 && count > 0) {
    std::memcpy(features->descriptors.data() + begin * bytes, descriptors,
                static_cast<size_t>(count) * bytes);
  }
}

}  // namespace orbserve::gpu
