// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// algo::SortNodes() by the threads of one block, with the same result for equal keys. One warp
// divides segments; exchanges of a division are counted before they are made. The final stable sort
// moves a node inside its last segment only, so each thread finds the place of one node.

#ifndef ORBSERVE_GPU_STEPS_SELECT_NODE_SORT_CUH_
#define ORBSERVE_GPU_STEPS_SELECT_NODE_SORT_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "features/algo/node_list.h"
#include "features/host_device.h"
#include "gpu/runtime/warp.cuh"

namespace orbserve::gpu {

// Divides a segment of more than algo::kSmallNodeSegment nodes at its median of three; returns its
// cut. `up`, `down`: memory for `size` places each. One warp, all lanes.
__device__ inline int DivideNodes(uint64_t* first, int size, int* up, int* down) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const unsigned lanes_before = (1u << lane) - 1;
  const int median = algo::MedianNode(first, size);
  const uint64_t pivot = first[median];
  const uint64_t exchanged = first[0];
  __syncwarp();  // all lanes have read
  if (lane == 0) {
    first[median] = exchanged;
    first[0] = pivot;
  }
  __syncwarp();  // the pivot is in front
  // Places of nodes that are not below the pivot, and of those that are not above it.
  int ups = 0;
  int downs = 0;
  for (int base = 1; base < size; base += kWarpLanes) {
    const int i = base + lane;
    const uint64_t node = i < size ? first[i] : 0;
    const bool is_up = i < size && !algo::NodePrecedes(node, pivot);
    const bool is_down = i < size && !algo::NodePrecedes(pivot, node);
    const unsigned all_up = __ballot_sync(kFullWarp, is_up);
    const unsigned all_down = __ballot_sync(kFullWarp, is_down);
    if (is_up) up[ups + __popc(all_up & lanes_before)] = i;
    if (is_down) down[downs + __popc(all_down & lanes_before)] = i;
    ups += __popc(all_up);
    downs += __popc(all_down);
  }
  __syncwarp();  // both lists are complete
  // The first from the left and the first from the right change places, and so on until they meet.
  int exchanges = 0;
  for (unsigned all = kFullWarp; all == kFullWarp;) {
    const int k = exchanges + lane;
    const int left = k < ups ? up[k] : size;
    const int right = k < downs ? down[downs - 1 - k] : 0;
    all = __ballot_sync(kFullWarp, left < right);
    if (left < right) {
      const uint64_t node = first[left];
      first[left] = first[right];
      first[right] = node;
    }
    exchanges += __popc(all);
  }
  int cut = exchanges < ups ? up[exchanges] : size;
  if (exchanges > 0) cut = Min(cut, down[downs - exchanges]);
  __syncwarp();  // nodes have changed places, and all lanes have read the lists
  return cut;
}

// Divides all segments until they are small. One warp, all lanes; `count` is at least 1.
__device__ inline void DivideAllNodes(uint64_t* nodes, int count, int* up, int* down) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  int begin = 0;
  int end = count;
  int budget = algo::NodeDivisions(count);
  // Segments that wait: lane i has the i-th. There are not more than divisions on the way down.
  static_assert(algo::NodeDivisions(kMaxFeatures) <= kWarpLanes);
  int waiting = 0;
  int waiting_begin = 0;
  int waiting_end = 0;
  int waiting_budget = 0;
  for (;;) {
    if (end - begin > algo::kSmallNodeSegment && budget > 0) {
      --budget;
      const int cut = begin + DivideNodes(nodes + begin, end - begin, up, down);
      if (lane == waiting) {
        waiting_begin = cut;
        waiting_end = end;
        waiting_budget = budget;
      }
      ++waiting;
      end = cut;
      continue;
    }
    if (end - begin > algo::kSmallNodeSegment && lane == 0) {
      algo::SortNodesByHeap(nodes + begin, end - begin);
    }
    if (waiting == 0) return;
    --waiting;
    begin = __shfl_sync(kFullWarp, waiting_begin, waiting);
    end = __shfl_sync(kFullWarp, waiting_end, waiting);
    budget = __shfl_sync(kFullWarp, waiting_budget, waiting);
  }
}

// Sorts `count` nodes, 1..kMaxFeatures, to `sorted`; `nodes` change places. `up`, `down`: memory
// for `count` numbers each. All threads of the block take part; the caller waits before it reads.
__device__ inline void SortNodesOfBlock(uint64_t* nodes, int count, int* up, int* down,
                                        uint64_t* sorted) {
  if (static_cast<int>(threadIdx.x) < kWarpLanes) DivideAllNodes(nodes, count, up, down);
  __syncthreads();  // segments are small, or in order
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    const uint64_t node = nodes[i];
    int place = i;
    for (int distance = 1; distance < algo::kSmallNodeSegment; ++distance) {
      if (i >= distance && algo::NodePrecedes(node, nodes[i - distance])) --place;
      if (i + distance < count && algo::NodePrecedes(nodes[i + distance], node)) ++place;
    }
    sorted[place] = node;
  }
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SELECT_NODE_SORT_CUH_
