// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: keyed corners of the levels of each frame. Out: those that the list of nodes keeps, in its
// order (features/algo/node_list.h).
//
// Candidates sorted by path (LaunchPathOrder()) hold every node as a run, and a split is three
// searches, one step after the other for all three. One block a level keeps the list in global
// memory, front first. The place of a child in the next list follows from a scan over the children
// of the nodes that are split, the last made first; behind them come the nodes that stayed.
//
// Shared memory: 46 KiB, of which 22 hold paths and 24 the open nodes of a pass while they are
// sorted. Longer lists stay in global memory.

#include "gpu/steps/select/node_list.h"

#include <bit>

#include "features/algo/node_list.h"
#include "features/algo/order.h"
#include "features/host_device.h"
#include "features/input_limits.h"
#include "features/pipeline/capacity.h"
#include "gpu/runtime/overlap.cuh"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/global_pointer.cuh"
#include "gpu/steps/select/block_scan.cuh"
#include "gpu/steps/select/node_sort.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kOpenAtHand = 1024;   // open nodes that are sorted in shared memory
constexpr int kPathsAtHand = 5632;  // candidates whose paths are in shared memory
constexpr int kLanesPerNode = 8;    // they find the best corner of a node

struct ListMemory {
  uint64_t open[kOpenAtHand];
  uint64_t sorted[kOpenAtHand];
  int up[kOpenAtHand];
  int down[kOpenAtHand];
  uint32_t steps[kPathsAtHand];
  int warp_sums[kScanWarps];
};
static_assert(sizeof(ListMemory) <= 48 * 1024);
static_assert(kMaxSidePx / algo::kZoneLeastPx < kScanThreads && kScanThreads <= kOpenAtHand,
              "each root has a thread, and a place in ListMemory::up");

// A node: a run of candidates, and its depth. 0: no node.
constexpr int kRunBits = 26;
struct Run {
  int begin;
  int count;
  int depth;
};
__device__ __forceinline__ uint64_t PackRun(const Run& run) {
  return static_cast<uint64_t>(run.depth) << (2 * kRunBits) |
         static_cast<uint64_t>(run.count) << kRunBits | static_cast<uint64_t>(run.begin);
}
__device__ __forceinline__ Run UnpackRun(uint64_t node) {
  constexpr uint64_t kMask = (uint64_t{1} << kRunBits) - 1;
  return {static_cast<int>(node & kMask), static_cast<int>((node >> kRunBits) & kMask),
          static_cast<int>(node >> (2 * kRunBits))};
}

// Candidates of a level in the order of their paths.
struct OrderedPaths {
  const uint64_t* ordered;
  int shift;
  const uint32_t* at_hand;  // Steps() in shared memory; null for a long list

  __device__ uint64_t At(int i) const { return ordered[i] >> shift; }
  __device__ int RootOf(int i) const { return static_cast<int>(At(i) >> (2 * algo::kNodeDepth)); }
  // Path without its root, which is the same for all candidates of a node.
  __device__ uint32_t Steps(int i) const {
    static_assert(2 * algo::kNodeDepth == 32);
    return at_hand != nullptr ? at_hand[i] : static_cast<uint32_t>(At(i));
  }
};

// The children of a node: child i has the candidates [bound[i], bound[i + 1]). A node without
// candidates has none.
struct Children {
  int bound[5];
  int count = 0;  // of those that are not empty

