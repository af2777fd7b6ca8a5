// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: keyed corners of the levels of each frame. Out: those that a quadtree chooses of each level
// (features/algo/quadtree.h).
// Source: R. Mur-Artal & J. Tardos, "ORB-SLAM2", T-RO 2017 (DistributeOctTree of the published
// code), with a total order; features/algo/quadtree.h has the differences.
//
// Candidates sorted by path hold every node as a run, so the tree is never built. Three kernels:
//   1. Paths: a block makes the candidates of a run and sorts them
//   (gpu/steps/select/sorted_runs.cuh).
//   2. Order: 32 candidates a block find their places in the level's list.
//   3. Choice: one block a level counts forks, which tell the last round and the depth of its
//      nodes, finds those nodes that are split before there are enough, and takes the best of each
//      node by an atomic minimum. Nodes are split by a total order, so a threshold in that order
//      tells which are: bit by bit the greatest before which there are not enough nodes.
// Times grow with the number of candidates: 35,000 of a level take some 60 microseconds.

#include "gpu/steps/select/quadtree.h"

#include <bit>

#include "features/algo/order.h"
#include "features/algo/quadtree.h"
#include "features/host_device.h"
#include "gpu/runtime/check.h"
#include "gpu/steps/global_pointer.cuh"
#include "gpu/steps/level_share.cuh"
#include "gpu/steps/select/block_scan.cuh"
#include "gpu/steps/select/sorted_runs.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kMergeThreads = kMergeWarps * kWarpLanes;
// Nodes that the last round begins with are fewer than are wanted.
constexpr int kSplitWords = DivUp(kMaxFeatures, 32);
// Nodes of the last round as one number: algo::QuadtreeSplitKey() and, below it, the nodes that the
// split adds, 0..3. The two bits on top of the key, which always are set, make room for that.
constexpr int kGainBits = 2;
constexpr uint64_t kGainMask = (1 << kGainBits) - 1;

// The lists of a frame; lane l knows level l.
struct TreeLists {
  int count;   // candidates
  int wanted;  // keypoints
  int begin;   // of the level's lists among the survivors, and in the spare memory
  bool overflowed;
  // Candidates of levels that have more than are wanted; 0 for the others, where none is left out.
  int divided;

  __device__ TreeLists(const QuadtreeParams& params, const FrameParams& frame,
                       const FrameCounters& counters) {
    const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
    const bool has_level = lane < params.keys.levels;
    count = has_level ? counters.corners[lane] : 0;
    wanted = has_level ? frame.second_cut[lane] : 0;
    begin = has_level ? frame.survivor_room[lane].begin : 0;
    const int room = has_level ? frame.survivor_room[lane].count : 0;
    overflowed = __ballot_sync(kFullWarp, count > room) != 0;
    divided = wanted > 0 && count > wanted ? count : 0;
  }
};

// Candidates of each run of the lists, sorted, to the lists of survivors.
__global__ __launch_bounds__(kSortThreads) void QuadtreePathsKernel(
    const __grid_constant__ QuadtreeParams params) {
  __shared__ uint64_t run[kRunKeys];
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  const TreeLists lists(params, frame, params.frames.counters[frame_index]);
  if (lists.overflowed) return;
  const uint64_t* const __restrict__ frame_keys =
      params.keys.key + frame_index * params.keys.stride;
  uint64_t* const candidates = Global(frame.survivors);
  const LevelShare share = ShareOfLevel(DivUp(lists.divided, kRunKeys));
  for (int i = static_cast<int>(blockIdx.x); i < share.total; i += static_cast<int>(gridDim.x)) {
    const int l = LevelOf(share, i);
    const int count = __shfl_sync(kFullWarp, lists.divided, l);
    const int begin = (i - __shfl_sync(kFullWarp, share.begin, l)) * kRunKeys;
    const uint64_t* const __restrict__ keys = frame_keys + params.keys.offset[l] + begin;
    const QuadtreeLevel level = params.level[l];
    const int border_px = params.border_px;
    SortRun(
        Min(count - begin, kRunKeys),
        [&](int k) {
          const uint64_t path = algo::QuadtreePath(algo::RankKeyX(keys[k]) - border_px,
                                                   algo::RankKeyY(keys[k]) - border_px,
                                                   level.width_px, level.height_px);
          return path << level.path_shift | static_cast<uint64_t>(begin + k);
        },
        run, candidates + __shfl_sync(kFullWarp, lists.begin, l) + begin);
  }
}

