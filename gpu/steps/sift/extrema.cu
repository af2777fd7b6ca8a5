// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: Gaussian images of all octaves. Out: [frame] a list of extrema between pixels, in any order.
// D. Lowe, "Distinctive Image Features from Scale-Invariant Keypoints", IJCV 2004, sec. 3 and 4;
// the arithmetic is that of features/algo/sift_extremum.h.
//
// A block takes a tile of 64 x 16 pixels of an octave through its layers. Each image is read once:
// a thread keeps its pixels of the image before and writes differences to shared memory, where four
// of them take turns. Fits are rare, long, and read the images again: the tile's extrema are handed
// over to another kernel, which has a thread for each. 23 KiB of shared memory.

#include "gpu/steps/sift/extrema.h"

#include <cstdint>

#include "features/algo/sift_orientation.h"
#include "features/errors.h"
#include "features/host_device.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/overlap.cuh"
#include "gpu/runtime/warp.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kTileWidth = 64;
constexpr int kTileHeight = 16;
constexpr int kThreads = 256;
constexpr int kHaloWidth = kTileWidth + 2;
constexpr int kHaloPixels = kHaloWidth * (kTileHeight + 2);
constexpr int kHaloPerThread = DivUp(kHaloPixels, kThreads);
constexpr int kPixelsPerThread = kTileWidth * kTileHeight / kThreads;
constexpr int kDifferences = 4;  // three are compared while the next one is written
constexpr int kListed = 1024;    // extrema that a block collects; others are fitted at once

struct ExtremaParams {
  SiftExtremaParams base;
  int32_t tiles_x[kSiftMaxOctaves];
  int32_t end_tile[kSiftMaxOctaves];  // the octave's first tile is the end of the one before
};

// An octave as RefineSiftExtremum() sees it.
struct OctaveImages {
  const float* images;
  int64_t plane;
  int pitch;
  int width_px;
  int height_px;

  __device__ __forceinline__ float Difference(int layer, int x, int y) const {
    const float* const at = images + layer * plane + static_cast<int64_t>(y) * pitch + x;
    return __ldg(at + plane) - __ldg(at);
  }
};

__device__ __noinline__ void FitExtremum(const ExtremaParams& params, int frame, int octave,
                                         int layer, int x, int y) {
  const SiftOctaveShape& shape = params.base.space.octave[octave];
  const OctaveImages images = {params.base.space.Image(frame, octave, 0), shape.plane, shape.pitch,
                               shape.width_px, shape.height_px};
  algo::SiftExtremum extremum;
  extremum.x = x;
  extremum.y = y;
  extremum.layer = layer;
  if (!algo::RefineSiftExtremum(images, params.base.thresholds, &extremum)) return;
  const SiftLists lists = SiftListsOf(params.base.frames.params[frame]);
  const int place = atomicAdd(&SiftCountsOf(params.base.frames.counters[frame]).points, 1);
  if (place >= lists.capacity) return;
  lists.points[place] = {static_cast<int16_t>(extremum.x),
                         static_cast<int16_t>(extremum.y),
                         static_cast<int16_t>(extremum.layer),
                         static_cast<int16_t>(octave),
                         extremum.offset_x,
                         extremum.offset_y,
                         extremum.offset_layer,
                         extremum.response};
}

// Hands the extrema that a block has listed over to the kernel that fits them, or fits those that
// find no room. `listed`: layer, row and column from (x0, y0), a byte each from above.
__device__ __forceinline__ void HandOver(const ExtremaParams& params, int frame, int octave, int x0,
                                         int y0, const uint32_t* listed, int count, int threads,
                                         int* first) {
  const SiftLists lists = SiftListsOf(params.base.frames.params[frame]);
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0 && count > 0) {
    *first = atomicAdd(&SiftCountsOf(params.base.frames.counters[frame]).candidates, count);
  }
  __syncthreads();  // the block has its places
  for (int i = thread; i < count; i += threads) {
    const int entry = static_cast<int>(listed[i]);
    const int layer = entry >> 16;
    const int x = x0 + (entry & 0xff);
    const int y = y0 + (entry >> 8 & 0xff);
    if (*first + i < lists.capacity) {
      lists.candidates[*first + i] = {static_cast<int16_t>(x), static_cast<int16_t>(y),
                                      static_cast<int16_t>(layer), static_cast<int16_t>(octave)};
    } else {
      FitExtremum(params, frame, octave, layer, x, y);
    }
  }
}

constexpr int kFitThreads = 64;

