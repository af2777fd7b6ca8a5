// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: ranked keypoints of each (frame, level), or keypoints given by the caller. Out: per frame
// [total] records and [total][32] descriptors, in order, and a report, all in pinned host memory.
// Intensity centroid: features/algo/orientation.h. Smoothing: features/algo/gaussian.h, every
// operation in its order, or features/algo/fixed_gaussian.h, in single precision, which is exact
// there. rBRIEF-256: features/algo/rbrief.h.
//
// One warp per keypoint. The 43 x 43 pixels round it come to shared memory as aligned words; rows
// are filtered to single precision, then columns to grey levels, 37 x 37 of them; then each lane
// makes one byte of the descriptor. No smoothed level exists: at 2,000 features of 1920 x 1080
// smoothing patches touches 2.7 million pixels, smoothing levels 6.4 million, and takes a launch
// and a round trip through the second cache.
//
// Work is cut into units that fill 32 lanes: rows into 43 x 2 runs of 20 pixels (3 rounds), columns
// into 37 x 5 runs of 8 (6 rounds). Row pitches are odd in words, so that lanes on neighbouring
// rows meet no bank twice. Shared memory: 10.4 KiB per warp, 41.5 KiB per block of four warps: five
// blocks, 20 warps a multiprocessor.

#include "gpu/steps/describe/rbrief256.h"

#include "features/algo/fixed_gaussian.h"
#include "features/algo/gaussian.h"
#include "features/algo/orientation.h"
#include "features/algo/pyramid.h"
#include "features/algo/rbrief.h"
#include "features/host_device.h"
#include "features/pipeline/reach.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/overlap.cuh"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/describe/feature_records.cuh"
#include "gpu/steps/describe/orientation.cuh"
#include "gpu/steps/global_pointer.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kWarpsPerBlock = 4;  // independent of each other

constexpr int kSampleRadius = kRBriefSampleReachPx;
constexpr int kSide = 2 * kSampleRadius + 1;  // smoothed: 37
constexpr int kPatchRadius = kRBriefReachPx;
constexpr int kPatchSide = 2 * kPatchRadius + 1;   // read: 43
constexpr int kPatchWords = (kPatchSide + 3) / 4;  // row pitch: 11, odd
constexpr int kTaps = 2 * algo::kGaussianRadiusPx + 1;

constexpr int kRowRun = 20;  // outputs; a run starts at a word
constexpr int kRowRunsPerRow = 2;
constexpr int kRowRunWords = (kRowRun + kTaps - 1 + 3) / 4;
constexpr int kColumnRun = 8;
constexpr int kColumnRuns = (kSide + kColumnRun - 1) / kColumnRun;
constexpr int kFilteredRows = kColumnRuns * kColumnRun + kTaps - 1;  // the last run reads further
constexpr int kFilteredPitch = 41;                                   // two runs, and odd
constexpr int kSmoothPitch = 40;
static_assert(kFilteredPitch >= kRowRun * kRowRunsPerRow);

struct WarpMemory {
  uint32_t patch[kPatchSide * kPatchWords + kRowRunWords];  // the last run reads further
  float filtered[kFilteredRows * kFilteredPitch];
  uint8_t smooth[kColumnRuns * kColumnRun * kSmoothPitch];
};

// Copies the patch at (x, y), which lies inside the image.
__device__ void LoadPatch(const uint8_t* __restrict__ image, int pitch, int x, int y,
                          uint32_t* __restrict__ patch) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const auto corner = reinterpret_cast<uintptr_t>(
      image + static_cast<int64_t>(y - kPatchRadius) * pitch + x - kPatchRadius);
  const auto shift = static_cast<uint32_t>(corner & 3) * 8;
  const auto* aligned = reinterpret_cast<const uint8_t*>(corner & ~uintptr_t{3});
#pragma unroll 5
  for (int i = lane; i < kPatchSide * kPatchWords; i += kWarpLanes) {
    const int row = i / kPatchWords;
    const int word = i % kPatchWords;
    const auto* source = reinterpret_cast<const uint32_t*>(aligned + row * pitch) + word;
    patch[i] = __funnelshift_r(source[0], source[1], shift);
  }
}

