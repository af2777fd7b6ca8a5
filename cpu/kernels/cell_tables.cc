// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/kernels/cell_tables.h"

namespace orbserve::cpu {

CellTables::CellTables(const CompiledPipeline& pipeline) {
  const SuppressOptions& cells = pipeline.spec.pipeline.suppress;
  const LevelGeometry& level_zero = pipeline.level(0);
  grid_ = algo::CellGridOf(level_zero.width_px, level_zero.height_px, cells.cell_width_px,
                           cells.cell_height_px);
  for (int l = 0; l < pipeline.pyramid.detecting_levels; ++l) {
    const LevelGeometry& geometry = pipeline.level(l);
    Level& level = levels_[static_cast<size_t>(l)];
    level.level_ = static_cast<uint32_t>(l);
    // Places of a side of `side_px` pixels, along which cells have `cell_px` pixels of level 0 and
    // numbers `stride` apart.
    const auto places = [&geometry](int side_px, int grid_side_px, int cell_px, int stride) {
      std::vector<Level::Place> made(static_cast<size_t>(side_px));
      for (int i = 0; i < side_px; ++i) {
        const int cell = algo::LevelZeroPixel(i, geometry.scale, grid_side_px) / cell_px;
        made[static_cast<size_t>(i)] = {cell * stride,
                                        i - algo::CellOrigin(cell, cell_px, geometry.scale)};
      }
      return made;
    };
    level.columns_ = places(geometry.width_px, grid_.width_px, grid_.cell_width_px, 1);
    level.rows_ = places(geometry.height_px, grid_.height_px, grid_.cell_height_px, grid_.columns);
  }
}

size_t CellTables::bytes() const {
  size_t bytes = 0;
  for (const Level& level : levels_) {
    bytes += (level.columns_.capacity() + level.rows_.capacity()) * sizeof(Level::Place);
  }
  return bytes;
}

}  // namespace orbserve::cpu
