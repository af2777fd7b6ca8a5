// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: extrema between pixels. Out: [frame] a list of features, one per peak of the histogram of
// directions around an extremum, in any order. D. Lowe, "Distinctive Image Features from
// Scale-Invariant Keypoints", IJCV 2004, sec. 5; the arithmetic is that of
// features/algo/sift_orientation.h.
//
// A warp takes an extremum. Each lane computes a sample, while the pixels of the next 32 are on
// their way; then all lanes go through the samples in order, and a lane adds those of its direction
// to a register: each bin gets its floats in the order of the reference, and no addition waits for
// memory. Four lanes have a second direction, whose samples are looked for. 2 KiB of shared memory.

#include "gpu/steps/sift/directions.h"

#include <cstdint>

#include "features/algo/sift_extremum.h"
#include "features/algo/sift_orientation.h"
#include "features/host_device.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/overlap.cuh"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/sift/sift_exp_table.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kWarpsPerBlock = 4;
constexpr int kThreads = kWarpsPerBlock * kWarpLanes;
static_assert(algo::kSiftDirections <= 2 * kWarpLanes);

// A sample's direction and weighted magnitude.
struct DirectionShare {
  int32_t direction;
  float product;
};

struct WarpMemory {
  alignas(16) DirectionShare share[kWarpLanes];
  float histogram[algo::kSiftDirections];
  float smoothed[algo::kSiftDirections];
};

// The histogram's entries `lane` and `lane` + 32 in two registers.
struct LaneBins {
  float low = 0.0f;
  float high = 0.0f;
};

// A sample's place, and its four neighbours.
struct DirectionSample {
  int u = 0;
  int v = 0;
  float right = 0.0f;
  float left = 0.0f;
  float above = 0.0f;
  float below = 0.0f;
};

__device__ __forceinline__ LaneBins AddDirections(const float* image, int pitch,
                                                  const algo::SiftOrientationWindow& window,
                                                  const SiftExpTable& table, WarpMemory* memory,
                                                  int lane) {
  LaneBins bins;
  const int count = window.count();
  const int grouped = algo::SiftGrouped(count);
  const bool long_form = count >= algo::kSiftLongAngles;
  const int width = window.x1 - window.x0;
  int u = window.x0 + lane % width;
  int v = window.y0 + lane / width;
  const int step_v = kWarpLanes / width;
  const int step_u = kWarpLanes % width;
  // Loads this lane's next sample.
  const auto load = [&](bool counts) {
    DirectionSample sample = {u, v};
    if (counts) {
      const float* const at = image + static_cast<int64_t>(v) * pitch + u;
      sample.right = __ldg(at + 1);
      sample.left = __ldg(at - 1);
      sample.above = __ldg(at - pitch);
      sample.below = __ldg(at + pitch);
    }
    u += step_u;
    v += step_v;
    if (u >= window.x1) {
      u -= width;
      ++v;
    }
    return sample;
  };
  DirectionSample next = load(lane < count);
  for (int begin = 0; begin < count; begin += kWarpLanes) {
    const DirectionSample sample = next;
    next = load(begin + kWarpLanes + lane < count);
    float weight = 0.0f;
    float magnitude = 0.0f;
    int direction = -1;
    if (begin + lane < count) {
      const int from_x = sample.u - window.x;
      const int from_y = sample.v - window.y;
      const int square = from_x * from_x + from_y * from_y;
      weight = algo::SiftExpBy(static_cast<float>(square) * window.falloff, table);
      const float dx = sample.right - sample.left;
      const float dy = sample.above - sample.below;
      magnitude = algo::SiftMagnitude(dx, dy);
      direction = algo::SiftDirection(algo::SiftAngleDegrees(dy, dx, long_form));
    }
    // Samples after the last complete group are added below.
    const bool in_group = begin + lane < grouped;
    memory->share[lane] = {in_group ? direction : -1, weight * magnitude};
    unsigned high = __ballot_sync(kFullWarp, in_group && direction >= kWarpLanes);
    __syncwarp();  // the shares are there
    const int4* const pairs = reinterpret_cast<const int4*>(memory->share);
#pragma unroll
    for (int i = 0; i < kWarpLanes / 2; ++i) {
      const int4 pair = pairs[i];
      if (pair.x == lane) bins.low += __int_as_float(pair.y);
      if (pair.z == lane) bins.low += __int_as_float(pair.w);
    }
    for (; high != 0; high &= high - 1) {
      const DirectionShare share = memory->share[__ffs(static_cast<int>(high)) - 1];
      if (share.direction == lane + kWarpLanes) bins.high += share.product;
    }
    __syncwarp();  // they were read
    for (int i = Max(grouped - begin, 0); i < Min(count - begin, kWarpLanes); ++i) {
      const int tail_direction = __shfl_sync(kFullWarp, direction, i);
      const float tail_weight = __shfl_sync(kFullWarp, weight, i);
      const float tail_magnitude = __shfl_sync(kFullWarp, magnitude, i);
      if (tail_direction == lane) {
        bins.low = FusedMultiplyAdd(tail_weight, tail_magnitude, bins.low);
      }
      if (tail_direction == lane + kWarpLanes) {
        bins.high = FusedMultiplyAdd(tail_weight, tail_magnitude, bins.high);
      }
    }
  }
  return bins;
}