// Candidates of each list in order, to the spare memory.
__global__ __launch_bounds__(kMergeThreads) void QuadtreeOrderKernel(
    const __grid_constant__ QuadtreeParams params) {
  __shared__ int parts[kMergeWarps][kWarpLanes];
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  const TreeLists lists(params, frame, params.frames.counters[frame_index]);
  if (lists.overflowed) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const uint64_t* const runs = Global(frame.survivors);
  uint64_t* const __restrict__ ordered = Global(frame.spare);
  const LevelShare share = ShareOfLevel(DivUp(lists.divided, kWarpLanes));
  for (int group = static_cast<int>(blockIdx.x); group < share.total;
       group += static_cast<int>(gridDim.x)) {
    const int l = LevelOf(share, group);
    const int count = __shfl_sync(kFullWarp, lists.divided, l);
    const int begin = __shfl_sync(kFullWarp, lists.begin, l);
    const int mine = (group - __shfl_sync(kFullWarp, share.begin, l)) * kWarpLanes + lane;
    const uint64_t candidate = mine < count ? runs[begin + mine] : kLastKey;
    int turn = 0;
    int place = 0;
    VisitRuns(runs + begin, count, &turn, [&](const uint64_t* run, int keys) {
      place += CountBelowInRun(run, keys, candidate);
    });
    place = SumOverWarps(place, parts);
    if (mine < count && static_cast<int>(threadIdx.x) < kWarpLanes) {
      ordered[begin + place] = candidate;
    }
  }
}

struct ChoiceMemory {
  int forks[kScanWarps][algo::kQuadtreeDepth + 1];  // a copy for each warp: fewer atomics collide
  uint32_t split[kSplitWords];  // which nodes of the last round are split, one bit each
  int warp_counts[kScanWarps];
};

