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
//   2. Order: 32 candidates a block find their places in the level's list, and take their rank keys
//      along.
//   3. Choice: one block a level counts forks, which tell the last round and the depth of its
//      nodes, finds those nodes that are split before there are enough, and takes the best of each
//      node by an atomic minimum. A node is split if the nodes that are split before it add too
//      few.
// The block of the last kernel goes through the whole list of its level. Each of its warps has a
// part of the list, which it goes through without waiting for the others; they wait once for the
// sums of a pass. A candidate's fork is computed once: most fit into shared memory.

#include "gpu/steps/select/quadtree.h"

#include <bit>

#include "features/algo/order.h"
#include "features/algo/quadtree.h"
#include "features/host_device.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/overlap.cuh"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/global_pointer.cuh"
#include "gpu/steps/level_share.cuh"
#include "gpu/steps/select/block_scan.cuh"
#include "gpu/steps/select/sorted_runs.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kMergeThreads = kMergeWarps * kWarpLanes;
constexpr int kSearchesAtOnce = 4;   // runs that a warp searches at a time
constexpr int kForksAtOnce = 4;      // forks of a thread whose candidates are under way
constexpr int kForksAtHand = 24576;  // candidates whose forks are in shared memory
// Nodes that the last round begins with are fewer than are wanted.
constexpr int kSplitWords = DivUp(kMaxFeatures, 32);
// Nodes of the last round as one number: algo::QuadtreeSplitKey() and, below it, the nodes that the
// split adds, 0..3. The two bits on top of the key, which always are set, make room for that.
constexpr int kGainBits = 2;
constexpr uint64_t kGainMask = (1 << kGainBits) - 1;

// The lists of a frame; lane l knows level l.
struct TreeLists {
  int count;    // candidates
  int wanted;   // keypoints
  int begin;    // of the level's lists among the survivors, and in the spare memory
  int entries;  // of all lists
  bool overflowed;
  // Candidates of levels that have more than are wanted; 0 for the others, where none is left out.
  int divided;

  __device__ TreeLists(const QuadtreeParams& params, const FrameParams& frame,
                       const FrameCounters& counters, bool divides_all = false) {
    const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
    const bool has_level = lane < params.keys.levels;
    count = has_level ? counters.corners[lane] : 0;
    wanted = has_level ? frame.second_cut[lane] : 0;
    begin = has_level ? frame.survivor_room[lane].begin : 0;
    const int room = has_level ? frame.survivor_room[lane].count : 0;
    entries = __shfl_sync(kFullWarp, begin + room, params.keys.levels - 1);
    overflowed = __ballot_sync(kFullWarp, count > room) != 0;
    divided = divides_all || (wanted > 0 && count > wanted) ? count : 0;
  }
};

// Candidates of each run of the lists, sorted, to the lists of survivors.
template <bool kNodeList>
__global__ __launch_bounds__(kSortThreads) void QuadtreePathsKernel(
    const __grid_constant__ QuadtreeParams params) {
  __shared__ uint64_t run[kRunKeys];
  BeginNextKernel();
  AwaitKernelBefore();
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  FrameCounters& counters = params.frames.counters[frame_index];
  const TreeLists lists(params, frame, counters, kNodeList);
  if (blockIdx.x == 0 && static_cast<int>(threadIdx.x) < params.keys.levels) {
    counters.survivors[threadIdx.x] = lists.count;  // all are candidates
  }
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
          const int x = algo::RankKeyX(keys[k]) - border_px;
          const int y = algo::RankKeyY(keys[k]) - border_px;
          const uint64_t path = kNodeList
                                    ? algo::NodePath(x, y, level.roots)
                                    : algo::QuadtreePath(x, y, level.width_px, level.height_px);
          return path << level.path_shift | static_cast<uint64_t>(begin + k);
        },
        run, candidates + __shfl_sync(kFullWarp, lists.begin, l) + begin);
  }
}

