// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: keyed corners of the levels of each frame. Out: those that the list of nodes keeps, in its
// order (features/algo/node_list.h).
//
// Candidates sorted by path (LaunchPathOrder()) hold every node as a run, and a split is three
// searches. One block a level keeps the list in global memory, front first. The place of a child in
// the next list follows from a scan over the children of the nodes that are split, the last made
// first; behind them come the nodes that stayed. One thread sorts the open nodes of a pass: equal
// keys must end as the algorithm of the sort leaves them.

#include "gpu/steps/select/node_list.h"

#include <bit>

#include "features/algo/node_list.h"
#include "features/algo/order.h"
#include "features/host_device.h"
#include "features/pipeline/capacity.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/global_pointer.cuh"
#include "gpu/steps/select/block_scan.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kOpenAtHand = 2048;  // open nodes that are sorted in shared memory

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

// Sum of `value` over the threads of the block before this one; `total` becomes that of the block.
// All kScanThreads threads take part. `warp_sums`: shared, kScanWarps entries.
__device__ __forceinline__ int SumBefore(int value, int* warp_sums, int* total) {
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int up_to = SumUpToLane(value, lane);
  if (lane == kWarpLanes - 1) warp_sums[warp] = up_to;
  __syncthreads();  // the sums of all warps are there
  const int end = SumUpToLane(warp_sums[lane], lane);
  *total = __shfl_sync(kFullWarp, end, kWarpLanes - 1);
  const int before = warp > 0 ? __shfl_sync(kFullWarp, end, warp - 1) : 0;
  __syncthreads();  // all warps have read them
  return before + up_to - value;
}

// Candidates of a level in the order of their paths.
struct OrderedPaths {
  const uint64_t* ordered;
  int shift;

  __device__ uint64_t At(int i) const { return ordered[i] >> shift; }
  // First candidate of [begin, end) whose path is not below `path`.
  __device__ int LowerBound(int begin, int end, uint64_t path) const {
    while (begin < end) {
      const int middle = begin + (end - begin) / 2;
      if (At(middle) < path) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    return begin;
  }
};

// The children of a node: child i has the candidates [bound[i], bound[i + 1]).
struct Children {
  int bound[5];
  int count;  // of those that are not empty

  __device__ Children(const OrderedPaths& paths, const Run& run) {
    const int shift = 2 * Max(algo::kNodeDepth - 1 - run.depth, 0);
    const uint64_t node = paths.At(run.begin) >> (shift + 2) << 2;
    bound[0] = run.begin;
    bound[4] = run.begin + run.count;
    count = 0;
    for (int child = 1; child < 4; ++child) {
      bound[child] = paths.LowerBound(bound[child - 1], bound[4],
                                      (node | static_cast<uint64_t>(child)) << shift);
    }
    for (int child = 0; child < 4; ++child) count += bound[child] < bound[child + 1] ? 1 : 0;
  }
  // Writes them in the order in which they are made.
  __device__ void Write(int depth, uint64_t* to) const {
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
  int* warp_sums = nullptr;      // shared
  int length = 0;
  int open_count = 0;

  __device__ void MakeRoots(int number) {
    for (int base = 0; base < roots.count; base += kScanThreads) {
      const int root = base + static_cast<int>(threadIdx.x);
      int begin = 0;
      int end = 0;
      if (root < roots.count) {
        constexpr int kShift = 2 * algo::kNodeDepth;
        begin = paths.LowerBound(0, number, static_cast<uint64_t>(root) << kShift);
        end = paths.LowerBound(begin, number, static_cast<uint64_t>(root + 1) << kShift);
      }
      int total = 0;
      const int place = length + SumBefore(begin < end ? 1 : 0, warp_sums, &total);
      if (begin < end) nodes[place] = PackRun({begin, end - begin, 0});
      length += total;
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
      const int at = open_count + SumBefore(run.count > 1 ? 1 : 0, warp_sums, &total);
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
          SumBefore((splits ? of.count : 0) | (stays ? 1 << 16 : 0), warp_sums, &total);
      if (splits) of.Write(run.depth, children + made + (before & 0xffff));
      if (stays) stayed[kept + (before >> 16)] = node;
      made += total & 0xffff;
      kept += total >> 16;
    }
    __syncthreads();  // all nodes are read, children and others are there
    Rebuild(made, kept);
  }

  // Splits open nodes, the largest first, until there are `wanted` nodes.
  __device__ void Pass(int wanted, uint64_t* at_hand) {
    const bool is_small = open_count <= kOpenAtHand;
    uint64_t* const sorted = is_small ? at_hand : open;
    if (is_small) {
      for (int i = static_cast<int>(threadIdx.x); i < open_count; i += kScanThreads) {
        sorted[i] = open[i];
      }
      __syncthreads();  // all nodes are at hand
    }
    if (threadIdx.x == 0) algo::SortNodes(sorted, open_count);
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
      const int gain_before = SumBefore(is_open ? of.count - 1 : 0, warp_sums, &total);
      const bool splits = is_open && length + gained + gain_before < wanted;
      if (splits) {
        // All before it are split: each has made one more than it gained.
        of.Write(run.depth, children + made + gain_before + static_cast<int>(threadIdx.x));
        nodes[place] = 0;
      }
      made += SumOfBlock(splits ? of.count : 0, warp_sums);
      gained += SumOfBlock(splits ? of.count - 1 : 0, warp_sums);
    }
    __syncthreads();  // nodes that were split are marked
    int kept = 0;
    for (int base = 0; base < length; base += kScanThreads) {
      const int i = base + static_cast<int>(threadIdx.x);
      const uint64_t node = i < length ? nodes[i] : 0;
      int total = 0;
      const int before = SumBefore(node != 0 ? 1 : 0, warp_sums, &total);
      if (node != 0) stayed[kept + before] = node;
      kept += total;
    }
    __syncthreads();  // all nodes are read, and those that stay are there
    Rebuild(made, kept);
  }

