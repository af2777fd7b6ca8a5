// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: response maps of (frame, level) with FAST scores. Out: per (frame, level) the rank keys of
// the corners of all zones, in any order (features/algo/zone.h).
//
// One block a zone. Its threads go through the pixels of the zone; those that exceed their
// neighbours in the zone come to a list in shared memory: 9.6 KiB, since no two of them touch. Then
// it is known whether the zone has a corner of the first threshold, and those that stay take their
// part of the level's list by one atomic.

#include "gpu/steps/detect/zone_fast.h"

#include "features/algo/order.h"
#include "features/host_device.h"
#include "features/pipeline/capacity.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/overlap.cuh"
#include "gpu/runtime/warp.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kThreads = 128;
constexpr int kPixelsAtOnce = 4;                            // of a thread that are under way
constexpr int kLargestZonePx = 2 * algo::kZoneLeastPx - 1;  // of a side
constexpr int kMostCorners = ((kLargestZonePx + 1) / 2) * ((kLargestZonePx + 1) / 2);

__global__ __launch_bounds__(kThreads) void ZoneFastKernel(
    const __grid_constant__ ZoneFastParams params) {
  __shared__ uint64_t peaks[kMostCorners];
  __shared__ int peak_count;
  __shared__ int kept_count;
  __shared__ int list_begin;
  BeginNextKernel();
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  FrameCounters& counters = params.frames.counters[frame_index];
  if (frame.mode != FrameMode::kDetect) return;  // the whole block
  const int block = static_cast<int>(blockIdx.x);
  int l = 0;
  while (l + 1 < params.levels && block >= params.begin[l + 1]) ++l;
  const algo::Zones zones = params.zones[l];
  const int zone = block - params.begin[l];
  const int x_begin = algo::kZoneBorderPx + zone % zones.columns * zones.width_px;
  const int y_begin = algo::kZoneBorderPx + zone / zones.columns * zones.height_px;
  const int x_end = Min(x_begin + zones.width_px, params.width_px[l] - algo::kZoneBorderPx);
  const int y_end = Min(y_begin + zones.height_px, params.height_px[l] - algo::kZoneBorderPx);
  const int width = x_end - x_begin;
  const int height = y_end - y_begin;
  if (width <= 0 || height <= 0) return;  // the last zones may be missing; the whole block
  const int pitch = params.maps.pitch[l];
  const uint32_t* const __restrict__ map = params.maps.Of(frame_index, l);
  const uint32_t strong = frame.strong_threshold_grey > 0
                              ? algo::OrderedBits(static_cast<float>(frame.strong_threshold_grey))
                              : 0;
  if (threadIdx.x == 0) {
    peak_count = 0;
    kept_count = 0;
  }
  __syncthreads();  // nothing is counted yet

  bool has_strong = false;
  const auto take_peak = [&](int x, int y, uint32_t own) {
    for (int v = Max(y - 1, y_begin); v <= Min(y + 1, y_end - 1); ++v) {
      for (int u = Max(x - 1, x_begin); u <= Min(x + 1, x_end - 1); ++u) {
        if ((u != x || v != y) && map[static_cast<int64_t>(v) * pitch + u] >= own) return;
      }
    }
    peaks[atomicAdd(&peak_count, 1)] = algo::RankKey(algo::ValueOfOrderedBits(own), x, y);
    has_strong = has_strong || own >= strong;
  };
  for (int base = static_cast<int>(threadIdx.x); base < width * height;
       base += kThreads * kPixelsAtOnce) {
    int x[kPixelsAtOnce];
    int y[kPixelsAtOnce];
    uint32_t own[kPixelsAtOnce];
#pragma unroll
    for (int k = 0; k < kPixelsAtOnce; ++k) {
      const int i = base + k * kThreads;
      x[k] = x_begin + i % width;
      y[k] = y_begin + i / width;
      own[k] = i < width * height ? map[static_cast<int64_t>(y[k]) * pitch + x[k]] : 0;
    }
#pragma unroll
    for (int k = 0; k < kPixelsAtOnce; ++k) {
      if (own[k] != 0) take_peak(x[k], y[k], own[k]);
    }
  }
  const bool zone_is_strong = __syncthreads_or(has_strong ? 1 : 0) != 0;  // and all are counted
  // The keys that stay, each at its place among them.
  const int count = peak_count;
  const auto stays = [&](uint64_t key) {
    return !zone_is_strong || ~static_cast<uint32_t>(key >> 32) >= strong;
  };
  int own_kept = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    own_kept += stays(peaks[i]) ? 1 : 0;
  }
  int place = own_kept > 0 ? atomicAdd(&kept_count, own_kept) : 0;
  __syncthreads();  // all that stay are counted
  if (threadIdx.x == 0 && kept_count > 0) {
    list_begin = atomicAdd(&counters.corners[l], kept_count);
  }
  __syncthreads();  // the block has its part of the list
  if (own_kept == 0) return;
  uint64_t* const keys =
      params.keys.key + frame_index * params.keys.stride + params.keys.offset[l] + list_begin;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    if (stays(peaks[i])) keys[place++] = peaks[i];
  }
}

}  // namespace

absl::Status LaunchZoneFast(const ZoneFastParams& params, cudaStream_t stream) {
  if (params.frames.count == 0 || params.begin[params.levels] == 0) return absl::OkStatus();
  const dim3 grid(params.begin[params.levels], params.frames.count);
  ZoneFastKernel<<<grid, kThreads, 0, stream>>>(params);
  return CheckLaunch("ZoneFastKernel");
}

ZoneFastStep::ZoneFastStep(const CompiledPipeline& pipeline, const ResponseMapBuffers& maps,
                           const KeyListBuffers& keys)
    : maps_(maps), keys_(keys) {
  params_.levels = pipeline.pyramid.detecting_levels;
  for (int l = 0; l < params_.levels; ++l) {
    const LevelGeometry& level = pipeline.level(l);
    params_.zones[l] = ZonesOf(level.region);
    params_.width_px[l] = level.width_px;
    params_.height_px[l] = level.height_px;
    params_.begin[l + 1] = params_.begin[l] + params_.zones[l].columns * params_.zones[l].rows;
  }
}

absl::Status ZoneFastStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  ZoneFastParams params = params_;
  params.frames = context.frames;
  params.maps = maps_.At(context);
  params.keys = keys_.At(context);
  return LaunchZoneFast(params, stream);
}

}  // namespace orbserve::gpu