  __device__ Children(const OrderedPaths& paths, const Run& run) {
#pragma unroll
    for (int child = 0; child < 4; ++child) bound[child] = run.begin;
    bound[4] = run.begin + run.count;
    if (run.count == 0) return;
    const int shift = 2 * Max(algo::kNodeDepth - 1 - run.depth, 0);
    const uint32_t node = paths.Steps(run.begin) & ~((4u << shift) - 1u);
    // The first candidates that are not below children 1, 2 and 3.
    int rest = run.count;
    for (; rest > 1; rest -= rest / 2) {
      const int half = rest / 2;
#pragma unroll
      for (int child = 1; child < 4; ++child) {
        const uint32_t steps = paths.Steps(bound[child] + half - 1);
        if (steps < (node | static_cast<uint32_t>(child) << shift)) bound[child] += half;
      }
    }
#pragma unroll
    for (int child = 1; child < 4; ++child) {
      const uint32_t steps = paths.Steps(bound[child]);
      if (steps < (node | static_cast<uint32_t>(child) << shift)) ++bound[child];
    }
#pragma unroll
    for (int child = 0; child < 4; ++child) count += bound[child] < bound[child + 1] ? 1 : 0;
  }
  // Writes them in the order in which they are made.
  __device__ void Write(int depth, uint64_t* to) const {
#pragma unroll
    for (int child = 0; child < 4; ++child) {
      const int size = bound[child + 1] - bound[child];
      if (size > 0) *to++ = PackRun({bound[child], size, depth + 1});
    }
  }
};

// The list of one level. All threads of the block have the same numbers, and call its functions
// together.
struct NodeList {
  OrderedPaths paths;
  algo::NodeRoots roots;
  uint64_t* nodes = nullptr;     // front first
  uint64_t* children = nullptr;  // of a pass, in the order in which they were made
  uint64_t* stayed = nullptr;    // of a pass
  uint64_t* open = nullptr;      // algo::SortedNode() of the open children of a pass, in that order
  ListMemory* memory = nullptr;  // shared
  int length = 0;
  int open_count = 0;

  __device__ void MakeRoots(int number) {
    const int thread = static_cast<int>(threadIdx.x);
    int* const first = memory->up;  // candidate of each root, or -1
    if (thread < roots.count) first[thread] = -1;
    __syncthreads();  // no root has a candidate yet
    const bool is_short = number <= kPathsAtHand;
    for (int i = thread; i < number; i += kScanThreads) {
      const int root = paths.RootOf(i);
      if (i == 0 || paths.RootOf(i - 1) != root) first[root] = i;
      if (is_short) memory->steps[i] = static_cast<uint32_t>(paths.At(i));
    }
    paths.at_hand = is_short ? memory->steps : nullptr;
    __syncthreads();  // the first candidates and the paths are there
    const int begin = thread < roots.count ? first[thread] : -1;
    const int place = CountBefore(begin >= 0, memory->warp_sums, &length);
    if (begin >= 0) memory->down[place] = begin;
    __syncthreads();  // roots without candidates are left out
    if (thread < length) {
      const int own = memory->down[thread];
      const int end = thread + 1 < length ? memory->down[thread + 1] : number;
      nodes[thread] = PackRun({own, end - own, 0});
    }
    __syncthreads();  // the list is complete
  }

  // The next list: `made` children and `kept` nodes that stayed.
  __device__ void Rebuild(int made, int kept) {
    open_count = 0;
    for (int base = 0; base < made; base += kScanThreads) {
      const int i = base + static_cast<int>(threadIdx.x);
      const uint64_t child = i < made ? children[i] : 0;
      const Run run = UnpackRun(child);
      const int place = made - 1 - i;
      if (i < made) nodes[place] = child;
      int total = 0;
      const int at = open_count + SumBefore(run.count > 1 ? 1 : 0, memory->warp_sums, &total);
      if (run.count > 1) {
        open[at] = algo::SortedNode(run.count,
                                    algo::NodeLeft(paths.At(run.begin), run.depth, roots), place);
      }
      open_count += total;
    }
    for (int i = static_cast<int>(threadIdx.x); i < kept; i += kScanThreads) {
      nodes[made + i] = stayed[i];
    }
    length = made + kept;
    __syncthreads();  // the list and its open nodes are complete
  }

