// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: corners with FAST scores and the histogram of scores per (frame, level). Out: for the best
// `first_cut` of them, and those that equal the last, a rank key (features/algo/order.h) with the
// Harris response (features/algo/corner.h; paper 1, sec. 5.2), in any order.
//
// Each warp reads the cut off the histogram for itself: eight bins a lane and one scan, which saves
// a launch. A warp then looks at 32 corners at a time and hands the survivors, a few in a hundred
// on dense images and all of them on others, out to groups of eight lanes. Lanes 0..6 of a group
// take one row of the 7x7 block each: three image rows in nine 4-byte loads, vertical sums and
// differences in registers, gradients from those (the separable Sobel of the paper, across columns
// instead of down rows, since the points lie apart). Sums are integers, so the order of the
// reduction does not matter; their bound, 49 * 1020^2, fits 32 bits. No shared memory.

#include "gpu/steps/select/survivors.h"

#include <algorithm>
#include <cstddef>

#include "features/algo/corner.h"
#include "features/algo/order.h"
#include "features/host_device.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/overlap.cuh"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/global_pointer.cuh"
#include "gpu/steps/level_share.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kWarpsPerBlock = 4;
constexpr int kGroupLanes = 8;  // seven rows of the block, rounded up to a power of two
constexpr int kGroups = kWarpLanes / kGroupLanes;
constexpr int kBinsPerLane = kHistogramBins / kWarpLanes;

// The lowest score of the best `wanted`: 256 (none) when nothing is wanted, 1 (all) when there are
// no more: the score 0 marks corners that step `low_threshold` dropped. Lanes take eight bins each,
// lane 0 the highest, so that an inclusive scan over lanes counts from the top. All lanes return
// the same.
__device__ int LowestScore(const uint32_t (&histogram)[kHistogramCopies][kHistogramBins],
                           int wanted) {
  if (wanted <= 0) return kHistogramBins;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int first_bin = kHistogramBins - kBinsPerLane * (lane + 1);
  uint32_t bin[kBinsPerLane] = {};
#pragma unroll
  for (int copy = 0; copy < kHistogramCopies; ++copy) {
#pragma unroll
    for (int i = 0; i < kBinsPerLane; i += 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(&histogram[copy][first_bin + i]);
      bin[i] += four.x;
      bin[i + 1] += four.y;
      bin[i + 2] += four.z;
      bin[i + 3] += four.w;
    }
  }
  uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < kBinsPerLane; ++i) sum += bin[i];
  const uint32_t above = SumUpToLane(sum, lane);
  const unsigned reached = __ballot_sync(kFullWarp, above >= static_cast<uint32_t>(wanted));
  if (reached == 0) return 1;
  const int decider = __ffs(static_cast<int>(reached)) - 1;
  uint32_t kept = above - sum;
  int lowest = first_bin;
#pragma unroll
  for (int i = kBinsPerLane - 1; i >= 0; --i) {
    kept += bin[i];
    if (kept >= static_cast<uint32_t>(wanted)) {
      lowest = first_bin + i;
      break;
    }
  }
  return __shfl_sync(kFullWarp, lowest, decider);
}

