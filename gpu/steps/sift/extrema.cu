// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: Gaussian images of all octaves. Out: [frame] a list of extrema between pixels, in any order.
// D. Lowe, "Distinctive Image Features from Scale-Invariant Keypoints", IJCV 2004, sec. 3 and 4;
// the arithmetic is that of features/algo/sift_extremum.h.
//
// A warp goes down a strip of 62 columns; each lane has two columns of differences. Extremes of
// three rows stay in registers, those of neighbouring columns come by shuffles: a difference is an
// extremum if it is no less than the most, or no more than the least, of all 27. Fits are rare,
// long, and read the images again: candidates are handed over to another kernel, which has a thread
// for each.

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

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarpLanes;
constexpr int kLaneColumns = 2;
// A strip's outermost columns are compared with only.
constexpr int kStripWidth = kLaneColumns * kWarpLanes - 2;
// Rows of a strip. A block's strips are one above the other. Short ones read more rows twice, but
// keep a device busy with few frames.
constexpr int kStripRows = 16;
constexpr int kShortStripRows = 8;
constexpr int kTilesToFill = 12;  // of long strips, for each multiprocessor

// Candidates that a warp collects. A strip with more, which no photograph has, is searched again.
constexpr int kListed = 128;

struct ExtremaParams {
  SiftExtremaParams base;
  int32_t tiles_x[kSiftMaxOctaves];
  int32_t end_tile[kSiftMaxOctaves];  // the octave's first tile is the end of the one before
  int32_t strip_rows;                 // even
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

// Hands a candidate over to the kernel that fits it, or fits it where the list has no room.
__device__ __forceinline__ void HandOver(const ExtremaParams& params, int frame,
                                         const SiftLists& lists, int place,
                                         const SiftCandidate& candidate) {
  if (place < lists.capacity) {
    lists.candidates[place] = candidate;
  } else {
    FitExtremum(params, frame, candidate.octave, candidate.layer, candidate.x, candidate.y);
  }
}

// A strip: pixels x0 <= x < x1, y0 <= y < y1 of an octave.
struct Strip {
  int octave;
  int x0;
  int y0;
  int x1;
  int y1;
};

// Hands over all candidates of a strip that has more than a warp collects.
__device__ __noinline__ void SearchAgain(const ExtremaParams& params, int frame,
                                         const Strip& strip) {
  const SiftOctaveShape& shape = params.base.space.octave[strip.octave];
  const SiftLists lists = SiftListsOf(params.base.frames.params[frame]);
  algo::SiftOctaveView view;
  for (int i = 0; i < params.base.space.images; ++i) {
    view.images[i] = params.base.space.Image(frame, strip.octave, i);
  }
  view.pitch = shape.pitch;
  view.width_px = shape.width_px;
  view.height_px = shape.height_px;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  for (int layer = 1; layer <= params.base.thresholds.layers; ++layer) {
    for (int y = strip.y0; y < strip.y1; ++y) {
      for (int x = strip.x0 + lane; x < strip.x1; x += kWarpLanes) {
        if (!algo::IsSiftExtremum(view, layer, x, y, params.base.least_difference)) continue;
        const int place =
            atomicAdd(&SiftCountsOf(params.base.frames.counters[frame]).candidates, 1);
        HandOver(params, frame, lists, place,
                 {static_cast<int16_t>(x), static_cast<int16_t>(y), static_cast<int16_t>(layer),
                  static_cast<int16_t>(strip.octave)});
      }
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

// Two pixels of an image, or what lanes make of them.
struct Pair {
  float left;
  float right;
};
__device__ __forceinline__ Pair MostOf(Pair a, Pair b) {
  return {fmaxf(a.left, b.left), fmaxf(a.right, b.right)};
}
__device__ __forceinline__ Pair LeastOf(Pair a, Pair b) {
  return {fminf(a.left, b.left), fminf(a.right, b.right)};
}
__device__ __forceinline__ Pair LoadPair(const float* at) {
  const float2 two = __ldg(reinterpret_cast<const float2*>(at));
  return {two.x, two.y};
}

// Of the three columns around either pixel.
__device__ __forceinline__ Pair MostOfColumns(Pair most) {
  const float both = fmaxf(most.left, most.right);
  return {fmaxf(both, __shfl_up_sync(kFullWarp, most.right, 1)),
          fmaxf(both, __shfl_down_sync(kFullWarp, most.left, 1))};
}
__device__ __forceinline__ Pair LeastOfColumns(Pair least) {
  const float both = fminf(least.left, least.right);
  return {fminf(both, __shfl_up_sync(kFullWarp, least.right, 1)),
          fminf(both, __shfl_down_sync(kFullWarp, least.left, 1))};
}

// The fit alone would take twice the registers.
constexpr int kBlocksPerMultiprocessor = 5;

template <int kLayers>
__global__ __launch_bounds__(kThreads, kBlocksPerMultiprocessor) void SiftExtremaKernel(
    const __grid_constant__ ExtremaParams params) {
  BeginNextKernel();
  AwaitKernelBefore();
  constexpr int kDifferences = kLayers + 2;
  constexpr int kImages = kLayers + algo::kSiftExtraImages;
  __shared__ SiftCandidate listed_by_warp[kWarps][kListed];
  const int frame = params.base.frames.first + static_cast<int>(blockIdx.y);
  if (params.base.frames.params[frame].mode == FrameMode::kIdle) return;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  int octave = 0;
  int tile = static_cast<int>(blockIdx.x);
  while (tile >= params.end_tile[octave]) ++octave;
  if (octave > 0) tile -= params.end_tile[octave - 1];
  const SiftOctaveShape& shape = params.base.space.octave[octave];
  const int x0 = algo::kSiftBorderPx + tile % params.tiles_x[octave] * kStripWidth;
  const int y0 =
      algo::kSiftBorderPx + (tile / params.tiles_x[octave] * kWarps + warp) * params.strip_rows;
  const Strip strip = {octave, x0, y0, Min(x0 + kStripWidth, shape.width_px - algo::kSiftBorderPx),
                       Min(y0 + params.strip_rows, shape.height_px - algo::kSiftBorderPx)};
  const int x = x0 - 1 + kLaneColumns * lane;
  const bool left_counts = lane > 0 && x < strip.x1;
  const bool right_counts = lane < kWarpLanes - 1 && x + 1 < strip.x1;
  // Pixels beyond the last that counts are never compared with.
  static_assert((algo::kSiftBorderPx - 1) % kLaneColumns == 0 && kStripWidth % kLaneColumns == 0,
                "pairs are aligned");
  const float* const column = params.base.space.Image(frame, octave, 0) +
                              Min(x, (shape.width_px - 1) & ~(kLaneColumns - 1));
  const auto row_of = [&](int y) {
    return column + static_cast<int64_t>(Min(y, shape.height_px - 1)) * shape.pitch;
  };
  const float limit = params.base.least_difference;
  SiftCandidate* const listed = listed_by_warp[warp];
  int listed_count = 0;

  Pair before[kDifferences];  // of the row before
  Pair most[kDifferences];    // of the two rows before
  Pair least[kDifferences];
  Pair next[kImages];
#pragma unroll
  for (int i = 0; i < kImages; ++i) next[i] = LoadPair(row_of(y0 - 1) + i * shape.plane);
    // Once row r + 1 is there, row r is compared.
#pragma unroll 2
  for (int r = -2; r < params.strip_rows; ++r) {
    Pair difference[kDifferences];
#pragma unroll
    for (int i = 0; i < kDifferences; ++i) {
      difference[i] = {next[i + 1].left - next[i].left, next[i + 1].right - next[i].right};
    }
    const float* const row = row_of(y0 + r + 2);
#pragma unroll
    for (int i = 0; i < kImages; ++i) next[i] = LoadPair(row + i * shape.plane);
    if (r >= 0) {
      Pair high[kDifferences];
      Pair low[kDifferences];
#pragma unroll
      for (int i = 0; i < kDifferences; ++i) {
        high[i] = MostOf(most[i], difference[i]);
        low[i] = LeastOf(least[i], difference[i]);
      }
      unsigned found = 0;  // two bits a layer
#pragma unroll
      for (int l = 0; l < kLayers; ++l) {
        const Pair top = MostOfColumns(MostOf(MostOf(high[l + 1], high[l + 2]), high[l]));
        const Pair bottom = LeastOfColumns(LeastOf(LeastOf(low[l + 1], low[l + 2]), low[l]));
        const Pair value = before[l + 1];
        const bool left = (value.left >= top.left && value.left > limit) ||
                          (value.left <= bottom.left && value.left < -limit);
        const bool right = (value.right >= top.right && value.right > limit) ||
                           (value.right <= bottom.right && value.right < -limit);
        if (left && left_counts) found |= 1u << (2 * l);
        if (right && right_counts) found |= 2u << (2 * l);
      }
      if (y0 + r >= strip.y1) found = 0;
      if (__any_sync(kFullWarp, found != 0)) {
#pragma unroll 1
        for (int bit = 0; bit < 2 * kLayers; ++bit) {
          const bool has = (found >> bit & 1) != 0;
          const unsigned lanes = __ballot_sync(kFullWarp, has);
          const int place = listed_count + __popc(lanes & ((1u << lane) - 1));
          if (has && place < kListed) {
            listed[place] = {static_cast<int16_t>(x + bit % 2), static_cast<int16_t>(y0 + r),
                             static_cast<int16_t>(1 + bit / 2), static_cast<int16_t>(octave)};
          }
          listed_count += __popc(lanes);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kDifferences; ++i) {
      most[i] = MostOf(before[i], difference[i]);
      least[i] = LeastOf(before[i], difference[i]);
      before[i] = difference[i];
    }
  }
  __syncwarp();  // the list is there
  if (listed_count == 0) return;
  if (listed_count > kListed) return SearchAgain(params, frame, strip);
  const SiftLists lists = SiftListsOf(params.base.frames.params[frame]);
  int first = 0;
  if (lane == 0) {
    first = atomicAdd(&SiftCountsOf(params.base.frames.counters[frame]).candidates, listed_count);
  }
  first = __shfl_sync(kFullWarp, first, 0);
  for (int i = lane; i < listed_count; i += kWarpLanes) {
    HandOver(params, frame, lists, first + i, listed[i]);
  }
}

using ExtremaKernel = void (*)(ExtremaParams);
ExtremaKernel ExtremaKernelFor(int layers) {
  switch (layers) {
    case 1:
      return SiftExtremaKernel<1>;
    case 2:
      return SiftExtremaKernel<2>;
    case 3:
      return SiftExtremaKernel<3>;
    case 4:
      return SiftExtremaKernel<4>;
    case 5:
      return SiftExtremaKernel<5>;
    case 6:
      return SiftExtremaKernel<6>;
    case 7:
      return SiftExtremaKernel<7>;
    default:
      static_assert(algo::kSiftMaxLayers == 8);
      return SiftExtremaKernel<8>;
  }
}

// Parts the octaves into tiles of `strip_rows`; returns how many there are.
int PlaceTiles(int strip_rows, ExtremaParams* params) {
  params->strip_rows = strip_rows;
  int tiles = 0;
  for (int o = 0; o < params->base.space.octaves; ++o) {
    const SiftOctaveShape& shape = params->base.space.octave[o];
    const int width = Max(0, shape.width_px - 2 * algo::kSiftBorderPx);
    const int height = Max(0, shape.height_px - 2 * algo::kSiftBorderPx);
    params->tiles_x[o] = DivUp(width, kStripWidth);
    tiles += params->tiles_x[o] * DivUp(height, kWarps * strip_rows);
    params->end_tile[o] = tiles;
  }
  return tiles;
}

}  // namespace

absl::Status LaunchSiftExtrema(const SiftExtremaParams& params, cudaStream_t stream) {
  if (params.frames.count == 0) return absl::OkStatus();
  ExtremaParams extrema = {params, {}, {}, 0};
  int tiles = PlaceTiles(kStripRows, &extrema);
  if (tiles * params.frames.count < kTilesToFill * params.multiprocessors) {
    tiles = PlaceTiles(kShortStripRows, &extrema);
  }
  if (tiles == 0) return absl::OkStatus();
  ORBSERVE_RETURN_IF_ERROR(LaunchKernel(ExtremaKernelFor(params.thresholds.layers),
                                        "SiftExtremaKernel", dim3(tiles, params.frames.count),
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