// Copies a patch that may leave the image, which is mirrored.
__device__ void LoadPatchMirrored(const uint8_t* __restrict__ image, const LevelImage& level, int x,
                                  int y, uint32_t* __restrict__ patch) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  for (int i = lane; i < kPatchSide * kPatchWords; i += kWarpLanes) {
    const int row = algo::Reflect101(y - kPatchRadius + i / kPatchWords, level.height_px);
    uint32_t bytes = 0;
    for (int byte = 0; byte < 4; ++byte) {
      const int column =
          algo::Reflect101(x - kPatchRadius + i % kPatchWords * 4 + byte, level.width_px);
      bytes |= static_cast<uint32_t>(image[static_cast<int64_t>(row) * level.pitch_bytes + column])
               << (8 * byte);
    }
    patch[i] = bytes;
  }
}

// Intensity centroid; lane v + 15 takes row v. All lanes return the same.
__device__ float Angle(const uint32_t* __restrict__ patch) {
  constexpr int kRadius = algo::kCentroidRadiusPx;
  constexpr int kFirstWord = (kPatchRadius - kRadius) / 4;
  constexpr int kLastWord = (kPatchRadius + kRadius) / 4;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int v = lane - kRadius;
  uint32_t weighted = 0;  // sum of column * grey
  uint32_t sum = 0;
  if (v <= kRadius) {
    const int half_width = algo::CentroidHalfWidth(v < 0 ? -v : v);
    const int first = kPatchRadius - half_width;
    const int last = kPatchRadius + half_width;
    const uint32_t* row = patch + (kPatchRadius + v) * kPatchWords;
#pragma unroll
    for (int word = kFirstWord; word <= kLastWord; ++word) {
      // Bytes first..last of the row, if this word has any.
      const int skip = Clamp(first - 4 * word, 0, 4) * 8;
      const int keep = Clamp(last + 1 - 4 * word, 0, 4) * 8;
      const uint32_t mask =
          __funnelshift_lc(0, 0xffffffffu, skip) & ~__funnelshift_lc(0, 0xffffffffu, keep);
      const uint32_t bytes = row[word] & mask;
      weighted = __dp4a(bytes, 0x03020100u + 0x04040404u * word, weighted);
      sum = __dp4a(bytes, 0x01010101u, sum);
    }
  }
  int moment_x = static_cast<int>(weighted) - kPatchRadius * static_cast<int>(sum);
  int moment_y = v * static_cast<int>(sum);
#pragma unroll
  for (int distance = kWarpLanes / 2; distance > 0; distance /= 2) {
    moment_x += __shfl_xor_sync(kFullWarp, moment_x, distance);
    moment_y += __shfl_xor_sync(kFullWarp, moment_y, distance);
  }
  return algo::CentroidAngleDegrees({moment_x, moment_y});
}

// Byte `byte` of `word` as a single-precision number, exactly: the byte becomes the last bits of
// 2^23. An addition is four times as fast as a conversion.
__device__ __forceinline__ float GreyOf(uint32_t word, int byte) {
  constexpr uint32_t kTwoTo23 = 0x4b000000u;
  return __uint_as_float(__byte_perm(word, kTwoTo23, 0x7440 + byte)) - 8388608.0f;
}

// patch -> filtered: kPatchSide rows of kSide values. Values beyond them are unspecified and never
// used.
template <bool kFixedPoint>
__device__ void FilterRows(const uint32_t* __restrict__ patch, float* __restrict__ filtered) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  for (int unit = lane; unit < kPatchSide * kRowRunsPerRow; unit += kWarpLanes) {
    const int row = unit % kPatchSide;
    const int first = unit / kPatchSide * kRowRun;
    const uint32_t* words = patch + row * kPatchWords + first / 4;
    float pixel[kRowRunWords * 4];
#pragma unroll
    for (int i = 0; i < kRowRunWords; ++i) {
      const uint32_t word = words[i];
#pragma unroll
      for (int byte = 0; byte < 4; ++byte) pixel[4 * i + byte] = GreyOf(word, byte);
    }
    float* out = filtered + row * kFilteredPitch + first;
#pragma unroll
    for (int i = 0; i < kRowRun; ++i) {
      float window[kTaps];
#pragma unroll
      for (int tap = 0; tap < kTaps; ++tap) window[tap] = pixel[i + tap];
      out[i] = kFixedPoint ? algo::FixedGaussianSum(window) : algo::GaussianRow(window);
    }
  }
}