// Candidates of each list in order to the first half of the spare memory, and their rank keys to
// the second half.
template <bool kNodeList>
__global__ __launch_bounds__(kMergeThreads) void QuadtreeOrderKernel(
    const __grid_constant__ QuadtreeParams params) {
  __shared__ int parts[kMergeWarps][kWarpLanes];
  BeginNextKernel();
  AwaitKernelBefore();
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  const TreeLists lists(params, frame, params.frames.counters[frame_index], kNodeList);
  if (lists.overflowed) return;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const uint64_t* const __restrict__ frame_keys =
      params.keys.key + frame_index * params.keys.stride;
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
    // The key is on its way while runs are searched.
    const uint64_t place_mask = (uint64_t{1} << params.level[l].path_shift) - 1;
    uint64_t key = 0;
    if (mine < count && warp == 0) {
      key = frame_keys[params.keys.offset[l] + static_cast<int64_t>(candidate & place_mask)];
    }
    int place = 0;
    for (int first = warp; first * kRunKeys < count; first += kMergeWarps * kSearchesAtOnce) {
      const uint64_t* run[kSearchesAtOnce];
      int keys[kSearchesAtOnce];
      uint64_t limit[kSearchesAtOnce];
#pragma unroll
      for (int s = 0; s < kSearchesAtOnce; ++s) {
        const int run_begin = (first + s * kMergeWarps) * kRunKeys;
        keys[s] = Clamp(count - run_begin, 0, kRunKeys);
        run[s] = runs + begin + (keys[s] > 0 ? run_begin : 0);
        limit[s] = candidate;
      }
      int below[kSearchesAtOnce];
      CountBelowInRuns<kSearchesAtOnce>(run, keys, limit, below);
#pragma unroll
      for (int s = 0; s < kSearchesAtOnce; ++s) place += below[s];
    }
    place = SumOverWarps(place, parts);
    if (mine < count && warp == 0) {
      ordered[begin + place] = candidate;
      ordered[lists.entries + begin + place] = key;
    }
  }
}

struct ChoiceMemory {
  int forks[kScanWarps][algo::kQuadtreeDepth + 1];  // a copy for each warp: fewer atomics collide
  uint32_t split[kSplitWords];  // which nodes of the last round are split, one bit each
  int warp_counts[kScanWarps];
  int warp_joins[kScanWarps];
  int warp_parts[kScanWarps];
  uint64_t nodes[kScanThreads];  // of the last round, where they are that few
  uint8_t fork_at_hand[kForksAtHand];
};
static_assert(sizeof(ChoiceMemory) <= 48 * 1024);

// algo::QuadtreeFork().
__device__ __forceinline__ int ForkOf(uint64_t path_a, uint64_t path_b) {
  const int bits = 64 - __clzll(static_cast<long long>((path_a ^ path_b) >> 2));
  return Max(algo::kQuadtreeDepth - DivUp(bits, 2), 0);
}

// Sum of the values of warps before this one, and of all. `of_warp`: shared, complete.
struct WarpsSum {
  int before;
  int all;

  __device__ explicit WarpsSum(const int* of_warp) {
    const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
    const LevelShare share = ShareOfLevel(of_warp[threadIdx.x % kWarpLanes]);
    before = __shfl_sync(kFullWarp, share.begin, warp);
    all = share.total;
  }
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
  uint64_t* const chosen = Global(frame.survivors) + begin_of_level;
  if (wanted <= 0 || number <= wanted) {  // none or all
    const uint64_t* const __restrict__ keys =
        params.keys.key + frame_index * params.keys.stride + params.keys.offset[l];
    const int all = wanted <= 0 ? 0 : number;
    for (int i = thread; i < all; i += kScanThreads) chosen[i] = keys[i];
    // Keys are read in pairs.
    if (thread == 0 && all % 2 != 0) chosen[all] = kLastKey;
    if (thread == 0) counters.chosen[l] = all;
    return;
  }
  const uint64_t* const __restrict__ ordered = Global(frame.spare) + begin_of_level;
  const uint64_t* const __restrict__ ordered_keys = ordered + lists.entries;
  const QuadtreeLevel level = params.level[l];
  const auto path_of = [&](int i) { return ordered[i] >> level.path_shift; };
  // The warp's part of the list, in whole groups of 32.
  const int part_size = DivUp(DivUp(number, kWarpLanes), kScanWarps) * kWarpLanes;
  const int part_begin = warp * part_size;
  const int part_end = Min(part_begin + part_size, RoundUp(number, kWarpLanes));

