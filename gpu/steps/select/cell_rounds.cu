// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: keyed corners of the levels of each frame. Out: the first of them by rounds over the cells of
// one grid for all levels (features/algo/cell.h), in rank order.
//
// The place of a keypoint in its cell is the number of those of the cell that precede it in the
// order of the frame. Two sorts give it (gpu/steps/select/sorted_runs.cuh), one by the order of the
// frame, one by cell and that order. Five kernels:
//   1. Keys of each level, sorted in runs.
//   2. Places in the order of the frame.
//   3. Cells with those places, sorted in runs.
//   4. Places in the cells.
//   5. Choice, one block a level: the last round, then the last place of it, each bit by bit; then
//      the level's keypoints in the order of the frame, which is their rank order.

#include "gpu/steps/select/cell_rounds.h"

#include "features/algo/cell.h"
#include "features/algo/frame_order.h"
#include "features/algo/order.h"
#include "features/host_device.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/global_pointer.cuh"
#include "gpu/steps/level_share.cuh"
#include "gpu/steps/select/block_scan.cuh"
#include "gpu/steps/select/sorted_runs.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kMergeThreads = kMergeWarps * kWarpLanes;
constexpr int kLevelShift = 28;  // of the level in a candidate's place: level, place in the list
constexpr uint32_t kPlaceMask = (1u << kLevelShift) - 1;
static_assert(kMaxLevels <= 1 << (32 - kLevelShift));
constexpr int kCellShift = 32;  // of the cell above a place in the order of the frame

// The lists of a frame; lane l knows level l.
struct RoundLists {
  int count;
  int begin;  // of the level's lists among the survivors
  int total;  // of all levels
  bool overflowed;
  uint64_t* runs;        // [level][count], keys sorted in runs
  uint64_t* by_cell;     // [total], cell and place in the order of the frame
  uint32_t* candidates;  // [total] in the order of the frame: level and place among the runs
  uint32_t* rounds;      // [total] in the order of the frame: place in the cell

  __device__ RoundLists(const CellRoundParams& params, const FrameParams& frame,
                        const FrameCounters& counters) {
    const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
    const bool has_level = lane < params.keys.levels;
    count = has_level ? counters.corners[lane] : 0;
    const ListRoom room = has_level ? frame.survivor_room[lane] : ListRoom{0, 0};
    begin = room.begin;
    overflowed = __ballot_sync(kFullWarp, count > room.count) != 0;
    total = ShareOfLevel(count).total;
    int entries = room.begin + room.count;
#pragma unroll
    for (int distance = kWarpLanes / 2; distance > 0; distance /= 2) {
      entries = Max(entries, __shfl_xor_sync(kFullWarp, entries, distance));
    }
    runs = Global(frame.survivors);
    by_cell = Global(frame.spare);
    candidates = reinterpret_cast<uint32_t*>(by_cell + entries);
    rounds = candidates + entries;
  }
};

__global__ __launch_bounds__(kSortThreads) void SortLevelsKernel(
    const __grid_constant__ CellRoundParams params) {
  __shared__ uint64_t run[kRunKeys];
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  const RoundLists lists(params, frame, params.frames.counters[frame_index]);
  if (lists.overflowed) return;
  const uint64_t* const __restrict__ frame_keys =
      params.keys.key + frame_index * params.keys.stride;
  const LevelShare share = ShareOfLevel(DivUp(lists.count, kRunKeys));
  for (int i = static_cast<int>(blockIdx.x); i < share.total; i += static_cast<int>(gridDim.x)) {
    const int l = LevelOf(share, i);
    const int count = __shfl_sync(kFullWarp, lists.count, l);
    const int begin = (i - __shfl_sync(kFullWarp, share.begin, l)) * kRunKeys;
    const uint64_t* const __restrict__ keys = frame_keys + params.keys.offset[l] + begin;
    SortRun(
        Min(count - begin, kRunKeys), [keys](int k) { return keys[k]; }, run,
        lists.runs + __shfl_sync(kFullWarp, lists.begin, l) + begin);
  }
}

