// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: ranked keypoints of each (frame, level), or keypoints given by the caller, and the integral
// images of the levels. Out: per frame [total] records and [total][32] descriptors, in order, and a
// report, all in pinned host memory. Angles: gpu/steps/describe/orientation.cuh. BFROST-256:
// features/algo/bfrost.h; J. Cronje, "BFROST: binary features from robust orientation segment tests
// accelerated on the GPU", 2011, sec. III-B.
//
// One warp per keypoint. Lane i sums squares i and i + 32, which lie opposite each other: 16 loads
// that wait for nothing, from 90 rows of the integral image. The 64 sums meet in shared memory, and
// each lane makes one byte of the descriptor and stores it at the place that the angle gives it.
// Shared memory: 1 KiB per block of four warps; registers bound the occupancy.

#include "gpu/steps/describe/bfrost256.h"

#include "features/algo/bfrost.h"
#include "features/host_device.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/describe/feature_records.cuh"
#include "gpu/steps/describe/integral_reader.cuh"
#include "gpu/steps/describe/orientation.cuh"
#include "gpu/steps/global_pointer.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kWarpsPerBlock = 4;  // independent of each other

__global__ __launch_bounds__(kWarpsPerBlock* kWarpLanes) void BFrostKernel(
    const __grid_constant__ BFrostParams params) {
  __shared__ uint32_t sums[kWarpsPerBlock][algo::kBFrostSamples];
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
  // Half a turn on, the sample lies on the other side.
  const algo::BFrostSample sample = algo::BFrostSampleOf(lane);
  uint32_t* const mine = sums[warp];
  const int step = static_cast<int>(gridDim.x) * kWarpsPerBlock;
  for (int i = static_cast<int>(blockIdx.x) * kWarpsPerBlock + warp; i < count; i += step) {
    Point point = PointOf(frame, given, list, ranked, frame.first_record + i);
    const IntegralReader integral(params.integrals, frame_index, point.level);
    mine[lane] = integral.Square(point.x + sample.x, point.y + sample.y, sample.half_side);
    mine[lane + kWarpLanes] =
        integral.Square(point.x - sample.x, point.y - sample.y, sample.half_side);
    if (!given && params.orientation != Orientation::kNone) {
      const uint8_t* image = params.images.Image(frame, frame_index, point.level);
      const int pitch = params.images.level[point.level].pitch_bytes;
      point.angle_deg = params.orientation == Orientation::kArcMiddle
                            ? ArcMiddleAngle(image, pitch, point.x, point.y, params.arc_length)
                            : CentroidAngle(image, pitch, point.x, point.y);
    }
    if (lane == 0) WriteRecord(frame, i, point);
    __syncwarp();  // all sums are there
    const int direction = algo::BFrostDirectionOf(point.angle_deg);
    WriteDescriptorByte<algo::kBFrostBytes>(frame, i, algo::BFrostTurnedByte(lane, direction),
                                            algo::BFrostByte(mine, lane));
    __syncwarp();  // all lanes have read before the next sums come
  }
}

}  // namespace

absl::Status LaunchBFrost256(const BFrostParams& params, cudaStream_t stream) {
  const int frames = params.frames.count;
  if (frames == 0) return absl::OkStatus();
  // A single frame gets a warp per keypoint for 16 keypoints a multiprocessor; loops take the rest.
  // Frames of a large batch get at least half a block per multiprocessor.
  const int blocks = Max(4 * params.multiprocessors / frames, DivUp(params.multiprocessors, 2));
  const dim3 grid(blocks, frames);
  BFrostKernel<<<grid, kWarpsPerBlock * kWarpLanes, 0, stream>>>(params);
  return CheckLaunch("BFrostKernel");
}

StageSet BFrost256Step::stages() const {
  if (orientation_ == Orientation::kNone) return Stage::kDescribe;
  return {Stage::kOrient, Stage::kDescribe};
}

absl::Status BFrost256Step::Enqueue(const StepContext& context, cudaStream_t stream) const {
  return LaunchBFrost256({context.frames, images_.At(context), integrals_.At(context), levels_,
                          context.tables->multiprocessors, orientation_, arc_length_},
                         stream);
}

}  // namespace orbserve::gpu