  // Splits every open node, from the front.
  __device__ void Round() {
    int made = 0;
    int kept = 0;
    for (int base = 0; base < length; base += kScanThreads) {
      const int i = base + static_cast<int>(threadIdx.x);
      const uint64_t node = i < length ? nodes[i] : 0;
      const Run run = UnpackRun(node);
      const bool splits = run.count > 1;
      const bool stays = run.count == 1;
      const Children of(paths, splits ? run : Run{0, 0, 0});
      // Both sums at once: children in the lower half.
      int total = 0;
      const int before =
          SumBefore((splits ? of.count : 0) | (stays ? 1 << 16 : 0), memory->warp_sums, &total);
      if (splits) of.Write(run.depth, children + made + (before & 0xffff));
      if (stays) stayed[kept + (before >> 16)] = node;
      made += total & 0xffff;
      kept += total >> 16;
    }
    __syncthreads();  // all nodes are read, children and others are there
    Rebuild(made, kept);
  }

  // Splits open nodes, the largest first, until there are `wanted` nodes.
  __device__ void Pass(int wanted) {
    uint64_t* sorted = stayed;
    if (open_count <= kOpenAtHand) {
      sorted = memory->sorted;
      for (int i = static_cast<int>(threadIdx.x); i < open_count; i += kScanThreads) {
        memory->open[i] = open[i];
      }
      __syncthreads();  // all nodes are at hand
      SortNodesOfBlock(memory->open, open_count, memory->up, memory->down, sorted);
    } else {
      // An open node has two candidates or more, so the children's memory holds two numbers each.
      int* const places = reinterpret_cast<int*>(children);
      SortNodesOfBlock(open, open_count, places, places + open_count, sorted);
    }
    __syncthreads();  // they are sorted
    int made = 0;
    int gained = 0;
    for (int base = 0; base < open_count && length + gained < wanted; base += kScanThreads) {
      const int visit = base + static_cast<int>(threadIdx.x);
      const bool is_open = visit < open_count;
      const int place = is_open ? algo::PlaceOfNode(sorted[open_count - 1 - visit]) : 0;
      const Run run = is_open ? UnpackRun(nodes[place]) : Run{0, 0, 0};
      const Children of(paths, run);
      int total = 0;
      const int gain_before = SumBefore(is_open ? of.count - 1 : 0, memory->warp_sums, &total);
      const bool splits = is_open && length + gained + gain_before < wanted;
      if (splits) {
        // All before it are split: each has made one more than it gained.
        of.Write(run.depth, children + made + gain_before + static_cast<int>(threadIdx.x));
        nodes[place] = 0;
      }
      made += SumOfBlock(splits ? of.count : 0, memory->warp_sums);
      gained += SumOfBlock(splits ? of.count - 1 : 0, memory->warp_sums);
    }
    __syncthreads();  // nodes that were split are marked
    int kept = 0;
    for (int base = 0; base < length; base += kScanThreads) {
      const int i = base + static_cast<int>(threadIdx.x);
      const uint64_t node = i < length ? nodes[i] : 0;
      int total = 0;
      const int before = SumBefore(node != 0 ? 1 : 0, memory->warp_sums, &total);
      if (node != 0) stayed[kept + before] = node;
      kept += total;
    }
    __syncthreads();  // all nodes are read, and those that stay are there
    Rebuild(made, kept);
  }

  __device__ void Build(int number, int wanted) {
    MakeRoots(number);
    for (;;) {
      const int before = length;
      Round();
      if (length >= wanted || length == before) return;
      if (length + 3 * open_count > wanted) break;
    }
    while (open_count > 0) {
      const int before = length;
      Pass(wanted);
      if (length >= wanted || length == before) return;
    }
  }
};