// A block takes 32 keys of a level, one a lane; its warps share the runs to search.
__global__ __launch_bounds__(kMergeThreads) void FramePlacesKernel(
    const __grid_constant__ CellRoundParams params) {
  __shared__ int parts[kMergeWarps][kWarpLanes];
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  const RoundLists lists(params, frame, params.frames.counters[frame_index]);
  if (lists.overflowed) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const LevelShare share = ShareOfLevel(DivUp(lists.count, kWarpLanes));
  for (int group = static_cast<int>(blockIdx.x); group < share.total;
       group += static_cast<int>(gridDim.x)) {
    const int l = LevelOf(share, group);
    const int count = __shfl_sync(kFullWarp, lists.count, l);
    const int mine = (group - __shfl_sync(kFullWarp, share.begin, l)) * kWarpLanes + lane;
    const uint64_t* const own = lists.runs + __shfl_sync(kFullWarp, lists.begin, l);
    const uint64_t key = mine < count ? own[mine] : kLastKey;
    const uint64_t order = key >> kCellShift << kCellShift;
    int turn = 0;
    int place = 0;
    for (int m = 0; m < params.keys.levels; ++m) {
      const int others = __shfl_sync(kFullWarp, lists.count, m);
      const uint64_t* const list = lists.runs + __shfl_sync(kFullWarp, lists.begin, m);
      // Lower levels come first among equal responses. No response has the last order.
      const uint64_t first_behind = m == l ? key : order + (m < l ? uint64_t{1} << kCellShift : 0);
      VisitRuns(list, others, &turn, [&](const uint64_t* run, int keys) {
        place += CountBelowInRun(run, keys, first_behind);
      });
    }
    place = SumOverWarps(place, parts);
    if (mine < count && static_cast<int>(threadIdx.x) < kWarpLanes) {
      const int cell = algo::CellOf(params.cells.grid, algo::RankKeyX(key), algo::RankKeyY(key),
                                    params.cells.scale[l]);
      lists.by_cell[place] =
          static_cast<uint64_t>(cell) << kCellShift | static_cast<uint32_t>(place);
      lists.candidates[place] =
          static_cast<uint32_t>(l) << kLevelShift | static_cast<uint32_t>(mine);
    }
  }
}

__global__ __launch_bounds__(kSortThreads) void SortCellsKernel(
    const __grid_constant__ CellRoundParams params) {
  __shared__ uint64_t run[kRunKeys];
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  const RoundLists lists(params, frame, params.frames.counters[frame_index]);
  if (lists.overflowed) return;
  for (int begin = static_cast<int>(blockIdx.x) * kRunKeys; begin < lists.total;
       begin += static_cast<int>(gridDim.x) * kRunKeys) {
    uint64_t* const keys = lists.by_cell + begin;
    SortRun(
        Min(lists.total - begin, kRunKeys), [keys](int k) { return keys[k]; }, run, keys);
  }
}

__global__ __launch_bounds__(kMergeThreads) void CellPlacesKernel(
    const __grid_constant__ CellRoundParams params) {
  __shared__ int parts[kMergeWarps][kWarpLanes];
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  const RoundLists lists(params, frame, params.frames.counters[frame_index]);
  if (lists.overflowed) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  for (int begin = static_cast<int>(blockIdx.x) * kWarpLanes; begin < lists.total;
       begin += static_cast<int>(gridDim.x) * kWarpLanes) {
    const int mine = begin + lane;
    const uint64_t key = mine < lists.total ? lists.by_cell[mine] : kLastKey;
    const uint64_t first_of_cell = key >> kCellShift << kCellShift;
    int turn = 0;
    int place = 0;
    VisitRuns(lists.by_cell, lists.total, &turn, [&](const uint64_t* run, int keys) {
      place += CountBelowInRun(run, keys, key) - CountBelowInRun(run, keys, first_of_cell);
    });
    place = SumOverWarps(place, parts);
    if (mine < lists.total && static_cast<int>(threadIdx.x) < kWarpLanes) {
      lists.rounds[static_cast<uint32_t>(key)] = static_cast<uint32_t>(place);
    }
  }
}

// The greatest number below 2^`bits` for which `count(number)`, of the whole block, is at most
// `most`. The count grows with the number and is 0 for 0.
template <typename Count>
__device__ __forceinline__ uint32_t GreatestWithin(int bits, int most, const Count& count) {
  uint32_t greatest = 0;
  for (int bit = bits - 1; bit >= 0; --bit) {
    const uint32_t tried = greatest | 1u << bit;
    if (count(tried) <= most) greatest = tried;
  }
  return greatest;
}

