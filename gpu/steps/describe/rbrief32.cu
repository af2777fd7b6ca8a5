// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: ranked keypoints of each (frame, level), or keypoints given by the caller. Out: per frame
// [total] records and [total][4] descriptors, in order, and a report, all in pinned host memory.
// Angles: gpu/steps/describe/orientation.cuh. rBRIEF-32: features/algo/rbrief32.h; M. Chang, F. Lee
// & M. Truong, "How to write fast code: ORB algorithm final report", 2019, sec. 2.2.
//
// One warp per keypoint, one lane per test: the lane turns its pair of points, which stays in a
// register for all keypoints, reads two pixels of the level, and a ballot makes the descriptor. The
// 100 pixels of the patch come from 10 rows, whose lines the tests find in the first cache. No
// shared memory; 56 registers leave room for 36 warps a multiprocessor.

#include "gpu/steps/describe/rbrief32.h"

#include "features/algo/rbrief.h"
#include "features/algo/rbrief32.h"
#include "features/algo/sincos.h"
#include "features/host_device.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/describe/feature_records.cuh"
#include "gpu/steps/describe/orientation.cuh"
#include "gpu/steps/global_pointer.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kWarpsPerBlock = 4;  // independent of each other
static_assert(algo::kRBrief32Pairs == kWarpLanes);

// The 32 bits of the descriptor; every lane returns them.
__device__ __forceinline__ uint32_t DescriptorBits(const uint8_t* __restrict__ centre, int pitch,
                                                   float angle_deg, const algo::RBriefPair& pair) {
  const algo::SinCos turn = algo::SinCosOf(algo::RadiansOfDegrees(angle_deg));
  const algo::RBriefOffset a = algo::TurnPoint(pair.x1, pair.y1, turn);
  const algo::RBriefOffset b = algo::TurnPoint(pair.x2, pair.y2, turn);
  return __ballot_sync(kFullWarp, centre[a.y * pitch + a.x] < centre[b.y * pitch + b.x]);
}

__global__ __launch_bounds__(kWarpsPerBlock* kWarpLanes) void RBrief32Kernel(
    const __grid_constant__ RBrief32Params params) {
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode == FrameMode::kIdle) return;
  const FrameCounters& counters = params.frames.counters[frame_index];
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const FrameList list = FindFeatures(params.levels, frame, counters);
  const uint64_t* const __restrict__ ranked = Global(frame.ranked);
  const int count = list.CountFor(frame);
  if (blockIdx.x == 0 && warp == 0) WriteReport(params.levels, frame, counters, list, count);

  const bool given = frame.mode == FrameMode::kDescribeGiven;
  const algo::RBriefPair pair = params.pattern[lane];
  const int step = static_cast<int>(gridDim.x) * kWarpsPerBlock;
  for (int i = static_cast<int>(blockIdx.x) * kWarpsPerBlock + warp; i < count; i += step) {
    Point point = PointOf(frame, given, list, ranked, frame.first_record + i);
    const uint8_t* image = params.images.Image(frame, frame_index, point.level);
    const int pitch = params.images.level[point.level].pitch_bytes;
    if (!given) {
      point.angle_deg = params.orientation == Orientation::kArcMiddle
                            ? ArcMiddleAngle(image, pitch, point.x, point.y, params.arc_length)
                            : PatchCentroidAngle(image, pitch, point.x, point.y);
    }
    if (lane == 0) WriteRecord(frame, i, point);
    const uint8_t* centre = image + static_cast<int64_t>(point.y) * pitch + point.x;
    const uint32_t bits = DescriptorBits(centre, pitch, point.angle_deg, pair);
    if (lane < algo::kRBrief32Bytes) {
      WriteDescriptorByte<algo::kRBrief32Bytes>(frame, i, lane, algo::RBrief32Byte(bits, lane));
    }
  }
}

}  // namespace

absl::Status LaunchRBrief32(const RBrief32Params& params, cudaStream_t stream) {
  const int frames = params.frames.count;
  if (frames == 0) return absl::OkStatus();
  // A single frame gets a warp per keypoint for 16 keypoints a multiprocessor; loops take the rest.
  // Frames of a large batch get the blocks that hold the 128 keypoints of the preset.
  constexpr int kBlocksOfPreset = 128 / kWarpsPerBlock;
  const int blocks = Max(4 * params.multiprocessors / frames, kBlocksOfPreset);
  const dim3 grid(blocks, frames);
  RBrief32Kernel<<<grid, kWarpsPerBlock * kWarpLanes, 0, stream>>>(params);
  return CheckLaunch("RBrief32Kernel");
}

absl::Status RBrief32Step::Enqueue(const StepContext& context, cudaStream_t stream) const {
  return LaunchRBrief32({context.frames, images_.At(context), context.tables->pattern_32, levels_,
                         context.tables->multiprocessors, orientation_, arc_length_},
                        stream);
}

}  // namespace orbserve::gpu