// One level of one frame.
__global__ __launch_bounds__(kScanThreads) void QuadtreeChoiceKernel(
    const __grid_constant__ QuadtreeParams params) {
  __shared__ ChoiceMemory memory;
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  FrameCounters& counters = params.frames.counters[frame_index];
  const TreeLists lists(params, frame, counters);
  if (lists.overflowed) return;
  const int l = static_cast<int>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarpLanes;
  const int lane = thread % kWarpLanes;
  const int number = __shfl_sync(kFullWarp, lists.count, l);
  const int wanted = __shfl_sync(kFullWarp, lists.wanted, l);
  const int begin_of_level = __shfl_sync(kFullWarp, lists.begin, l);
  const uint64_t* const __restrict__ keys =
      params.keys.key + frame_index * params.keys.stride + params.keys.offset[l];
  uint64_t* const chosen = Global(frame.survivors) + begin_of_level;
  if (wanted <= 0 || number <= wanted) {  // none or all
    const int all = wanted <= 0 ? 0 : number;
    for (int i = thread; i < all; i += kScanThreads) chosen[i] = keys[i];
    // Keys are read in pairs.
    if (thread == 0 && all % 2 != 0) chosen[all] = kLastKey;
    if (thread == 0) counters.chosen[l] = all;
    return;
  }
  const uint64_t* const __restrict__ ordered = Global(frame.spare) + begin_of_level;
  const QuadtreeLevel level = params.level[l];
  const auto path_of = [&](int i) { return ordered[i] >> level.path_shift; };
  // Depth at which candidate i leaves the nodes of the one before it.
  const auto fork_of = [&](int i) { return algo::QuadtreeFork(path_of(i - 1), path_of(i)); };

  // Nodes that each round adds.
  for (int i = thread; i < kScanWarps * (algo::kQuadtreeDepth + 1); i += kScanThreads) {
    memory.forks[i / (algo::kQuadtreeDepth + 1)][i % (algo::kQuadtreeDepth + 1)] = 0;
  }
  __syncthreads();  // all counts are 0
  for (int i = thread + 1; i < number; i += kScanThreads) {
    atomicAdd(&memory.forks[warp][fork_of(i)], 1);
  }
  __syncthreads();  // the counts of the warps are complete
  if (thread <= algo::kQuadtreeDepth) {
    for (int w = 1; w < kScanWarps; ++w) memory.forks[0][thread] += memory.forks[w][thread];
  }
  __syncthreads();  // and added up
  // The last round. Each candidate ends in a node of its own, and there are more than are wanted.
  int round = 0;
  int nodes = 1 + memory.forks[0][0];
  while (nodes < wanted && round < algo::kQuadtreeDepth) nodes += memory.forks[0][++round];
  const int depth = round > 0 ? round - 1 : 0;  // of the nodes that it splits
  if (round > 0) nodes -= memory.forks[0][round];
  const bool splits = round > 0;

  // The nodes that the last round begins with, in the order of their candidates: where each begins,
  // and in the upper half what its split adds.
  auto* const halves = reinterpret_cast<uint32_t*>(chosen);
  if (splits) {
    for (int i = thread; i < number; i += kScanThreads) chosen[i] = 0;
    __syncthreads();  // no node has gained
    int runs = 0;
    for (int base = 0; base < number; base += kScanThreads) {
      const int i = base + thread;
      const int fork = i == 0 || i >= number ? 0 : fork_of(i);
      const bool begins = i < number && (i == 0 || fork <= depth);
      int total = 0;
      const int before = runs + CountBefore(begins, memory.warp_counts, &total);
      if (begins) {
        halves[2 * before] = static_cast<uint32_t>(i);
      } else if (i < number && fork == round) {
        atomicAdd(&halves[2 * (before - 1) + 1], 1u);
      }
      runs += total;
    }
    __syncthreads();  // all nodes are known
    for (int base = 0; base < runs; base += kScanThreads) {
      const int r = base + thread;
      uint64_t node = 0;
      if (r < runs) {
        const int begin = static_cast<int>(__ldcg(&halves[2 * r]));
        const int end = r + 1 < runs ? static_cast<int>(__ldcg(&halves[2 * (r + 1)])) : number;
        node = algo::QuadtreeSplitKey(path_of(begin), depth, end - begin, level.width_px,
                                      level.height_px)
                   << kGainBits |
               __ldcg(&halves[2 * r + 1]);
      }
      __syncthreads();  // this node and the next one have been read
      if (r < runs) chosen[r] = node;
    }
    __syncthreads();  // all nodes have their keys
    // Nodes have more bits in common than their counts can tell apart.
    int bit = 2 * 32 - kGainBits - 1;
    uint64_t last = 0;  // a node is split if its key is at most that
    const int count_bits = 32 - __clz(number);
    for (; bit >= 32 + count_bits; --bit) last |= uint64_t{1} << bit;
    for (; bit >= 0; --bit) {
      const uint64_t tried = last | uint64_t{1} << bit;
      int gain = 0;
      for (int r = thread; r < runs; r += kScanThreads) {
        const uint64_t node = chosen[r];
        if (node >> kGainBits < tried) gain += static_cast<int>(node & kGainMask);
      }
      if (nodes + SumOfBlock(gain, memory.warp_counts) < wanted) last = tried;
    }
    for (int base = 0; base < runs; base += kScanThreads) {
      const int r = base + thread;
      const unsigned split = __ballot_sync(kFullWarp, r < runs && chosen[r] >> kGainBits <= last);
      if (lane == 0 && r < runs) memory.split[r / 32] = split;
    }
    __syncthreads();  // the nodes are read: their memory takes the best of each part
  }

  // One more than there can be, as keys are read in pairs.
  for (int i = thread; i < RoundUp(number, 2); i += kScanThreads) chosen[i] = kLastKey;
  __syncthreads();  // no part has a candidate
  int runs = 0;
  int parts = 0;
  for (int base = 0; base < number; base += kScanThreads) {
    const int i = base + thread;
    const int fork = i == 0 || i >= number ? 0 : fork_of(i);
    const bool begins = i < number && (i == 0 || fork <= depth);
    int total = 0;
    const int before = runs + CountBefore(begins, memory.warp_counts, &total);
    const int run = begins ? before : before - 1;
    runs += total;
    bool begins_part = begins;
    if (splits && i < number && !begins && fork == round) {
      begins_part = (memory.split[run / 32] >> (run % 32) & 1) != 0;
    }
    const int parts_before = parts + CountBefore(begins_part, memory.warp_counts, &total);
    parts += total;
    if (i < number) {
      const auto place =
          static_cast<uint32_t>(ordered[i] & ((uint64_t{1} << level.path_shift) - 1));
      atomicMin(reinterpret_cast<unsigned long long*>(chosen) +
                    (begins_part ? parts_before : parts_before - 1),
                static_cast<unsigned long long>(keys[place]));
    }
  }
  if (thread == 0) counters.chosen[l] = parts;
}

}  // namespace

