// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Quadtree: the selection that spreads the keypoints of a level (features/algo/quadtree.h), and
// their order.

#ifndef ORBSERVE_CPU_STEPS_SELECT_QUADTREE_H_
#define ORBSERVE_CPU_STEPS_SELECT_QUADTREE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/steps/step.h"
#include "features/algo/order.h"
#include "features/pipeline/geometry.h"

namespace orbserve::cpu {

// The quadtree of one region. The path of a pixel is the sum of a part that depends on its column
// and a part that depends on its row: two look-ups. Immutable once made.
class LevelQuadtree {
 public:
  LevelQuadtree() = default;
  explicit LevelQuadtree(const Region& region);

  // algo::QuadtreePath() of the keypoint with this rank key.
  uint64_t PathOf(uint64_t rank_key) const {
    return column_path_[static_cast<size_t>(algo::RankKeyX(rank_key) - region_.x_begin)] +
           row_path_[static_cast<size_t>(algo::RankKeyY(rank_key) - region_.y_begin)];
  }
  size_t table_bytes() const {
    return (column_path_.capacity() + row_path_.capacity()) * sizeof(uint64_t);
  }

  // Moves the chosen ones of `number` different rank keys of keypoints in the region to the front,
  // in any order, and returns their number: exactly min(wanted, number). The choice is that of
  // algo::KeepByQuadtree(). `scratch`: ScratchBytes(wanted), aligned to 8 bytes.
  int Keep(uint64_t* keys, int number, int wanted, uint8_t* scratch) const;
  size_t ScratchBytes(int wanted) const;

 private:
  // A node that may be split in the last round.
  struct Split {
    uint64_t order;  // algo::QuadtreeSplitKey()
    int32_t node;    // by counts: its number at its depth; by paths: its first key
    int32_t count;   // candidates
    int32_t gain;    // nodes that its split adds, 0..3
  };

  // The greatest depth of at most `most_nodes` nodes, empty ones included; 0 if there is none.
  int GridDepth(int64_t most_nodes) const;
  int KeepByCounts(uint64_t* keys, int number, int wanted, int grid_depth, uint8_t* scratch) const;
  int KeepByPaths(uint64_t* keys, int number, int wanted, uint8_t* scratch) const;

  Region region_;
  int roots_ = 0;
  std::vector<uint64_t> column_path_;  // [column of the region]
  std::vector<uint64_t> row_path_;     // [row of the region]
};

std::unique_ptr<Step> MakeQuadtree(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_SELECT_QUADTREE_H_
