// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: ranked keypoints of each (frame, level), or keypoints given by the caller, and the integral
// image of level 0. Out: per frame [total] records and [total][32 or 64] descriptors, in order, and
// a report, all in pinned host memory. Angles: gpu/steps/describe/orientation.cuh. TEBLID, BEBLID:
// features/algo/teblid.h.
//
// One warp per keypoint. Its lanes take 32 tests at a time; a ballot makes a word of the descriptor
// of their bits, which one lane keeps, so that the descriptor goes out in one store of the warp.

#include "gpu/steps/describe/teblid.h"

#include "features/algo/teblid.h"
#include "features/host_device.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/describe/feature_records.cuh"
#include "gpu/steps/describe/integral_reader.cuh"
#include "gpu/steps/describe/orientation.cuh"
#include "gpu/steps/global_pointer.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kTeblidWarps = 4;  // of a block, independent of each other

template <int kCount>
struct BoxTestTable {
  algo::BoxTest test[kCount];
};

template <int kCount>
constexpr BoxTestTable<kCount> TableOf(const algo::BoxTest (&tests)[kCount]) {
  BoxTestTable<kCount> table = {};
  for (int i = 0; i < kCount; ++i) table.test[i] = tests[i];
  return table;
}

__device__ constexpr BoxTestTable<256> kDeviceTeblid256 = TableOf(algo::kTeblid256Tests);
__device__ constexpr BoxTestTable<512> kDeviceTeblid512 = TableOf(algo::kTeblid512Tests);
__device__ constexpr BoxTestTable<256> kDeviceBeblid256 = TableOf(algo::kBeblid256Tests);
__device__ constexpr BoxTestTable<512> kDeviceBeblid512 = TableOf(algo::kBeblid512Tests);

template <Descriptor kDescriptor>
__device__ __forceinline__ const algo::BoxTest* DeviceTests() {
  if constexpr (kDescriptor == Descriptor::kTeblid256) return kDeviceTeblid256.test;
  if constexpr (kDescriptor == Descriptor::kTeblid512) return kDeviceTeblid512.test;
  if constexpr (kDescriptor == Descriptor::kBeblid256) return kDeviceBeblid256.test;
  return kDeviceBeblid512.test;
}

// The words of a descriptor, one a lane: test i is bit 7 - i % 8 of byte i / 8.
template <Descriptor kDescriptor, int kWords>
__device__ __forceinline__ uint32_t DescribeWord(const IntegralReader& integral, int width_px,
                                                 int height_px, const algo::PatchPlace& place) {
  constexpr algo::BoxThresholds kThresholds =
      kDescriptor == Descriptor::kTeblid256 || kDescriptor == Descriptor::kTeblid512
          ? algo::BoxThresholds::kTeblid
          : algo::BoxThresholds::kBeblid;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const algo::BoxTest* const tests = DeviceTests<kDescriptor>();
  uint32_t mine = 0;
#pragma unroll 2
  for (int word = 0; word < kWords; ++word) {
    const bool bit = algo::BoxTestBit(integral, width_px, height_px, place,
                                      tests[word * kWarpLanes + lane], kThresholds);
    const uint32_t bits = __ballot_sync(kFullWarp, bit);
    if (lane == word) mine = __byte_perm(__brev(bits), 0, 0x0123);
  }
  return mine;
}