// Gradient sums over one row of the block: image rows y-1, y, y+1, columns x-4 .. x+4, row `y`
// given by `centre`. Adds nothing for lanes without a row.
__device__ algo::GradientSums SumGradientRow(const uint8_t* __restrict__ centre, int pitch) {
  constexpr int kRadius = algo::kHarrisRadiusPx;
  constexpr int kColumns = 2 * kRadius + 1;
  // Nine bytes from anywhere lie in three aligned words.
  const auto address = reinterpret_cast<uintptr_t>(centre - kRadius);
  const auto shift = static_cast<uint32_t>(address & 3) * 8;
  const auto* words = reinterpret_cast<const uint8_t*>(address & ~uintptr_t{3});
  uint32_t word[3][3];
#pragma unroll
  for (int row = 0; row < 3; ++row) {
    const auto* source = reinterpret_cast<const uint32_t*>(words + (row - 1) * pitch);
#pragma unroll
    for (int i = 0; i < 3; ++i) word[row][i] = source[i];
  }
  int smooth[kColumns];      // 1 2 1 down the column
  int difference[kColumns];  // below less above
#pragma unroll
  for (int column = 0; column < kColumns; ++column) {
    int grey[3];
#pragma unroll
    for (int row = 0; row < 3; ++row) {
      const int i = column / 4;
      const uint32_t aligned =
          __funnelshift_r(word[row][i], i < 2 ? word[row][i + 1] : word[row][2], shift);
      // The ninth byte may lie in the last word only.
      const uint32_t bytes = column < 8 ? aligned : word[row][2] >> shift;
      grey[row] = static_cast<int>((bytes >> (8 * (column % 4))) & 0xff);
    }
    smooth[column] = grey[0] + 2 * grey[1] + grey[2];
    difference[column] = grey[2] - grey[0];
  }
  algo::GradientSums sums = {0, 0, 0};
#pragma unroll
  for (int column = 1; column < kColumns - 1; ++column) {
    const int ix = smooth[column + 1] - smooth[column - 1];
    const int iy = difference[column - 1] + 2 * difference[column] + difference[column + 1];
    sums.xx += ix * ix;
    sums.yy += iy * iy;
    sums.xy += ix * iy;
  }
  return sums;
}

__global__ __launch_bounds__(kWarpsPerBlock* kWarpLanes) void SurvivorsKernel(
    const __grid_constant__ SurvivorParams params) {
  BeginNextKernel();
  const LevelImages& images = params.images;
  const FastCornerLists& all_corners = params.corners;
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  FrameCounters& counters = params.frames.counters[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  // Lane l knows level l.
  const bool has_level = lane < all_corners.levels;
  const int corners = has_level ? counters.corners[lane] : 0;
  const int room_begin = has_level ? frame.survivor_room[lane].begin : 0;
  const int room_count = has_level ? frame.survivor_room[lane].count : 0;
  uint64_t* const __restrict__ lists = Global(frame.survivors);
  const LevelShare share = ShareOfLevel(DivUp(corners, kWarpLanes));
  const int step = static_cast<int>(gridDim.x) * kWarpsPerBlock;
  int level_of_lowest = -1;
  int lowest = 0;
  for (int i = static_cast<int>(blockIdx.x) * kWarpsPerBlock + warp; i < share.total; i += step) {
    const int l = LevelOf(share, i);
    const LevelImage& level = images.level[l];
    const int count = __shfl_sync(kFullWarp, corners, l);
    const int mine = (i - __shfl_sync(kFullWarp, share.begin, l)) * kWarpLanes + lane;
    const int64_t list = frame_index * all_corners.stride + all_corners.offset[l];
    const int score = mine < count ? all_corners.score[list + mine] : -1;
    const uint32_t position = mine < count ? all_corners.position[list + mine] : 0;
    if (l != level_of_lowest) {
      lowest = LowestScore(counters.histogram[l], frame.first_cut[l]);
      level_of_lowest = l;
    }
    const unsigned survivors = __ballot_sync(kFullWarp, score >= lowest && mine < count);
    if (survivors == 0) continue;
    const int total = __popc(survivors);
    int output = 0;
    if (lane == 0) output = atomicAdd(&counters.survivors[l], total);
    output = __shfl_sync(kFullWarp, output, 0);
    uint64_t* const __restrict__ keys = lists + __shfl_sync(kFullWarp, room_begin, l);
    const int room = __shfl_sync(kFullWarp, room_count, l);

    if (!params.harris) {
      if ((survivors >> lane & 1) != 0) {
        const int place = output + __popc(survivors & ((1u << lane) - 1));
        if (place < room) {
          keys[place] =
              algo::RankKey(static_cast<float>(score), static_cast<int>(position & 0xffff),
                            static_cast<int>(position >> 16));
        }
      }
      continue;
    }
    const uint8_t* __restrict__ image = images.Image(frame, frame_index, l);
    const int row = lane % kGroupLanes;
    for (int s = 0; s < total; s += kGroups) {
      const int item = s + lane / kGroupLanes;
      // The lane that holds survivor number `item`.
      const int holder = item < total ? static_cast<int>(__fns(survivors, 0, item + 1)) : 0;
      const uint32_t place = __shfl_sync(kFullWarp, position, holder);
      algo::GradientSums sums = {0, 0, 0};
      if (item < total && row < algo::kHarrisBlockPx) {
        const int y = static_cast<int>(place >> 16) + row - algo::kHarrisBlockPx / 2;
        sums =
            SumGradientRow(image + static_cast<int64_t>(y) * level.pitch_bytes + (place & 0xffff),
                           level.pitch_bytes);
      }
#pragma unroll
      for (int distance = 1; distance < kGroupLanes; distance *= 2) {
        sums.xx += __shfl_xor_sync(kFullWarp, sums.xx, distance);
        sums.yy += __shfl_xor_sync(kFullWarp, sums.yy, distance);
        sums.xy += __shfl_xor_sync(kFullWarp, sums.xy, distance);
      }
      if (item < total && row == 0 && output + item < room) {
        keys[output + item] =
            algo::RankKey(algo::HarrisResponse(sums), static_cast<int>(place & 0xffff),
                          static_cast<int>(place >> 16));
      }
    }
  }
}

}  // namespace