__global__ __launch_bounds__(kFitThreads) void SiftFitKernel(
    const __grid_constant__ ExtremaParams params) {
  BeginNextKernel();
  AwaitKernelBefore();
  const int frame = params.base.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame_params = params.base.frames.params[frame];
  if (frame_params.mode == FrameMode::kIdle) return;
  const SiftLists lists = SiftListsOf(frame_params);
  const int count =
      Min(SiftCountsOf(params.base.frames.counters[frame]).candidates, lists.capacity);
  const int step = static_cast<int>(gridDim.x) * kFitThreads;
  for (int i = static_cast<int>(blockIdx.x * kFitThreads + threadIdx.x); i < count; i += step) {
    const SiftCandidate candidate = lists.candidates[i];
    FitExtremum(params, frame, candidate.octave, candidate.layer, candidate.x, candidate.y);
  }
}

// True if the difference at `at` is an extremum of the three.
__device__ __forceinline__ bool IsExtremum(const float* below, const float* at, const float* above,
                                           float least_difference) {
  const float value = *at;
  const bool positive = value > 0.0f;
  if ((positive ? value : -value) <= least_difference || value == 0.0f) return false;
  const auto exceeds = [&](const float* other) {
    return positive ? *other > value : *other < value;
  };
  const auto any_exceeds = [&](const float* centre) {
    bool any = exceeds(centre);
#pragma unroll
    for (int v = -1; v <= 1; ++v) {
#pragma unroll
      for (int u = -1; u <= 1; ++u) {
        if (u != 0 || v != 0) any = any || exceeds(centre + v * kHaloWidth + u);
      }
    }
    return any;
  };
  return !any_exceeds(at) && !any_exceeds(below) && !any_exceeds(above);
}

// The fit wants 122 registers, which would leave room for two blocks a multiprocessor.
constexpr int kBlocksPerMultiprocessor = 4;

__global__ __launch_bounds__(kThreads, kBlocksPerMultiprocessor) void SiftExtremaKernel(
    const __grid_constant__ ExtremaParams params) {
  BeginNextKernel();
  AwaitKernelBefore();
  __shared__ float differences[kDifferences][kHaloPixels];
  __shared__ uint32_t listed[kListed];
  __shared__ int listed_count;
  __shared__ int first_place;
  const int thread = static_cast<int>(threadIdx.x);
  const int frame = params.base.frames.first + static_cast<int>(blockIdx.y);
  if (params.base.frames.params[frame].mode == FrameMode::kIdle) return;
  int octave = 0;
  int tile = static_cast<int>(blockIdx.x);
  while (tile >= params.end_tile[octave]) ++octave;
  if (octave > 0) tile -= params.end_tile[octave - 1];
  const SiftOctaveShape& shape = params.base.space.octave[octave];
  const int x0 = algo::kSiftBorderPx + tile % params.tiles_x[octave] * kTileWidth;
  const int y0 = algo::kSiftBorderPx + tile / params.tiles_x[octave] * kTileHeight;
  if (thread == 0) listed_count = 0;

  // Places of this thread's pixels in an image. Those beyond the last pixel that counts are never
  // compared with.
  const float* image = params.base.space.Image(frame, octave, 0);
  int place[kHaloPerThread];
  float before[kHaloPerThread];
#pragma unroll
  for (int i = 0; i < kHaloPerThread; ++i) {
    const int pixel = Min(thread + i * kThreads, kHaloPixels - 1);
    const int x = Min(x0 - 1 + pixel % kHaloWidth, shape.width_px - 1);
    const int y = Min(y0 - 1 + pixel / kHaloWidth, shape.height_px - 1);
    place[i] = y * shape.pitch + x;
    before[i] = __ldg(image + place[i]);
  }
  const int layers = params.base.thresholds.layers;
  for (int l = 0; l < layers + 2; ++l) {
    image += shape.plane;
#pragma unroll
    for (int i = 0; i < kHaloPerThread; ++i) {
      const float value = __ldg(image + place[i]);
      const int pixel = Min(thread + i * kThreads, kHaloPixels - 1);
      differences[l % kDifferences][pixel] = value - before[i];
      before[i] = value;
    }
    __syncthreads();  // difference l is there, and the one that it takes the place of was compared
    if (l < 2) continue;
    const float* const below = differences[(l - 2) % kDifferences];
    const float* const at = differences[(l - 1) % kDifferences];
    const float* const above = differences[l % kDifferences];
#pragma unroll
    for (int i = 0; i < kPixelsPerThread; ++i) {
      const int u = thread % kTileWidth;
      const int v = thread / kTileWidth + i * (kThreads / kTileWidth);
      const int pixel = (v + 1) * kHaloWidth + u + 1;
      if (x0 + u >= shape.width_px - algo::kSiftBorderPx ||
          y0 + v >= shape.height_px - algo::kSiftBorderPx ||
          !IsExtremum(below + pixel, at + pixel, above + pixel, params.base.least_difference)) {
        continue;
      }
      const int entry = atomicAdd(&listed_count, 1);
      if (entry < kListed) {
        listed[entry] = static_cast<uint32_t>((l - 1) << 16 | v << 8 | u);
      } else {
        FitExtremum(params, frame, octave, l - 1, x0 + u, y0 + v);
      }
    }
  }
  __syncthreads();  // the list is complete
  HandOver(params, frame, octave, x0, y0, listed, Min(listed_count, kListed), kThreads,
           &first_place);
}