__global__ __launch_bounds__(kScanThreads) void CellChoiceKernel(
    const __grid_constant__ CellRoundParams params) {
  __shared__ int warp_counts[kScanWarps];
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  FrameCounters& counters = params.frames.counters[frame_index];
  const RoundLists lists(params, frame, counters);
  if (lists.overflowed) return;
  const int l = static_cast<int>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  const uint32_t* const __restrict__ rounds = lists.rounds;
  const int total = lists.total;
  const int wanted = frame.answer_limit;
  // Rounds and places are below 2^bits, and so is the number of all.
  const int bits = 32 - __clz(total);
  // Rounds before this one are kept, of this one the candidates before `last_place`.
  uint32_t last_round = 1u << bits;
  uint32_t last_place = 0;
  if (total > wanted) {
    int before = 0;
    last_round = GreatestWithin(bits, wanted, [&](uint32_t round) {
      int count = 0;
      for (int i = thread; i < total; i += kScanThreads) count += rounds[i] < round ? 1 : 0;
      return SumOfBlock(count, warp_counts);
    });
    for (int i = thread; i < total; i += kScanThreads) before += rounds[i] < last_round ? 1 : 0;
    before = SumOfBlock(before, warp_counts);
    last_place = GreatestWithin(bits, wanted - before, [&](uint32_t place) {
      int count = 0;
      const int end = Min(total, static_cast<int>(place));
      for (int i = thread; i < end; i += kScanThreads) count += rounds[i] == last_round ? 1 : 0;
      return SumOfBlock(count, warp_counts);
    });
  }

  const uint64_t* const __restrict__ keys = lists.runs + __shfl_sync(kFullWarp, lists.begin, l);
  uint64_t* const __restrict__ ranked = Global(frame.ranked) + frame.ranked_room[l].begin;
  const int room = frame.ranked_room[l].count;
  int kept = 0;
  for (int begin = 0; begin < total; begin += kScanThreads) {
    const int i = begin + thread;
    bool stays = false;
    uint32_t candidate = 0;
    if (i < total) {
      candidate = lists.candidates[i];
      const uint32_t round = rounds[i];
      stays =
          static_cast<int>(candidate >> kLevelShift) == l &&
          (round < last_round || (round == last_round && static_cast<uint32_t>(i) < last_place));
    }
    int in_chunk = 0;
    const int place = kept + CountBefore(stays, warp_counts, &in_chunk);
    if (stays && place < room) ranked[place] = keys[candidate & kPlaceMask];
    kept += in_chunk;
  }
  if (thread == 0) counters.kept[l] = kept;
}

}  // namespace

absl::Status LaunchCellRounds(const CellRoundParams& params, cudaStream_t stream) {
  const int frames = params.frames.count;
  if (frames == 0) return absl::OkStatus();
  const dim3 run_grid(Max(params.multiprocessors / frames, 8), frames);
  const dim3 merge_grid(Max(8 * params.multiprocessors / frames, params.multiprocessors), frames);
  SortLevelsKernel<<<run_grid, kSortThreads, 0, stream>>>(params);
  ORBSERVE_RETURN_IF_ERROR(CheckLaunch("SortLevelsKernel"));
  FramePlacesKernel<<<merge_grid, kMergeThreads, 0, stream>>>(params);
  ORBSERVE_RETURN_IF_ERROR(CheckLaunch("FramePlacesKernel"));
  SortCellsKernel<<<run_grid, kSortThreads, 0, stream>>>(params);
  ORBSERVE_RETURN_IF_ERROR(CheckLaunch("SortCellsKernel"));
  CellPlacesKernel<<<merge_grid, kMergeThreads, 0, stream>>>(params);
  ORBSERVE_RETURN_IF_ERROR(CheckLaunch("CellPlacesKernel"));
  CellChoiceKernel<<<dim3(params.keys.levels, frames), kScanThreads, 0, stream>>>(params);
  return CheckLaunch("CellChoiceKernel");
}

absl::Status CellRoundsStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  return LaunchCellRounds(
      {context.frames, keys_.At(context), cells_, context.tables->multiprocessors}, stream);
}

absl::Status CellRoundsStep::FinishLarge(const StepContext& context, LargeFrame* frame) const {
  ORBSERVE_RETURN_IF_ERROR(frame->MakeRoomForAll(/*spare_per_survivor=*/2));
  return Enqueue(context, frame->stream);
}

}  // namespace orbserve::gpu