  // Depth at which candidate i leaves the nodes of the one before it; the first leaves all. Nodes
  // that each round adds.
  for (int i = thread; i < kScanWarps * (algo::kQuadtreeDepth + 1); i += kScanThreads) {
    memory.forks[i / (algo::kQuadtreeDepth + 1)][i % (algo::kQuadtreeDepth + 1)] = 0;
  }
  __syncthreads();  // all counts are 0
  for (int base = part_begin + lane; base < part_end; base += kWarpLanes * kForksAtOnce) {
    uint64_t before[kForksAtOnce];
    uint64_t own[kForksAtOnce];
#pragma unroll
    for (int k = 0; k < kForksAtOnce; ++k) {
      const int i = Min(base + k * kWarpLanes, number - 1);
      before[k] = path_of(Max(i - 1, 0));
      own[k] = path_of(i);
    }
#pragma unroll
    for (int k = 0; k < kForksAtOnce; ++k) {
      const int i = base + k * kWarpLanes;
      if (i >= Min(part_end, number)) continue;
      const int fork = i == 0 ? 0 : ForkOf(before[k], own[k]);
      if (i < kForksAtHand) memory.fork_at_hand[i] = static_cast<uint8_t>(fork);
      if (i > 0) atomicAdd(&memory.forks[warp][fork], 1);
    }
  }
  __syncthreads();  // the counts of the warps are complete, forks are at hand
  constexpr int kNoFork = algo::kQuadtreeDepth + 1;
  const auto fork_of = [&](int i) -> int {
    if (i >= number) return kNoFork;
    if (i < kForksAtHand) return memory.fork_at_hand[i];
    return ForkOf(path_of(i - 1), path_of(i));
  };
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

  // Candidates with which a node begins, and those that join them if all nodes are split.
  int own_runs = 0;
  int own_joins = 0;
  for (int base = part_begin; base < part_end; base += kWarpLanes) {
    const int fork = fork_of(base + lane);
    own_runs += __popc(__ballot_sync(kFullWarp, fork <= depth));
    own_joins += __popc(__ballot_sync(kFullWarp, fork <= round));
  }
  if (lane == 0) {
    memory.warp_counts[warp] = own_runs;
    memory.warp_joins[warp] = own_joins;
  }
  __syncthreads();  // all warps have counted
  const WarpsSum runs(memory.warp_counts);
  const WarpsSum joins(memory.warp_joins);
  const unsigned lanes_before = (1u << lane) - 1;