absl::Status LaunchSurvivors(const SurvivorParams& params, cudaStream_t stream) {
  const int frames = params.frames.count;
  if (frames == 0) return absl::OkStatus();
  // Sixteen warps a multiprocessor, all at once; the loop takes the rest. Frames of a large batch
  // get at least a quarter of a block per multiprocessor.
  const int blocks = Max(4 * params.multiprocessors / frames, DivUp(params.multiprocessors, 4));
  const dim3 grid(blocks, frames);
  SurvivorsKernel<<<grid, kWarpsPerBlock * kWarpLanes, 0, stream>>>(params);
  return CheckLaunch("SurvivorsKernel");
}

SurvivorParams SurvivorsStep::ParamsFor(const StepContext& context) const {
  return {context.frames, images_.At(context), corners_.At(context),
          context.tables->multiprocessors, harris_};
}

absl::Status SurvivorsStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  return LaunchSurvivors(ParamsFor(context), stream);
}

absl::Status SurvivorsStep::FinishLarge(const StepContext& context, LargeFrame* frame) const {
  FrameParams& params = *frame->params;
  bool overflowed = false;
  int64_t entries = 0;
  for (int l = 0; l < kMaxLevels; ++l) {
    overflowed = overflowed || frame->report.survivors[l] > params.survivor_room[l].count;
    entries += RoundUp(frame->report.survivors[l], kListAlignment);
  }
  if (!overflowed) return absl::OkStatus();
  ORBSERVE_ASSIGN_OR_RETURN(uint8_t* const lists,
                            frame->scratch->Take(static_cast<size_t>(entries) * sizeof(uint64_t)));
  params.survivors = reinterpret_cast<uint64_t*>(lists);
  int begin = 0;
  for (int l = 0; l < kMaxLevels; ++l) {
    params.survivor_room[l] = {begin, frame->report.survivors[l]};
    begin += RoundUp(frame->report.survivors[l], kListAlignment);
  }
  ORBSERVE_RETURN_IF_ERROR(frame->Upload());
  int32_t* const counts = context.frames.counters[context.frames.first].survivors;
  ORBSERVE_CUDA_RETURN_IF_ERROR(
      cudaMemsetAsync(counts, 0, kMaxLevels * sizeof(int32_t), frame->stream));
  return Enqueue(context, frame->stream);
}

}  // namespace orbserve::gpu