// filtered -> smooth: kSide rows of kSide grey levels. Rows beyond them are unspecified and never
// read.
template <bool kFixedPoint>
__device__ void FilterColumns(const float* __restrict__ filtered, uint8_t* __restrict__ smooth) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  for (int unit = lane; unit < kSide * kColumnRuns; unit += kWarpLanes) {
    const int column = unit % kSide;
    const int first = unit / kSide * kColumnRun;
    const float* in = filtered + first * kFilteredPitch + column;
    float value[kColumnRun + kTaps - 1];
#pragma unroll
    for (int i = 0; i < kColumnRun + kTaps - 1; ++i) value[i] = in[i * kFilteredPitch];
    uint8_t* out = smooth + first * kSmoothPitch + column;
#pragma unroll
    for (int i = 0; i < kColumnRun; ++i) {
      float window[kTaps];
#pragma unroll
      for (int tap = 0; tap < kTaps; ++tap) window[tap] = value[i + tap];
      out[i * kSmoothPitch] =
          kFixedPoint ? algo::FixedGaussianGrey(static_cast<int>(algo::FixedGaussianSum(window)))
                      : algo::GaussianColumn(window);
    }
  }
}

// Pixels outside the image stay as they are: OpenCV mirrors a level, then smooths its inside only.
__device__ void KeepOutside(const uint32_t* __restrict__ patch, const LevelImage& level, int x,
                            int y, uint8_t* __restrict__ smooth) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const auto* plain = reinterpret_cast<const uint8_t*>(patch);
  for (int i = lane; i < kSide * kSide; i += kWarpLanes) {
    const int row = i / kSide;
    const int column = i % kSide;
    const int image_x = x + column - kSampleRadius;
    const int image_y = y + row - kSampleRadius;
    if (image_x >= 0 && image_x < level.width_px && image_y >= 0 && image_y < level.height_px) {
      continue;
    }
    smooth[row * kSmoothPitch + column] =
        plain[(row + algo::kGaussianRadiusPx) * kPatchWords * 4 + column + algo::kGaussianRadiusPx];
  }
}

// Byte `lane` of the descriptor.
__device__ uint32_t DescriptorByte(const uint8_t* __restrict__ smooth, float angle_deg,
                                   const algo::RBriefPair* __restrict__ pattern) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const algo::SinCos turn = algo::SinCosOf(algo::RadiansOfDegrees(angle_deg));
  const uint8_t* centre = smooth + kSampleRadius * kSmoothPitch + kSampleRadius;
  const auto* quads = reinterpret_cast<const uint4*>(pattern) + 2 * lane;
  const uint4 halves[2] = {quads[0], quads[1]};
  uint32_t bits = 0;
#pragma unroll
  for (int bit = 0; bit < 8; ++bit) {
    const uint4& half = halves[bit / 4];
    const uint32_t word = bit % 4 == 0   ? half.x
                          : bit % 4 == 1 ? half.y
                          : bit % 4 == 2 ? half.z
                                         : half.w;
    const algo::RBriefOffset a =
        algo::TurnPoint(static_cast<int8_t>(word), static_cast<int8_t>(word >> 8), turn);
    const algo::RBriefOffset b =
        algo::TurnPoint(static_cast<int8_t>(word >> 16), static_cast<int8_t>(word >> 24), turn);
    bits |=
        static_cast<uint32_t>(centre[a.y * kSmoothPitch + a.x] < centre[b.y * kSmoothPitch + b.x])
        << bit;
  }
  return bits;
}