  // The nodes that the last round begins with, in the order of their candidates: where each begins,
  // and in the upper half the beginnings before it if all are split.
  auto* const halves = reinterpret_cast<uint32_t*>(chosen);
  if (splits) {
    int runs_before = runs.before;
    int joins_before = joins.before;
    for (int base = part_begin; base < part_end; base += kWarpLanes) {
      const int fork = fork_of(base + lane);
      const unsigned begins = __ballot_sync(kFullWarp, fork <= depth);
      const unsigned joining = __ballot_sync(kFullWarp, fork <= round);
      if (fork <= depth) {
        const int run = runs_before + __popc(begins & lanes_before);
        halves[2 * run] = static_cast<uint32_t>(base + lane);
        halves[2 * run + 1] = static_cast<uint32_t>(joins_before + __popc(joining & lanes_before));
      }
      runs_before += __popc(begins);
      joins_before += __popc(joining);
    }
    __syncthreads();  // all nodes are known
    for (int base = 0; base < runs.all; base += kScanThreads) {
      const int r = base + thread;
      uint64_t node = 0;
      if (r < runs.all) {
        const bool is_last = r + 1 == runs.all;
        const int begin = static_cast<int>(__ldcg(&halves[2 * r]));
        const int end = is_last ? number : static_cast<int>(__ldcg(&halves[2 * r + 2]));
        const auto joins_at = static_cast<int>(__ldcg(&halves[2 * r + 1]));
        const int joins_end = is_last ? joins.all : static_cast<int>(__ldcg(&halves[2 * r + 3]));
        node = algo::QuadtreeSplitKey(path_of(begin), depth, end - begin, level.width_px,
                                      level.height_px)
                   << kGainBits |
               static_cast<uint64_t>(joins_end - joins_at - 1);
      }
      if (base == 0 && runs.all <= kScanThreads) {
        if (r < runs.all) memory.nodes[r] = node;
        break;
      }
      __syncthreads();  // this node and the next one have been read
      if (r < runs.all) chosen[r] = node;
    }
    __syncthreads();  // all nodes have their keys
    if (runs.all <= kScanThreads) {
      const bool has_node = thread < runs.all;
      const uint64_t own = has_node ? memory.nodes[thread] >> kGainBits : 0;
      int gain = 0;  // of the nodes that are split before
      if (warp * kWarpLanes < runs.all) {
#pragma unroll 4
        for (int r = 0; r < runs.all; ++r) {
          const uint64_t node = memory.nodes[r];
          if (node >> kGainBits < own) gain += static_cast<int>(node & kGainMask);
        }
      }
      const unsigned split = __ballot_sync(kFullWarp, has_node && nodes + gain < wanted);
      if (lane == 0 && has_node) memory.split[warp] = split;
    } else {
      // A threshold tells which nodes are split: bit by bit the greatest before which there are not
      // enough nodes. Nodes have more bits in common than their counts can tell apart.
      int bit = 2 * 32 - kGainBits - 1;
      uint64_t last = 0;  // a node is split if its key is at most that
      const int count_bits = 32 - __clz(number);
      for (; bit >= 32 + count_bits; --bit) last |= uint64_t{1} << bit;
      for (; bit >= 0; --bit) {
        const uint64_t tried = last | uint64_t{1} << bit;
        int gain = 0;
        for (int r = thread; r < runs.all; r += kScanThreads) {
          const uint64_t node = chosen[r];
          if (node >> kGainBits < tried) gain += static_cast<int>(node & kGainMask);
        }
        if (nodes + SumOfBlock(gain, memory.warp_counts) < wanted) last = tried;
      }
      for (int base = 0; base < runs.all; base += kScanThreads) {
        const int r = base + thread;
        const unsigned split =
            __ballot_sync(kFullWarp, r < runs.all && chosen[r] >> kGainBits <= last);
        if (lane == 0 && r < runs.all) memory.split[r / 32] = split;
      }
    }
    __syncthreads();  // the nodes are read: their memory takes the best of each part
  }