// One level of one frame.
__global__ __launch_bounds__(kScanThreads) void NodeListKernel(
    const __grid_constant__ NodeListParams params) {
  __shared__ ListMemory memory;
  BeginNextKernel();
  AwaitKernelBefore();
  const QuadtreeParams& order = params.order;
  const int frame_index = order.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = order.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  FrameCounters& counters = order.frames.counters[frame_index];
  int entries = 0;  // of all lists
  for (int l = 0; l < order.keys.levels; ++l) {
    const ListRoom room = frame.survivor_room[l];
    if (counters.corners[l] > room.count) return;
    entries = room.begin + room.count;
  }
  const int l = static_cast<int>(blockIdx.x);
  const int number = counters.corners[l];
  if (number == 0) return;
  const int64_t begin = frame.survivor_room[l].begin;
  uint64_t* const spare = Global(frame.spare) + begin;
  const uint64_t* const keys = spare + entries;

  NodeList list = {{spare, order.level[l].path_shift, nullptr}, order.level[l].roots};
  list.nodes = spare + 2 * static_cast<int64_t>(entries);
  list.children = spare + 3 * static_cast<int64_t>(entries);
  list.open = spare + 4 * static_cast<int64_t>(entries);
  list.stayed = Global(frame.survivors) + begin;  // whose runs have been put in order
  list.memory = &memory;
  list.Build(number, frame.second_cut[l]);
  if (threadIdx.x == 0) counters.kept[l] = list.length;

  // The best of each node: the highest score, of equal ones the first in the order of zones.
  const ListRoom ranked = frame.ranked_room[l];
  uint64_t* const to = Global(frame.ranked) + ranked.begin;
  const algo::Zones zones = params.zones[l];
  const int lane = static_cast<int>(threadIdx.x) % kLanesPerNode;
  const int last = Min(list.length, ranked.count);
  for (int base = 0; base < last; base += kScanThreads / kLanesPerNode) {
    const int n = base + static_cast<int>(threadIdx.x) / kLanesPerNode;
    const Run run = n < last ? UnpackRun(list.nodes[n]) : Run{0, 0, 0};
    uint64_t best = ~uint64_t{0};
    uint64_t best_key = 0;
    for (int i = lane; i < run.count; i += kLanesPerNode) {
      const uint64_t key = keys[run.begin + i];
      const uint64_t rank =
          key >> 32 << 32 | zones.OrderOf(algo::RankKeyX(key), algo::RankKeyY(key));
      if (rank < best) {
        best = rank;
        best_key = key;
      }
    }
#pragma unroll
    for (int distance = kLanesPerNode / 2; distance > 0; distance /= 2) {
      const uint64_t other = __shfl_xor_sync(kFullWarp, best, distance);
      const uint64_t other_key = __shfl_xor_sync(kFullWarp, best_key, distance);
      if (other < best) {
        best = other;
        best_key = other_key;
      }
    }
    if (lane == 0 && n < last) to[n] = best_key;
  }
}

}  // namespace

absl::Status LaunchNodeList(const NodeListParams& params, cudaStream_t stream) {
  if (params.order.frames.count == 0) return absl::OkStatus();
  ORBSERVE_RETURN_IF_ERROR(LaunchPathOrder(params.order, /*of_node_list=*/true, stream));
  const dim3 grid(params.order.keys.levels, params.order.frames.count);
  return LaunchKernel(NodeListKernel, "NodeListKernel", grid, kScanThreads, params.order.overlaps,
                      params, stream);
}

NodeListStep::NodeListStep(const CompiledPipeline& pipeline, const KeyListBuffers& keys)
    : keys_(keys) {
  params_.order.border_px = algo::kZoneFramePx;
  for (int l = 0; l < pipeline.pyramid.detecting_levels; ++l) {
    const LevelGeometry& level = pipeline.level(l);
    if (level.region.empty()) continue;
    const algo::NodeRoots roots = algo::NodeRootsOf(level.width_px, level.height_px);
    const int root_bits = static_cast<int>(std::bit_width(static_cast<uint32_t>(roots.count - 1)));
    params_.order.level[l] = {level.width_px, level.height_px,
                              64 - 2 * algo::kNodeDepth - root_bits, roots};
    params_.zones[l] = ZonesOf(level.region);
  }
}

absl::Status NodeListStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  NodeListParams params = params_;
  params.order.frames = context.frames;
  params.order.keys = keys_.At(context);
  params.order.multiprocessors = context.tables->multiprocessors;
  params.order.follows = context.follows;
  params.order.overlaps = context.overlaps;
  return LaunchNodeList(params, stream);
}

absl::Status NodeListStep::FinishLarge(const StepContext& context, LargeFrame* frame) const {
  ORBSERVE_RETURN_IF_ERROR(frame->MakeRoomForAll(kNodeListSpare));
  return Enqueue(context, frame->stream);
}

}  // namespace orbserve::gpu