  __device__ void Build(int number, int wanted, uint64_t* at_hand) {
    MakeRoots(number);
    for (;;) {
      const int before = length;
      Round();
      if (length >= wanted || length == before) return;
      if (length + 3 * open_count > wanted) break;
    }
    while (open_count > 0) {
      const int before = length;
      Pass(wanted, at_hand);
      if (length >= wanted || length == before) return;
    }
  }
};

// One level of one frame.
__global__ __launch_bounds__(kScanThreads) void NodeListKernel(
    const __grid_constant__ NodeListParams params) {
  __shared__ int warp_sums[kScanWarps];
  __shared__ uint64_t at_hand[kOpenAtHand];
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

  NodeList list = {{spare, order.level[l].path_shift}, order.level[l].roots};
  list.nodes = spare + 2 * static_cast<int64_t>(entries);
  list.children = spare + 3 * static_cast<int64_t>(entries);
  list.open = spare + 4 * static_cast<int64_t>(entries);
  list.stayed = Global(frame.survivors) + begin;  // whose runs have been put in order
  list.warp_sums = warp_sums;
  list.Build(number, frame.second_cut[l], at_hand);
  if (threadIdx.x == 0) counters.kept[l] = list.length;

  // A warp takes the best of a node: the highest score, of equal ones the first in the order of
  // zones.
  const ListRoom ranked = frame.ranked_room[l];
  uint64_t* const to = Global(frame.ranked) + ranked.begin;
  const algo::Zones zones = params.zones[l];
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int last = Min(list.length, ranked.count);
  for (int n = static_cast<int>(threadIdx.x) / kWarpLanes; n < last; n += kScanWarps) {
    const Run run = UnpackRun(list.nodes[n]);
    uint64_t best = ~uint64_t{0};
    uint64_t best_key = 0;
    for (int i = lane; i < run.count; i += kWarpLanes) {
      const uint64_t key = keys[run.begin + i];
      const uint64_t rank =
          key >> 32 << 32 | zones.OrderOf(algo::RankKeyX(key), algo::RankKeyY(key));
      if (rank < best) {
        best = rank;
        best_key = key;
      }
    }
#pragma unroll
    for (int distance = kWarpLanes / 2; distance > 0; distance /= 2) {
      const uint64_t other = __shfl_xor_sync(kFullWarp, best, distance);
      const uint64_t other_key = __shfl_xor_sync(kFullWarp, best_key, distance);
      if (other < best) {
        best = other;
        best_key = other_key;
      }
    }
    if (lane == 0) to[n] = best_key;
  }
}

}  // namespace

absl::Status LaunchNodeList(const NodeListParams& params, cudaStream_t stream) {
  if (params.order.frames.count == 0) return absl::OkStatus();
  ORBSERVE_RETURN_IF_ERROR(LaunchPathOrder(params.order, /*of_node_list=*/true, stream));
  const dim3 grid(params.order.keys.levels, params.order.frames.count);
  NodeListKernel<<<grid, kScanThreads, 0, stream>>>(params);
  return CheckLaunch("NodeListKernel");
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
  return LaunchNodeList(params, stream);
}

absl::Status NodeListStep::FinishLarge(const StepContext& context, LargeFrame* frame) const {
  ORBSERVE_RETURN_IF_ERROR(frame->MakeRoomForAll(kNodeListSpare));
  return Enqueue(context, frame->stream);
}

}  // namespace orbserve::gpu
