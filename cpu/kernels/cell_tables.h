// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_KERNELS_CELL_TABLES_H_
#define ORBSERVE_CPU_KERNELS_CELL_TABLES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "features/algo/cell.h"
#include "features/options.h"
#include "features/pipeline/compiled.h"

namespace orbserve::cpu {

// The grid of cells of a plan (features/algo/cell.h), with the cell of each column and row of each
// level looked up instead of computed. Immutable once made.
class CellTables {
 public:
  explicit CellTables(const CompiledPipeline& pipeline);

  const algo::CellGrid& grid() const { return grid_; }
  // Bytes of the tables.
  size_t bytes() const;

  // algo::CellOf() and algo::CellKey() of keypoints of one level, by their rank keys
  // (features/algo/order.h).
  class Level {
   public:
    int CellOf(uint64_t rank_key) const;
    // `cell`: that of the keypoint.
    uint64_t CellKeyOf(uint64_t rank_key) const;

   private:
    friend class CellTables;
    struct Place {
      int32_t cell;    // of a column of pixels: column of cells; of a row: first cell of the row
      int32_t offset;  // from the origin of the cell
    };
    std::vector<Place> columns_;  // [width]
    std::vector<Place> rows_;     // [height]
    uint32_t level_ = 0;
  };
  const Level& level(int l) const { return levels_[static_cast<size_t>(l)]; }

 private:
  algo::CellGrid grid_;
  std::array<Level, kMaxLevels> levels_;
};

inline int CellTables::Level::CellOf(uint64_t rank_key) const {
  return rows_[static_cast<size_t>(algo::RankKeyY(rank_key))].cell +
         columns_[static_cast<size_t>(algo::RankKeyX(rank_key))].cell;
}

inline uint64_t CellTables::Level::CellKeyOf(uint64_t rank_key) const {
  const auto x =
      static_cast<uint32_t>(columns_[static_cast<size_t>(algo::RankKeyX(rank_key))].offset);
  const auto y = static_cast<uint32_t>(rows_[static_cast<size_t>(algo::RankKeyY(rank_key))].offset);
  return (rank_key >> 32 << 32) | level_ << (2 * algo::kCellOffsetBits) |
         y << algo::kCellOffsetBits | x;
}

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_KERNELS_CELL_TABLES_H_