// ---- Three layers: no shared memory for differences ----
//
// A warp goes down a strip of 30 columns; each lane has a column of differences, and gets those of
// its neighbours by shuffles. Extremes of three columns stay in registers for three rows. A value
// is an extremum if it is no less than the most, or no more than the least, of all 27.

constexpr int kStripLayers = 3;
constexpr int kStripWarps = 4;
constexpr int kStripThreads = kStripWarps * kWarpLanes;
constexpr int kStripColumns = kWarpLanes - 2;
constexpr int kStripWidth = kStripWarps * kStripColumns;
constexpr int kStripRows = 16;

// 80 registers.
constexpr int kStripBlocksPerMultiprocessor = 6;

__global__ __launch_bounds__(
    kStripThreads,
    kStripBlocksPerMultiprocessor) void SiftStripExtremaKernel(const __grid_constant__ ExtremaParams
                                                                   params) {
  BeginNextKernel();
  AwaitKernelBefore();
  constexpr int kStripDifferences = kStripLayers + 2;
  constexpr int kStripImages = kStripLayers + algo::kSiftExtraImages;
  __shared__ uint32_t listed[kListed];
  __shared__ int listed_count;
  __shared__ int first_place;
  const int frame = params.base.frames.first + static_cast<int>(blockIdx.y);
  if (params.base.frames.params[frame].mode == FrameMode::kIdle) return;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarpLanes;
  if (thread == 0) listed_count = 0;
  __syncthreads();  // the list is empty
  int octave = 0;
  int tile = static_cast<int>(blockIdx.x);
  while (tile >= params.end_tile[octave]) ++octave;
  if (octave > 0) tile -= params.end_tile[octave - 1];
  const SiftOctaveShape& shape = params.base.space.octave[octave];
  const int x0 = algo::kSiftBorderPx + tile % params.tiles_x[octave] * kStripWidth;
  const int y0 = algo::kSiftBorderPx + tile / params.tiles_x[octave] * kStripRows;
  const int u = thread / kWarpLanes * kStripColumns + lane - 1;  // from x0
  const int end_y = shape.height_px - algo::kSiftBorderPx;
  const bool counts =
      lane > 0 && lane <= kStripColumns && x0 + u < shape.width_px - algo::kSiftBorderPx;
  // Pixels beyond the last that counts are never compared with.
  const float* const images =
      params.base.space.Image(frame, octave, 0) + Min(x0 + u, shape.width_px - 1);
  const auto row_of = [&](int row) {
    return images + static_cast<int64_t>(Min(y0 - 1 + row, shape.height_px - 1)) * shape.pitch;
  };
  const float limit = params.base.least_difference;
  float most[3][kStripDifferences];  // of three columns; rows take turns
  float least[3][kStripDifferences];
  float centre[2][kStripLayers];  // of the layers, rows take turns
  float next[kStripImages];
#pragma unroll
  for (int i = 0; i < kStripImages; ++i) next[i] = __ldg(row_of(0) + i * shape.plane);
#pragma unroll
  for (int row = 0; row < kStripRows + 2; ++row) {
    if (y0 + row - 2 >= end_y) break;  // of the whole block
    float pixel[kStripImages];
#pragma unroll
    for (int i = 0; i < kStripImages; ++i) pixel[i] = next[i];
    if (row + 1 < kStripRows + 2) {
#pragma unroll
      for (int i = 0; i < kStripImages; ++i) next[i] = __ldg(row_of(row + 1) + i * shape.plane);
    }
#pragma unroll
    for (int i = 0; i < kStripDifferences; ++i) {
      const float value = pixel[i + 1] - pixel[i];
      const float left = __shfl_up_sync(kFullWarp, value, 1);
      const float right = __shfl_down_sync(kFullWarp, value, 1);
      most[row % 3][i] = Max(Max(left, right), value);
      least[row % 3][i] = Min(Min(left, right), value);
      if (i >= 1 && i <= kStripLayers) centre[row % 2][i - 1] = value;
    }
    if (row < 2) continue;
    float high[kStripDifferences];
    float low[kStripDifferences];
#pragma unroll
    for (int i = 0; i < kStripDifferences; ++i) {
      high[i] = Max(Max(most[0][i], most[1][i]), most[2][i]);
      low[i] = Min(Min(least[0][i], least[1][i]), least[2][i]);
    }
#pragma unroll
    for (int layer = 1; layer <= kStripLayers; ++layer) {
      const float value = centre[(row - 1) % 2][layer - 1];
      const float top = Max(Max(high[layer - 1], high[layer]), high[layer + 1]);
      const float bottom = Min(Min(low[layer - 1], low[layer]), low[layer + 1]);
      const bool found = (value >= top && value > limit) || (value <= bottom && value < -limit);
      if (!found || !counts) continue;
      const int entry = atomicAdd(&listed_count, 1);
      if (entry < kListed) {
        listed[entry] = static_cast<uint32_t>(layer << 16 | (row - 2) << 8 | u);
      } else {
        FitExtremum(params, frame, octave, layer, x0 + u, y0 + row - 2);
      }
    }
  }
  __syncthreads();  // the list is complete
  HandOver(params, frame, octave, x0, y0, listed, Min(listed_count, kListed), kStripThreads,
           &first_place);
}

}  // namespace