  // A part is a node, or what a split makes of it. The last split may add two more than are wanted.
  // Keys are read in pairs, so one more than there can be is cleared.
  const int most_parts = Min(number, Max(nodes, wanted + 2));
  for (int i = thread; i < RoundUp(most_parts, 2); i += kScanThreads) chosen[i] = kLastKey;
  // Calls visit(candidate, begins) for the candidates of the warp's part of the list; `begins`:
  // lanes whose candidate begins a part.
  const auto visit_parts = [&](const auto& visit) {
    int runs_before = runs.before;
    for (int base = part_begin; base < part_end; base += kWarpLanes) {
      const int fork = fork_of(base + lane);
      const unsigned begins = __ballot_sync(kFullWarp, fork <= depth);
      bool begins_part = fork <= depth;
      if (splits && fork == round) {
        const int run = runs_before + __popc(begins & lanes_before) - 1;
        begins_part = (memory.split[run / 32] >> (run % 32) & 1) != 0;
      }
      visit(base + lane, __ballot_sync(kFullWarp, begins_part));
      runs_before += __popc(begins);
    }
  };
  int own_parts = 0;
  visit_parts([&](int /*candidate*/, unsigned begins) { own_parts += __popc(begins); });
  if (lane == 0) memory.warp_parts[warp] = own_parts;
  __syncthreads();  // all warps have counted, and no part has a candidate
  const WarpsSum parts(memory.warp_parts);
  int parts_before = parts.before;
  const auto key_of = [&](int i) { return i < number ? ordered_keys[i] : kLastKey; };
  uint64_t next_key = key_of(part_begin + lane);
  visit_parts([&](int candidate, unsigned begins) {
    const int part = parts_before + __popc(begins & (lanes_before | 1u << lane)) - 1;
    uint64_t best = next_key;
    next_key = key_of(candidate + kWarpLanes);  // on its way meanwhile
    // The first lane of a part in this warp finds the best of the others.
#pragma unroll
    for (int distance = 1; distance < kWarpLanes; distance *= 2) {
      const uint64_t other = __shfl_down_sync(kFullWarp, best, distance);
      const int other_part = __shfl_down_sync(kFullWarp, part, distance);
      if (lane + distance < kWarpLanes && other_part == part && other < best) best = other;
    }
    if (candidate < number && (lane == 0 || (begins >> lane & 1) != 0)) {
      atomicMin(reinterpret_cast<unsigned long long*>(chosen) + part,
                static_cast<unsigned long long>(best));
    }
    parts_before += __popc(begins);
  });
  if (thread == 0) counters.chosen[l] = parts.all;
}

}  // namespace

absl::Status LaunchPathOrder(const QuadtreeParams& params, bool of_node_list, cudaStream_t stream) {
  const int frames = params.frames.count;
  if (frames == 0) return absl::OkStatus();
  const dim3 run_grid(Max(params.multiprocessors / frames, 8), frames);
  const dim3 merge_grid(Max(8 * params.multiprocessors / frames, params.multiprocessors), frames);
  const auto paths = of_node_list ? QuadtreePathsKernel<true> : QuadtreePathsKernel<false>;
  ORBSERVE_RETURN_IF_ERROR(LaunchKernel(paths, "QuadtreePathsKernel", run_grid, kSortThreads,
                                        params.follows, params, stream));
  const auto order = of_node_list ? QuadtreeOrderKernel<true> : QuadtreeOrderKernel<false>;
  return LaunchKernel(order, "QuadtreeOrderKernel", merge_grid, kMergeThreads, params.overlaps,
                      params, stream);
}

absl::Status LaunchQuadtree(const QuadtreeParams& params, cudaStream_t stream) {
  const int frames = params.frames.count;
  if (frames == 0) return absl::OkStatus();
  ORBSERVE_RETURN_IF_ERROR(LaunchPathOrder(params, /*of_node_list=*/false, stream));
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
    level_[l] = {region.width(), region.height(), 64 - 2 * algo::kQuadtreeDepth - root_bits, {}};
  }
}

absl::Status QuadtreeStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  QuadtreeParams params = {};
  params.frames = context.frames;
  params.keys = keys_.At(context);
  for (int l = 0; l < kMaxLevels; ++l) params.level[l] = level_[l];
  params.border_px = border_px_;
  params.multiprocessors = context.tables->multiprocessors;
  // Steps before it may have no kernel: then this one waits for another stream, too.
  params.follows = false;
  params.overlaps = context.overlaps;
  return LaunchQuadtree(params, stream);
}

absl::Status QuadtreeStep::FinishLarge(const StepContext& context, LargeFrame* frame) const {
  ORBSERVE_RETURN_IF_ERROR(frame->MakeRoomForAll(/*spare_per_survivor=*/2));
  return Enqueue(context, frame->stream);
}

}  // namespace orbserve::gpu