template <Descriptor kDescriptor, int kWords>
__global__ __launch_bounds__(kTeblidWarps* kWarpLanes) void TeblidKernel(
    const __grid_constant__ TeblidParams params) {
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
  const IntegralReader integral(params.integrals, frame_index, 0);
  const int width_px = params.images.level[0].width_px;
  const int height_px = params.images.level[0].height_px;
  const int step = static_cast<int>(gridDim.x) * kTeblidWarps;
  for (int i = static_cast<int>(blockIdx.x) * kTeblidWarps + warp; i < count; i += step) {
    const int feature = frame.first_record + i;
    Point point = PointOf(frame, given, list, ranked, feature);
    if (!given && params.orientation != Orientation::kNone) {
      const uint8_t* image = params.images.Image(frame, frame_index, point.level);
      const int pitch = params.images.level[point.level].pitch_bytes;
      point.angle_deg = params.orientation == Orientation::kArcMiddle
                            ? ArcMiddleAngle(image, pitch, point.x, point.y, params.arc_length)
                            : CentroidAngle(image, pitch, point.x, point.y);
    }
    float x = static_cast<float>(point.x) * params.scale[point.level];
    float y = static_cast<float>(point.y) * params.scale[point.level];
    float patch_px = params.patch_px[point.level];
    if (given) {
      const GivenEntry& entry = frame.given[feature];
      x = entry.zero_x;
      y = entry.zero_y;
      patch_px = entry.patch_px;
    }
    if (lane == 0) WriteRecord(frame, i, point);
    const algo::PatchPlace place =
        algo::PlacePatch(x, y, patch_px, point.angle_deg, width_px, height_px);
    const uint32_t word = DescribeWord<kDescriptor, kWords>(integral, width_px, height_px, place);
    if (lane < kWords) {
      const int64_t at = static_cast<int64_t>(i) * kWords + lane;
      reinterpret_cast<uint32_t*>(frame.descriptors)[at] = word;
      if (i < frame.state_capacity) reinterpret_cast<uint32_t*>(frame.state_descriptors)[at] = word;
    }
  }
}

template <Descriptor kDescriptor, int kWords>
absl::Status LaunchTeblid(const TeblidParams& params, cudaStream_t stream) {
  const int frames = params.frames.count;
  // The launch has as many warps as that of LaunchBFrost256().
  const int blocks = Max(4 * params.multiprocessors / frames, DivUp(params.multiprocessors, 2));
  const dim3 grid(blocks, frames);
  TeblidKernel<kDescriptor, kWords><<<grid, kTeblidWarps * kWarpLanes, 0, stream>>>(params);
  return CheckLaunch("TeblidKernel");
}

}  // namespace

TeblidStep::TeblidStep(const CompiledPipeline& pipeline, const LevelImageBuffers& images,
                       const IntegralBuffers& integrals)
    : images_(images),
      integrals_(integrals),
      descriptor_(pipeline.spec.pipeline.describe.descriptor) {
  params_.levels = pipeline.pyramid.detecting_levels;
  params_.orientation = pipeline.spec.pipeline.describe.orientation;
  params_.arc_length = pipeline.spec.pipeline.detect.fast_arc_length;
  for (int l = 0; l < pipeline.level_count(); ++l) {
    const LevelGeometry& level = pipeline.level(l);
    params_.scale[l] = level.scale;
    params_.patch_px[l] = pipeline.reach.patch_factor * level.patch_size_px;
  }
}

StageSet TeblidStep::stages() const {
  if (params_.orientation == Orientation::kNone) return Stage::kDescribe;
  return {Stage::kOrient, Stage::kDescribe};
}

absl::Status TeblidStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  if (context.frames.count == 0) return absl::OkStatus();
  TeblidParams params = params_;
  params.frames = context.frames;
  params.images = images_.At(context);
  params.integrals = integrals_.At(context);
  params.multiprocessors = context.tables->multiprocessors;
  switch (descriptor_) {
    case Descriptor::kTeblid256:
      return LaunchTeblid<Descriptor::kTeblid256, 8>(params, stream);
    case Descriptor::kTeblid512:
      return LaunchTeblid<Descriptor::kTeblid512, 16>(params, stream);
    case Descriptor::kBeblid256:
      return LaunchTeblid<Descriptor::kBeblid256, 8>(params, stream);
    default:
      return LaunchTeblid<Descriptor::kBeblid512, 16>(params, stream);
  }
}

}  // namespace orbserve::gpu
