// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: response maps of (frame, level), and the best response of each frame. Out: per (frame, level)
// the candidates that are greater than all others of their window, compacted in any order.
// Suppression: features/algo/window_maximum.h (paper 2, sec. II-C). Quality level:
// features/algo/corner_map.h.
//
// A thread looks at four pixels in a row, which one load brings. Few pixels are candidates, and
// most candidates fall at the first neighbours, so that windows are read from the map itself, which
// the first-level cache holds. A block takes its part of the list by one atomic. No tile in shared
// memory.

#include "gpu/steps/suppress/neighbourhood.h"

#include "features/algo/window_maximum.h"
#include "features/pipeline/detection.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/detect/corner_sink.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kPixelsPerThread = 4;  // one 16-byte load
constexpr int kBlockRows = 8;
constexpr int kThreads = kWarpLanes * kBlockRows;
constexpr int kBlockColumns = kWarpLanes * kPixelsPerThread;

__global__ __launch_bounds__(kThreads) void NeighbourhoodKernel(
    const __grid_constant__ NeighbourhoodParams params) {
  __shared__ int block_corners;
  __shared__ int list_begin;
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  FrameCounters& counters = params.frames.counters[frame_index];
  if (frame.mode != FrameMode::kDetect) return;  // the whole block
  const int block = static_cast<int>(blockIdx.x);
  int l = 0;
  while (l + 1 < params.levels && block >= params.begin[l + 1]) ++l;
  const int local = block - params.begin[l];
  const Region& region = params.region[l];
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
  const int warp = static_cast<int>(threadIdx.x / kWarpLanes);
  // Columns begin at a multiple of four.
  const int x = (region.x_begin & ~(kPixelsPerThread - 1)) +
                local % params.columns[l] * kBlockColumns + lane * kPixelsPerThread;
  const int y = region.y_begin + local / params.columns[l] * kBlockRows + warp;
  const int pitch = params.maps.pitch[l];
  const uint32_t* const map = params.maps.Of(frame_index, l);
  const uint32_t threshold = CandidateThreshold(params.is_corner_map, frame, counters);
  if (threadIdx.x == 0) block_corners = 0;
  __syncthreads();  // no corner is counted yet

  uint32_t order[kPixelsPerThread] = {};
  unsigned kept = 0;  // bit i: pixel x + i is a corner
  if (x < region.x_end && y < region.y_end) {
    const uint4 four = *reinterpret_cast<const uint4*>(map + static_cast<int64_t>(y) * pitch + x);
    order[0] = four.x;
    order[1] = four.y;
    order[2] = four.z;
    order[3] = four.w;
    // The map without the margin that holds no responses.
    const int margin = params.margin_px;
    const uint32_t* const inner = map + static_cast<int64_t>(margin) * pitch + margin;
    const LevelImage& level = params.images.level[l];
#pragma unroll
    for (int i = 0; i < kPixelsPerThread; ++i) {
      if (order[i] > threshold && x + i >= region.x_begin && x + i < region.x_end &&
          algo::IsWindowMaximum(inner, pitch, level.width_px - 2 * margin,
                                level.height_px - 2 * margin, x + i - margin, y - margin,
                                params.radius_px)) {
        kept |= 1u << i;
      }
    }
  }
  int place = 0;
  if (kept != 0) place = atomicAdd(&block_corners, __popc(kept));
  __syncthreads();  // all corners of the block are counted
  if (threadIdx.x == 0 && block_corners > 0) {
    list_begin = atomicAdd(&counters.corners[l], block_corners);
    if (params.counts_passes) atomicMax(&counters.suppression_passes[l], 1);
  }
  __syncthreads();  // the block has its part of the list
  if (kept == 0) return;
  place += list_begin;
#pragma unroll
  for (int i = 0; i < kPixelsPerThread; ++i) {
    if ((kept >> i & 1) == 0) continue;
    StoreCorner(params.sink, params.images, frame, frame_index, l, counters, place++,
                RankKeyOfOrder(order[i], x + i, y), warp);
  }
}

}  // namespace

absl::Status LaunchNeighbourhood(const NeighbourhoodParams& params, cudaStream_t stream) {
  if (params.frames.count == 0 || params.blocks == 0) return absl::OkStatus();
  const dim3 grid(params.blocks, params.frames.count);
  NeighbourhoodKernel<<<grid, kThreads, 0, stream>>>(params);
  return CheckLaunch("NeighbourhoodKernel");
}

NeighbourhoodStep::NeighbourhoodStep(const CompiledPipeline& pipeline,
                                     const LevelImageBuffers& images,
                                     const ResponseMapBuffers& maps, const CornerSinkBuffers& sink)
    : images_(images), maps_(maps), sink_(sink) {
  const PipelineOptions& options = pipeline.spec.pipeline;
  const bool by_distance = options.suppress.suppression == Suppression::kMinimumDistance;
  params_.radius_px = by_distance ? 0 : WindowRadiusPx(options);
  params_.counts_passes = by_distance;
  params_.is_corner_map = options.detect.detector != Detector::kFast;
  params_.margin_px = pipeline.reach.detect_px;
  params_.levels = pipeline.pyramid.detecting_levels;
  for (int l = 0; l < params_.levels; ++l) {
    const Region& region = pipeline.level(l).region;
    params_.region[l] = region;
    params_.begin[l] = params_.blocks;
    params_.columns[l] = 1;  // a divisor even where there are no blocks
    if (region.empty()) continue;
    const int x_begin = region.x_begin & ~(kPixelsPerThread - 1);
    params_.columns[l] = DivUp(region.x_end - x_begin, kBlockColumns);
    params_.blocks += params_.columns[l] * DivUp(region.height(), kBlockRows);
  }
}

NeighbourhoodParams NeighbourhoodStep::ParamsFor(const StepContext& context) const {
  NeighbourhoodParams params = params_;
  params.frames = context.frames;
  params.images = images_.At(context);
  params.maps = maps_.At(context);
  params.sink = sink_.At(context);
  return params;
}

absl::Status NeighbourhoodStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  return LaunchNeighbourhood(ParamsFor(context), stream);
}

}  // namespace orbserve::gpu
