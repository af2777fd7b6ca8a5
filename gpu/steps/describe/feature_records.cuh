// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The end of a pipeline, which all kernels that describe share: which features a frame has, where
// each of them lies, its record, and the frame's report.

#ifndef ORBSERVE_GPU_STEPS_DESCRIBE_FEATURE_RECORDS_CUH_
#define ORBSERVE_GPU_STEPS_DESCRIBE_FEATURE_RECORDS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "features/algo/order.h"
#include "features/host_device.h"
#include "gpu/frame/frame_params.h"
#include "gpu/runtime/warp.cuh"

namespace orbserve::gpu {

// A keypoint while it is described.
struct Point {
  int x;
  int y;
  int level;
  float angle_deg;
  float response;
};

// Features of a frame: lane l knows level l.
struct FrameList {
  int kept;   // of the lane's level
  int begin;  // first feature of the lane's level in the frame
  int list;   // where the level's ranked list begins in FrameParams::ranked
  int total;
  unsigned unranked;  // levels with a list that found no room

  // Features that this launch describes, from FrameParams::first_record on.
  __device__ int CountFor(const FrameParams& frame) const {
    return unranked != 0 ? 0 : Clamp(total - frame.first_record, 0, frame.record_capacity);
  }
};

// The features of a detection. `kept`: keypoints of the lane's level, whose ranked list begins at
// `ranked_begin`. `overflowed`: a list of this level found no room.
__device__ __forceinline__ FrameList ListOfKept(int kept, int ranked_begin, bool overflowed) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  int end = kept;
#pragma unroll
  for (int distance = 1; distance < kMaxLevels; distance *= 2) {
    const int other = __shfl_up_sync(kFullWarp, end, distance);
    if (lane >= distance) end += other;
  }
  return {kept, end - kept, ranked_begin, __shfl_sync(kFullWarp, end, kMaxLevels - 1),
          __ballot_sync(kFullWarp, overflowed)};
}

__device__ __forceinline__ FrameList FindFeatures(int levels, const FrameParams& frame,
                                                  const FrameCounters& counters) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  int kept = 0;
  int ranked_begin = 0;
  bool overflowed = false;
  if (frame.mode == FrameMode::kDetect && lane < levels) {
    kept = counters.kept[lane];
    const ListRoom ranked = frame.ranked_room[lane];
    ranked_begin = ranked.begin;
    overflowed = counters.survivors[lane] > frame.survivor_room[lane].count || kept > ranked.count;
  }
  FrameList list = ListOfKept(kept, ranked_begin, overflowed);
  if (frame.mode == FrameMode::kDescribeGiven) list.total = frame.given_count;
  return list;
}

// One warp writes the report of a frame of which `count` records are written.
__device__ __forceinline__ void WriteReport(int levels, const FrameParams& frame,
                                            const FrameCounters& counters, const FrameList& list,
                                            int count) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  if (lane < kMaxLevels) {
    frame.report->kept[lane] = list.kept;
    frame.report->survivors[lane] = lane < levels ? counters.survivors[lane] : 0;
  }
  int passes = lane < levels ? counters.suppression_passes[lane] : 0;
#pragma unroll
  for (int distance = kMaxLevels / 2; distance > 0; distance /= 2) {
    passes = Max(passes, __shfl_xor_sync(kFullWarp, passes, distance));
  }
  if (lane == 0) {
    frame.report->suppression_passes = passes;
    frame.report->total = list.total;
    frame.report->written = count;
    frame.report->unranked = static_cast<int32_t>(list.unranked);
  }
}

// Feature number `feature` of the frame, which was `given` or detected. A detected one has no angle
// yet: -1.
__device__ __forceinline__ Point PointOf(const FrameParams& frame, bool given,
                                         const FrameList& list, const uint64_t* __restrict__ ranked,
                                         int feature) {
  if (given) {
    const GivenEntry entry = frame.given[feature];
    return {entry.x, entry.y, entry.level, entry.angle_deg, 0.0f};
  }
  // The level is the last that begins at or before this one and has features.
  const unsigned begun = __ballot_sync(kFullWarp, list.kept > 0 && list.begin <= feature);
  const int l = 31 - __clz(static_cast<int>(begun));
  const int rank = feature - __shfl_sync(kFullWarp, list.begin, l);
  const uint64_t key = ranked[__shfl_sync(kFullWarp, list.list, l) + rank];
  return {algo::RankKeyX(key), algo::RankKeyY(key), l, -1.0f, algo::RankKeyResponse(key)};
}

// Features number `feature` of a detection, one a lane, without angles: -1. All lanes of the warp
// take part.
__device__ __forceinline__ Point PointOfLane(int levels, const FrameList& list,
                                             const uint64_t* __restrict__ ranked, int feature) {
  int level = 0;
  int place = 0;
  for (int l = 0; l < levels; ++l) {
    const int rank = feature - __shfl_sync(kFullWarp, list.begin, l);
    const int kept = __shfl_sync(kFullWarp, list.kept, l);
    const int begin = __shfl_sync(kFullWarp, list.list, l);
    if (rank >= 0 && rank < kept) {
      level = l;
      place = begin + rank;
    }
  }
  const uint64_t key = ranked[place];
  return {algo::RankKeyX(key), algo::RankKeyY(key), level, -1.0f, algo::RankKeyResponse(key)};
}

// Writes record number `place`. One 16-byte store across the bus, by one lane.
__device__ __forceinline__ void WriteRecord(const FrameParams& frame, int place,
                                            const Point& point) {
  const FeatureRecord record = {static_cast<uint16_t>(point.x), static_cast<uint16_t>(point.y),
                                point.angle_deg, point.response, point.level};
  *reinterpret_cast<uint4*>(frame.records + place) = *reinterpret_cast<const uint4*>(&record);
}

// Writes byte `byte` of descriptor number `place`, to the answer and, where it has room, to the
// frame's state. Descriptors have kBytes bytes.
template <int kBytes>
__device__ __forceinline__ void WriteDescriptorByte(const FrameParams& frame, int place, int byte,
                                                    uint32_t value) {
  const int64_t at = static_cast<int64_t>(place) * kBytes + byte;
  frame.descriptors[at] = static_cast<uint8_t>(value);
  if (place < frame.state_capacity) frame.state_descriptors[at] = static_cast<uint8_t>(value);
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DESCRIBE_FEATURE_RECORDS_CUH_