absl::Status LaunchQuadtree(const QuadtreeParams& params, cudaStream_t stream) {
  const int frames = params.frames.count;
  if (frames == 0) return absl::OkStatus();
  const dim3 run_grid(Max(params.multiprocessors / frames, 8), frames);
  QuadtreePathsKernel<<<run_grid, kSortThreads, 0, stream>>>(params);
  ORBSERVE_RETURN_IF_ERROR(CheckLaunch("QuadtreePathsKernel"));
  const dim3 merge_grid(Max(8 * params.multiprocessors / frames, params.multiprocessors), frames);
  QuadtreeOrderKernel<<<merge_grid, kMergeThreads, 0, stream>>>(params);
  ORBSERVE_RETURN_IF_ERROR(CheckLaunch("QuadtreeOrderKernel"));
  QuadtreeChoiceKernel<<<dim3(params.keys.levels, frames), kScanThreads, 0, stream>>>(params);
  return CheckLaunch("QuadtreeChoiceKernel");
}

QuadtreeStep::QuadtreeStep(const CompiledPipeline& pipeline, const KeyListBuffers& keys)
    : keys_(keys), border_px_(pipeline.spec.pipeline.select.border_px) {
  for (int l = 0; l < pipeline.pyramid.detecting_levels; ++l) {
    const Region& region = pipeline.level(l).region;
    if (region.empty()) continue;
    const algo::QuadtreeRoots roots = algo::QuadtreeRootsOf(region.width(), region.height());
    // A path has the number of its root and two bits for each step. Of its 64 bits the others
    // remain, 34 for one root, 18 where a level of one row has 32,767 of them.
    const int root_bits =
        static_cast<int>(std::bit_width(static_cast<uint32_t>(roots.columns * roots.rows - 1)));
    level_[l] = {region.width(), region.height(), 64 - 2 * algo::kQuadtreeDepth - root_bits};
  }
}

absl::Status QuadtreeStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  QuadtreeParams params = {};
  params.frames = context.frames;
  params.keys = keys_.At(context);
  for (int l = 0; l < kMaxLevels; ++l) params.level[l] = level_[l];
  params.border_px = border_px_;
  params.multiprocessors = context.tables->multiprocessors;
  return LaunchQuadtree(params, stream);
}

absl::Status QuadtreeStep::FinishLarge(const StepContext& context, LargeFrame* frame) const {
  ORBSERVE_RETURN_IF_ERROR(frame->MakeRoomForAll(/*spare_per_survivor=*/1));
  return Enqueue(context, frame->stream);
}

}  // namespace orbserve::gpu
