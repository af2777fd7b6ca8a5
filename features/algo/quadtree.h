// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Selection that spreads keypoints over a level: its region is split into quarters, largest nodes
// first, until there are as many nodes as keypoints are wanted; each node gives its best.
//
//   +-----+-----+     The region is cut into one row (or column) of about square roots. A round
//   | .   |  :  |     splits all nodes with more than one candidate, those with the most candidates
//   +--+--+-----+     first, then by y, then by x; it stops as soon as there are enough nodes.
//   |. |  | .   |     Empty nodes never exist.
//   +--+--+     |
//   |  | .|     |     Where a node is split depends on its box alone, so each candidate has one
//   path
//   +--+--+-----+     from its root down, two bits a step. Round r splits exactly the nodes of
//   depth
//                     r - 1: candidates sorted by path hold every node as a run, and the number of
// nodes after a whole round is the number of different path beginnings. Only the last round is cut
// short, by a running sum of what each split adds.
//
// Source: R. Mur-Artal & J. Tardos, "ORB-SLAM2", T-RO 2017 (DistributeOctTree of the published
// code): its split rule and its largest-first order. It takes up to three keypoints more than
// wanted and orders equal counts by address; here the number is exact and the order total.

#ifndef ORBSERVE_FEATURES_ALGO_QUADTREE_H_
#define ORBSERVE_FEATURES_ALGO_QUADTREE_H_

#include <algorithm>
#include <cstdint>

#include "features/algo/order.h"
#include "features/host_device.h"