absl::Status LaunchSiftExtrema(const SiftExtremaParams& params, cudaStream_t stream) {
  if (params.frames.count == 0) return absl::OkStatus();
  ExtremaParams extrema = {params, {}, {}};
  const bool strips = params.thresholds.layers == kStripLayers;
  const int tile_width = strips ? kStripWidth : kTileWidth;
  const int tile_height = strips ? kStripRows : kTileHeight;
  int tiles = 0;
  for (int o = 0; o < params.space.octaves; ++o) {
    const SiftOctaveShape& shape = params.space.octave[o];
    const int width = Max(0, shape.width_px - 2 * algo::kSiftBorderPx);
    const int height = Max(0, shape.height_px - 2 * algo::kSiftBorderPx);
    extrema.tiles_x[o] = DivUp(width, tile_width);
    tiles += extrema.tiles_x[o] * DivUp(height, tile_height);
    extrema.end_tile[o] = tiles;
  }
  if (tiles == 0) return absl::OkStatus();
  const dim3 grid(tiles, params.frames.count);
  ORBSERVE_RETURN_IF_ERROR(strips
                               ? LaunchKernel(SiftStripExtremaKernel, "SiftStripExtremaKernel",
                                              grid, kStripThreads, params.follows, extrema, stream)
                               : LaunchKernel(SiftExtremaKernel, "SiftExtremaKernel", grid,
                                              kThreads, params.follows, extrema, stream));
  // A thread for each of many candidates; loops take the rest.
  constexpr int kFitBlocksPerMultiprocessor = 8;
  const int fit_blocks =
      DivUp(kFitBlocksPerMultiprocessor * params.multiprocessors, params.frames.count);
  return LaunchKernel(SiftFitKernel, "SiftFitKernel", dim3(fit_blocks, params.frames.count),
                      kFitThreads, params.overlaps, extrema, stream);
}

absl::Status SiftExtremaStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  const SiftOptions& options = buffers_.geometry().options;
  const int layers = options.octave_layers;
  return LaunchSiftExtrema({context.frames,
                            buffers_.ScaleSpace(context),
                            {layers, static_cast<float>(options.contrast_threshold),
                             static_cast<float>(options.edge_threshold)},
                            algo::SiftLeastDifference(options.contrast_threshold, layers),
                            context.tables->multiprocessors,
                            context.overlaps,
                            context.follows},
                           stream);
}

absl::Status SiftExtremaStep::FinishLarge(const StepContext& context, LargeFrame* frame) const {
  // Where extrema found no room, features were not counted in full. A histogram of 36 directions
  // has 18 peaks at most.
  constexpr int32_t kMostPeaks = algo::kSiftDirections / 2;
  const FrameReport& report = frame->report;
  const bool counted = report.sift_points <= frame->params->survivor_room[0].count;
  const int32_t entries = RoundUp(
      counted ? Max(report.sift_points, report.sift_features) : kMostPeaks * report.sift_points,
      kListAlignment);
  ORBSERVE_ASSIGN_OR_RETURN(
      uint8_t* const lists,
      frame->scratch->Take(static_cast<size_t>(entries) * kSiftListWords * sizeof(uint64_t)));
  frame->params->survivors = reinterpret_cast<uint64_t*>(lists);
  frame->params->survivor_room[0] = {0, entries};
  ORBSERVE_RETURN_IF_ERROR(frame->Upload());
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(context.frames.counters + context.frames.first, 0,
                                                sizeof(FrameCounters), frame->stream));
  return Enqueue(context, frame->stream);
}

}  // namespace orbserve::gpu