__global__ __launch_bounds__(kThreads) void SiftDirectionsKernel(
    const __grid_constant__ SiftDirectionsParams params) {
  BeginNextKernel();
  AwaitKernelBefore();
  __shared__ SiftExpTable table;
  __shared__ WarpMemory memories[kWarpsPerBlock];
  const int frame = params.frames.first + static_cast<int>(blockIdx.y);
  if (params.frames.params[frame].mode == FrameMode::kIdle) return;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  WarpMemory& memory = memories[warp];
  table.Fill();
  __syncthreads();  // the table is there
  const SiftLists lists = SiftListsOf(params.frames.params[frame]);
  const SiftCounts counts = SiftCountsOf(params.frames.counters[frame]);
  const int count = Min(counts.points, lists.capacity);
  const int step = static_cast<int>(gridDim.x) * kWarpsPerBlock;
  for (int i = static_cast<int>(blockIdx.x) * kWarpsPerBlock + warp; i < count; i += step) {
    const SiftPoint point = lists.points[i];
    algo::SiftExtremum extremum;
    extremum.x = point.x;
    extremum.y = point.y;
    extremum.layer = point.layer;
    extremum.offset_x = point.offset_x;
    extremum.offset_y = point.offset_y;
    extremum.offset_layer = point.offset_layer;
    extremum.response = point.response;
    const SiftOctaveShape& shape = params.space.octave[point.octave];
    const float scale = algo::SiftScaleBy(extremum, params.layers, params.sigma, SiftPowerTable());
    const algo::SiftOrientationWindow window = algo::SiftOrientationWindowOf(
        extremum.x, extremum.y, scale, shape.width_px, shape.height_px);
    const LaneBins bins = AddDirections(params.space.Image(frame, point.octave, point.layer),
                                        shape.pitch, window, table, &memory, lane);
    memory.histogram[lane] = bins.low;
    if (lane + kWarpLanes < algo::kSiftDirections) memory.histogram[lane + kWarpLanes] = bins.high;
    __syncwarp();
    float most = 0.0f;
    for (int bin = lane; bin < algo::kSiftDirections; bin += kWarpLanes) {
      const float smoothed = algo::SmoothedSiftDirection(memory.histogram, bin);
      memory.smoothed[bin] = smoothed;
      most = Max(most, smoothed);
    }
    most = JoinOfWarp(most, [](float a, float b) { return Max(a, b); });
    __syncwarp();
    const float pixel = PowerOfTwo(point.octave + params.first_octave);
    for (int bin = lane; bin < algo::kSiftDirections; bin += kWarpLanes) {
      const float angle = algo::SiftPeakAngle(memory.smoothed, bin, most * algo::kSiftPeakShare);
      if (angle < 0.0f) continue;
      algo::SiftFeature feature;
      feature.x = (static_cast<float>(extremum.x) + extremum.offset_x) * pixel;
      feature.y = (static_cast<float>(extremum.y) + extremum.offset_y) * pixel;
      feature.size = scale * pixel * 2.0f;
      feature.angle_deg = angle;
      feature.response = extremum.response;
      feature.octave = algo::PackSiftOctave(point.octave, extremum);
      const int place = atomicAdd(&counts.features, 1);
      if (place < lists.capacity) lists.features[place] = feature;
    }
    __syncwarp();
  }
}

}  // namespace

absl::Status LaunchSiftDirections(const SiftDirectionsParams& params, cudaStream_t stream) {
  if (params.frames.count == 0) return absl::OkStatus();
  // Enough warps to fill the device; loops take the rest.
  constexpr int kBlocksPerMultiprocessor = 12;
  const int blocks = DivUp(kBlocksPerMultiprocessor * params.multiprocessors, params.frames.count);
  return LaunchKernel(SiftDirectionsKernel, "SiftDirectionsKernel",
                      dim3(blocks, params.frames.count), kThreads, params.follows, params, stream);
}

absl::Status SiftDirectionsStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  const SiftOptions& options = buffers_.geometry().options;
  return LaunchSiftDirections(
      {context.frames, context.tables->multiprocessors, buffers_.ScaleSpace(context),
       options.octave_layers, options.first_octave, static_cast<float>(options.sigma),
       context.follows},
      stream);
}

absl::Status SiftDirectionsStep::FinishLarge(const StepContext& context, LargeFrame* frame) const {
  return Enqueue(context, frame->stream);
}

}  // namespace orbserve::gpu
