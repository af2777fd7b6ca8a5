// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_TRACKING_TRACK_KERNEL_H_
#define ORBSERVE_GPU_TRACKING_TRACK_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "features/algo/lucas_kanade.h"
#include "gpu/steps/track_pyramid.h"

namespace orbserve::gpu {

// Everything that the points of a job share.
struct TrackJobParams {
  const uint8_t* from;  // device, both laid out as `levels` says
  const uint8_t* to;
  algo::TrackParameters parameters;
  algo::TrackLevelSize size[algo::kMaxTrackLevels];
  int32_t offset[algo::kMaxTrackLevels];  // of the first pixel of a level
  int32_t pitch_bytes[algo::kMaxTrackLevels];

  static TrackJobParams Of(const algo::TrackParameters& parameters, const TrackPyramid& pyramid,
                           const uint8_t* from, const uint8_t* to);
};

struct TrackPointParams {
  algo::TrackStart start;
  int32_t job;  // of TrackParams::jobs
  // A row of template patches that the point carries, or the place for the row that it is to
  // answer; null = neither. Device or pinned host memory, aligned to words.
  const int16_t* given;
  int16_t* answered;
};

// Answer to one point. It goes to the host in one piece.
struct alignas(16) TrackRecord {
  int32_t status;  // a TrackStatus
  int32_t x;
  int32_t y;
  float gain;
  float offset;
  float residual;
  int32_t pad[2];
};
static_assert(sizeof(TrackRecord) == 32);

struct TrackParams {
  const TrackJobParams* jobs;      // device
  const TrackPointParams* points;  // [count], device
  TrackRecord* records;            // [count], pinned host memory
  int32_t count;
};

// Follows all points, a warp for each (algo::FollowPoint).
absl::Status LaunchTrack(const TrackParams& params, cudaStream_t stream);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_TRACKING_TRACK_KERNEL_H_
