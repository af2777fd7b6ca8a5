// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Node list: the selection of ORB-SLAM3, which spreads the corners of a level. Nodes are boxes in a
// list; a split takes a node out and puts its children, those with corners, at the front. Whole
// rounds split every node with more than one corner, from the front of the list to its back; when
// the next round could pass the wanted number, passes split the largest nodes first and stop as
// soon as there are enough. Each node gives its best corner, and the list is the order of the
// answer.
//
// Nodes of equal size are ordered by their left side alone, then by what a certain sort makes of
// them, so that sort is a part of the method: SortNodes().
//
// Coordinates count from (kZoneFramePx, kZoneFramePx) of the level.

#ifndef ORBSERVE_FEATURES_ALGO_NODE_LIST_H_
#define ORBSERVE_FEATURES_ALGO_NODE_LIST_H_

#include <cstdint>

#include "features/algo/quadtree.h"
#include "features/algo/zone.h"
#include "features/host_device.h"

namespace orbserve::algo {

// The area of a level that nodes divide, and its roots: boxes beside each other. Single precision
// decides their borders and owners: a corner may lie one column right of its root's box.
struct NodeRoots {
  int height = 0;
  int count = 0;
  float side = 0.0f;

  ORBSERVE_HOST_DEVICE int RootOf(int x) const {
    return static_cast<int>(static_cast<float>(x) / side);
  }
  ORBSERVE_HOST_DEVICE QuadtreeBox BoxOf(int root) const {
    return {static_cast<int>(side * static_cast<float>(root)), 0,
            static_cast<int>(side * static_cast<float>(root + 1)), height};
  }
};

// `width_px` and `height_px`: of the level. Without roots where it has no zones, or where it is
// more than twice as high as wide inside its frame.
ORBSERVE_HOST_DEVICE inline NodeRoots NodeRootsOf(int width_px, int height_px) {
  const int width = width_px - 2 * kZoneFramePx;
  const int height = height_px - 2 * kZoneFramePx;
  if (width < kZoneLeastPx || height < kZoneLeastPx) return {};
  const int count = (2 * width + height) / (2 * height);
  if (count == 0) return {};
  return {height, count, static_cast<float>(width) / static_cast<float>(count)};
}

// Most nodes of a list: a pass stops at the wanted number, and a split adds three. The first round
// takes place whatever is wanted.
ORBSERVE_HOST_DEVICE constexpr int MostNodes(int wanted, int roots) {
  return Max(wanted + 2, 4 * roots);
}

// Steps after which a node of an area of 32767 pixels a side holds one pixel, and one more for
// corners right of their root.
inline constexpr int kNodeDepth = 16;

// Path of a pixel: the root, then two bits a step, bit 0 = right, bit 1 = lower.
ORBSERVE_HOST_DEVICE inline uint64_t NodePath(int x, int y, const NodeRoots& roots) {
  const int root = roots.RootOf(x);
  QuadtreeBox box = roots.BoxOf(root);
  uint64_t path = static_cast<uint64_t>(root);
  for (int depth = 0; depth < kNodeDepth; ++depth) {
    const int child =
        (x >= QuadtreeSplit(box.x0, box.x1) ? 1 : 0) | (y >= QuadtreeSplit(box.y0, box.y1) ? 2 : 0);
    EnterQuadtreeChild(child, &box);
    path = path << 2 | static_cast<uint64_t>(child);
  }
  return path;
}

// Left side of the node of `depth`, 0 = root, that a path goes through.
ORBSERVE_HOST_DEVICE inline int NodeLeft(uint64_t path, int depth, const NodeRoots& roots) {
  QuadtreeBox box = roots.BoxOf(static_cast<int>(path >> (2 * kNodeDepth)));
  for (int d = 1; d <= depth; ++d) {
    EnterQuadtreeChild(static_cast<int>(path >> (2 * (kNodeDepth - d))) & 3, &box);
  }
  return box.x0;
}

// A node on its way through the sort: corners and left side above kNodePlaceBits bits that name its
// place and are no part of the key.
inline constexpr int kNodePlaceBits = 20;
ORBSERVE_HOST_DEVICE constexpr uint64_t SortedNode(int corners, int left, int place) {
  return static_cast<uint64_t>(corners) << (kNodePlaceBits + 16) |
         static_cast<uint64_t>(left) << kNodePlaceBits | static_cast<uint64_t>(place);
}
ORBSERVE_HOST_DEVICE constexpr int PlaceOfNode(uint64_t node) {
  return static_cast<int>(node & ((uint64_t{1} << kNodePlaceBits) - 1));
}
ORBSERVE_HOST_DEVICE constexpr bool NodePrecedes(uint64_t a, uint64_t b) {
  return a >> kNodePlaceBits < b >> kNodePlaceBits;
}

// Moves `node` into a heap of `count` nodes, largest at the top, whose place `hole` is empty.
ORBSERVE_HOST_DEVICE inline void SettleNode(uint64_t* heap, int hole, int count, uint64_t node) {
  const int begin = hole;
  while (2 * hole + 2 < count) {
    int child = 2 * hole + 2;
    if (NodePrecedes(heap[child], heap[child - 1])) --child;
    heap[hole] = heap[child];
    hole = child;
  }
  if (2 * hole + 2 == count) {
    heap[hole] = heap[count - 1];
    hole = count - 1;
  }
  while (hole > begin && NodePrecedes(heap[(hole - 1) / 2], node)) {
    heap[hole] = heap[(hole - 1) / 2];
    hole = (hole - 1) / 2;
  }
  heap[hole] = node;
}

// The sort of libstdc++ 12 divides segments of more than so many nodes.
inline constexpr int kSmallNodeSegment = 16;

// Divisions on the way down to a segment of `count` nodes, after which it becomes a heap.
ORBSERVE_HOST_DEVICE constexpr int NodeDivisions(int count) {
  int divisions = 0;
  for (int rest = count; rest > 1; rest /= 2) divisions += 2;
  return divisions;
}

// Place of the median of the second, the middle and the last of `size` nodes.
ORBSERVE_HOST_DEVICE inline int MedianNode(const uint64_t* nodes, int size) {
  const int b = 1;
  const int c = size / 2;
  const int e = size - 1;
  if (NodePrecedes(nodes[b], nodes[c])) {
    return NodePrecedes(nodes[c], nodes[e]) ? c : NodePrecedes(nodes[b], nodes[e]) ? e : b;
  }
  return NodePrecedes(nodes[b], nodes[e]) ? b : NodePrecedes(nodes[c], nodes[e]) ? e : c;
}

ORBSERVE_HOST_DEVICE inline void SortNodesByHeap(uint64_t* nodes, int size) {
  for (int i = (size - 2) / 2; i >= 0; --i) SettleNode(nodes, i, size, nodes[i]);
  for (int i = size - 1; i > 0; --i) {
    const uint64_t node = nodes[i];
    nodes[i] = nodes[0];
    SettleNode(nodes, 0, i, node);
  }
}

// Puts nodes in order, equal keys as `std::sort` of libstdc++ 12 leaves them: large segments are
// divided at a median of three, or become heaps if that went on for too long; then one stable sort
// by insertion.
ORBSERVE_HOST_DEVICE inline void SortNodes(uint64_t* nodes, int count) {
  struct Segment {
    int begin;
    int end;
    int budget;  // divisions that may follow
  };
  Segment open[64];  // one for each division on the way down
  int segments = 0;
  if (count > 0) open[segments++] = {0, count, NodeDivisions(count)};
  while (segments > 0) {
    Segment segment = open[--segments];
    while (segment.end - segment.begin > kSmallNodeSegment) {
      uint64_t* const first = nodes + segment.begin;
      const int size = segment.end - segment.begin;
      if (segment.budget == 0) {
        SortNodesByHeap(first, size);
        break;
      }
      --segment.budget;
      const int median = MedianNode(first, size);
      const uint64_t pivot = first[median];
      first[median] = first[0];
      first[0] = pivot;
      int up = 1;
      int down = size - 1;
      for (;;) {
        while (up < size && NodePrecedes(first[up], pivot)) ++up;
        while (down > 0 && NodePrecedes(pivot, first[down])) --down;
        if (up >= down) break;
        const uint64_t node = first[up];
        first[up++] = first[down];
        first[down--] = node;
      }
      open[segments++] = {segment.begin + up, segment.end, segment.budget};
      segment.end = segment.begin + up;
    }
  }
  for (int i = 1; i < count; ++i) {
    const uint64_t node = nodes[i];
    int hole = i;
    for (; hole > 0 && NodePrecedes(node, nodes[hole - 1]); --hole) nodes[hole] = nodes[hole - 1];
    nodes[hole] = node;
  }
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_NODE_LIST_H_