// True if LoadPatch() reads the level alone: it loads whole words, and one pixel more.
__device__ __forceinline__ bool PatchFits(const LevelImage& level, int x, int y) {
  return x >= kRBriefBorderPx && x < level.width_px - kRBriefBorderPx && y >= kRBriefBorderPx &&
         y < level.height_px - kRBriefBorderPx;
}

template <bool kFixedPoint>
__global__ __launch_bounds__(kWarpsPerBlock* kWarpLanes) void DescribeKernel(
    const __grid_constant__ DescribeParams params) {
  __shared__ WarpMemory memory[kWarpsPerBlock];
  AwaitKernelBefore();
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

  WarpMemory& mine = memory[warp];
  const bool given = frame.mode == FrameMode::kDescribeGiven;
  const int step = static_cast<int>(gridDim.x) * kWarpsPerBlock;
  for (int i = static_cast<int>(blockIdx.x) * kWarpsPerBlock + warp; i < count; i += step) {
    Point point = PointOf(frame, given, list, ranked, frame.first_record + i);
    const LevelImage& level = params.images.level[point.level];
    const uint8_t* image = params.images.Image(frame, frame_index, point.level);

    if (given || (kFixedPoint && !PatchFits(level, point.x, point.y))) {
      LoadPatchMirrored(image, level, point.x, point.y, mine.patch);
    } else {
      LoadPatch(image, level.pitch_bytes, point.x, point.y, mine.patch);
    }
    __syncwarp();  // the patch is complete
    if (!given && params.orientation == Orientation::kIntensityCentroid) {
      point.angle_deg = Angle(mine.patch);
    } else if (!given && params.orientation == Orientation::kArcMiddle) {
      point.angle_deg =
          ArcMiddleAngle(image, level.pitch_bytes, point.x, point.y, params.arc_length);
    }
    if (lane == 0) WriteRecord(frame, i, point);
    FilterRows<kFixedPoint>(mine.patch, mine.filtered);
    __syncwarp();  // filtered rows are complete
    FilterColumns<kFixedPoint>(mine.filtered, mine.smooth);
    __syncwarp();  // the smoothed patch is complete
    if (given) {
      KeepOutside(mine.patch, level, point.x, point.y, mine.smooth);
      __syncwarp();  // and so is its part outside the image
    }
    const uint32_t byte = DescriptorByte(mine.smooth, point.angle_deg, params.pattern);
    WriteDescriptorByte<algo::kRBriefBytes>(frame, i, lane, byte);
    __syncwarp();  // all lanes have read before the next patch comes
  }
}

}  // namespace

absl::Status LaunchDescribe(const DescribeParams& params, cudaStream_t stream) {
  const int frames = params.frames.count;
  if (frames == 0) return absl::OkStatus();
  // A single frame gets a warp per keypoint for 16 keypoints a multiprocessor; loops take the rest.
  // Frames of a large batch get at least half a block per multiprocessor.
  const int blocks = Max(4 * params.multiprocessors / frames, DivUp(params.multiprocessors, 2));
  const dim3 grid(blocks, frames);
  return LaunchKernel(params.is_fixed_point ? DescribeKernel<true> : DescribeKernel<false>,
                      "DescribeKernel", grid, kWarpsPerBlock * kWarpLanes, params.overlaps, params,
                      stream);
}

StageSet RBrief256Step::stages() const {
  if (orientation_ == Orientation::kNone) return Stage::kDescribe;
  return {Stage::kOrient, Stage::kDescribe};
}

DescribeParams RBrief256Step::ParamsFor(const StepContext& context) const {
  return {context.frames,
          images_.At(context),
          context.tables->pattern,
          levels_,
          context.tables->multiprocessors,
          orientation_,
          arc_length_,
          is_fixed_point_,
          context.follows};
}

absl::Status RBrief256Step::Enqueue(const StepContext& context, cudaStream_t stream) const {
  return LaunchDescribe(ParamsFor(context), stream);
}

}  // namespace orbserve::gpu