namespace orbserve::algo {

// Steps after which a node of the largest region, 32767 pixels a side, is a single pixel.
inline constexpr int kQuadtreeDepth = 15;

// Roots of a region of width x height pixels, both >= 1: one row or one column of them.
struct QuadtreeRoots {
  int columns;
  int rows;
};
ORBSERVE_HOST_DEVICE constexpr QuadtreeRoots QuadtreeRootsOf(int width, int height) {
  return {Max(1, (2 * width + height) / (2 * height)), Max(1, (2 * height + width) / (2 * width))};
}

// Pixels [x0, x1) x [y0, y1) of the region.
struct QuadtreeBox {
  int x0;
  int y0;
  int x1;
  int y1;
};

// First pixel of part `i` of `parts` along a side.
ORBSERVE_HOST_DEVICE constexpr int QuadtreePartBegin(int side, int i, int parts) {
  return static_cast<int>(static_cast<int64_t>(side) * i / parts);
}
// The part that pixel `x` lies in.
ORBSERVE_HOST_DEVICE constexpr int QuadtreePartOf(int side, int x, int parts) {
  return static_cast<int>((static_cast<int64_t>(x + 1) * parts - 1) / side);
}

// First pixel of the right, or lower, children of a node.
ORBSERVE_HOST_DEVICE constexpr int QuadtreeSplit(int begin, int end) {
  return begin + (end - begin + 1) / 2;
}

// One step down: the box becomes that of child `child`, bit 0 = right, bit 1 = lower.
ORBSERVE_HOST_DEVICE constexpr void EnterQuadtreeChild(int child, QuadtreeBox* box) {
  const int mx = QuadtreeSplit(box->x0, box->x1);
  const int my = QuadtreeSplit(box->y0, box->y1);
  if ((child & 1) != 0) {
    box->x0 = mx;
  } else {
    box->x1 = mx;
  }
  if ((child & 2) != 0) {
    box->y0 = my;
  } else {
    box->y1 = my;
  }
}

ORBSERVE_HOST_DEVICE constexpr QuadtreeBox QuadtreeRootBox(int root, int width, int height) {
  const QuadtreeRoots roots = QuadtreeRootsOf(width, height);
  const int i = root % roots.columns;
  const int j = root / roots.columns;
  return {QuadtreePartBegin(width, i, roots.columns), QuadtreePartBegin(height, j, roots.rows),
          QuadtreePartBegin(width, i + 1, roots.columns),
          QuadtreePartBegin(height, j + 1, roots.rows)};
}

// Path of pixel (x, y) of a region: the root, then kQuadtreeDepth steps of two bits. Below 2^46.
ORBSERVE_HOST_DEVICE constexpr uint64_t QuadtreePath(int x, int y, int width, int height) {
  const QuadtreeRoots roots = QuadtreeRootsOf(width, height);
  const int root = QuadtreePartOf(height, y, roots.rows) * roots.columns +
                   QuadtreePartOf(width, x, roots.columns);
  QuadtreeBox box = QuadtreeRootBox(root, width, height);
  uint64_t path = static_cast<uint64_t>(root);
  for (int depth = 0; depth < kQuadtreeDepth; ++depth) {
    const int child =
        (x >= QuadtreeSplit(box.x0, box.x1) ? 1 : 0) | (y >= QuadtreeSplit(box.y0, box.y1) ? 2 : 0);
    EnterQuadtreeChild(child, &box);
    path = path << 2 | static_cast<uint64_t>(child);
  }
  return path;
}

// The node of `depth`, 0 = root, that a path goes through.
ORBSERVE_HOST_DEVICE constexpr uint64_t QuadtreeNode(uint64_t path, int depth) {
  return path >> (2 * (kQuadtreeDepth - depth));
}

// The least depth at which two different paths are in different nodes, 0..kQuadtreeDepth.
ORBSERVE_HOST_DEVICE constexpr int QuadtreeFork(uint64_t path_a, uint64_t path_b) {
  int depth = kQuadtreeDepth;
  for (uint64_t difference = (path_a ^ path_b) >> 2; difference != 0 && depth > 0;
       difference >>= 2) {
    --depth;
  }
  return depth;
}

// Ascending keys put the nodes of one round in the order in which they are split: number of
// candidates down, top y up, left x up. `path`: of any pixel in the node.
ORBSERVE_HOST_DEVICE constexpr uint64_t QuadtreeSplitKey(uint64_t path, int depth, int candidates,
                                                         int width, int height) {
  QuadtreeBox box = QuadtreeRootBox(static_cast<int>(QuadtreeNode(path, 0)), width, height);
  for (int d = 1; d <= depth; ++d) {
    EnterQuadtreeChild(static_cast<int>(QuadtreeNode(path, d) & 3), &box);
  }
  return static_cast<uint64_t>(~static_cast<uint32_t>(candidates)) << 32 |
         static_cast<uint32_t>(box.y0) << 16 | static_cast<uint32_t>(box.x0);
}

// A candidate on its way through the selection.
struct QuadtreeCandidate {
  uint64_t path;
  uint64_t key;  // rank key, features/algo/order.h
};

// A node of the last round: a run of candidates sorted by path.
struct QuadtreeRun {
  uint64_t split_key;
  int32_t begin;
  int32_t count;
  int32_t gain;  // nodes that its split adds, 0..3
};

// Moves the chosen ones of `number` keys of one level to the front, in rank order, and returns how
// many there are: exactly min(wanted, number). Coordinates in the keys count from the level's
// corner; the region of width x height pixels begins at (border_px, border_px). `candidates` and
// `runs`: scratch for `number` each. Host only; a device takes the same steps in parallel.
inline int KeepByQuadtree(uint64_t* keys, int number, int width, int height, int border_px,
                          int wanted, QuadtreeCandidate* candidates, QuadtreeRun* runs) {
  if (wanted <= 0) return 0;
  if (number <= wanted) {
    std::sort(keys, keys + number);
    return number;
  }
  for (int i = 0; i < number; ++i) {
    candidates[i] = {
        QuadtreePath(RankKeyX(keys[i]) - border_px, RankKeyY(keys[i]) - border_px, width, height),
        keys[i]};
  }
  std::sort(candidates, candidates + number,
            [](const QuadtreeCandidate& a, const QuadtreeCandidate& b) { return a.path < b.path; });

  // Nodes after the rounds 0 (roots) to kQuadtreeDepth; the last has one candidate a node.
  int32_t forks[kQuadtreeDepth + 1] = {};
  for (int i = 0; i + 1 < number; ++i) {
    ++forks[QuadtreeFork(candidates[i].path, candidates[i + 1].path)];
  }
  int round = 0;
  int nodes = 1 + forks[0];
  while (nodes < wanted) nodes += forks[++round];
  const int depth = round > 0 ? round - 1 : 0;  // of the nodes that the last round splits
  if (round > 0) nodes -= forks[round];

  int run_count = 0;
  for (int begin = 0; begin < number;) {
    int end = begin + 1;
    int gain = 0;
    while (end < number) {
      const int fork = QuadtreeFork(candidates[end - 1].path, candidates[end].path);
      if (fork <= depth) break;
      gain += fork == round ? 1 : 0;
      ++end;
    }
    runs[run_count++] = {
        QuadtreeSplitKey(candidates[begin].path, depth, end - begin, width, height), begin,
        end - begin, gain};
    begin = end;
  }
  // Single candidates come last in this order and add nothing.
  std::sort(runs, runs + run_count,
            [](const QuadtreeRun& a, const QuadtreeRun& b) { return a.split_key < b.split_key; });

  int chosen = 0;
  for (int r = 0; r < run_count; ++r) {
    const QuadtreeRun& run = runs[r];
    const bool is_split = round > 0 && nodes < wanted;
    if (is_split) nodes += run.gain;
    uint64_t best = candidates[run.begin].key;
    for (int i = run.begin + 1; i < run.begin + run.count; ++i) {
      if (is_split && QuadtreeFork(candidates[i - 1].path, candidates[i].path) == round) {
        keys[chosen++] = best;
        best = candidates[i].key;
      }
      best = Min(best, candidates[i].key);
    }
    keys[chosen++] = best;
  }
  std::sort(keys, keys + chosen);
  return Min(chosen, wanted);
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_QUADTREE_H_
