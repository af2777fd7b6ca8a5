// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Which steps do the work of others, where little of it is left for them: a launch that waits for
// another one takes about four microseconds, however little it does.

#ifndef ORBSERVE_GPU_STEPS_SEARCH_FUSION_H_
#define ORBSERVE_GPU_STEPS_SEARCH_FUSION_H_

#include "features/algo/cell.h"
#include "features/options.h"
#include "features/pipeline/compiled.h"
#include "features/pipeline/detection.h"
#include "gpu/graph_kind.h"

namespace orbserve::gpu {

class SearchFusion {
 public:
  static SearchFusion Of(const CompiledPipeline& pipeline) {
    const PipelineOptions& options = pipeline.spec.pipeline;
    SearchFusion fusion;
    fusion.writes_ = options.describe.descriptor == Descriptor::kNone &&
                     options.describe.orientation == Orientation::kNone;
    if (fusion.writes_ && options.suppress.suppression == Suppression::kCell &&
        !HasResponseMap(options)) {
      const algo::CellGrid grid =
          algo::CellGridOf(pipeline.spec.width_px, pipeline.spec.height_px,
                           options.suppress.cell_width_px, options.suppress.cell_height_px);
      fusion.selects_ = grid.count() <= kMostCells;
    }
    fusion.resizes_ = fusion.selects_;
    for (int l = 1; l < pipeline.pyramid.detecting_levels; ++l) {
      if (pipeline.level(l).source_level != 0) fusion.resizes_ = false;
    }
    return fusion;
  }

  // The block that puts the few keys of a frame in order also writes its records and its report.
  // Step `orient` has nothing to do.
  bool SelectionWritesRecords(const GraphKind& kind) const { return writes_ && kind.few_keys; }
  // That block is the last one of the frame's search, step `fast_keys`. Steps `key_survivors` and
  // `orient` have nothing to do. Graphs that time stages keep them apart, and a second threshold
  // drops corners between search and cells.
  bool SearchSelects(const GraphKind& kind) const {
    return selects_ && SelectionWritesRecords(kind) && !kind.low_threshold && !kind.timed;
  }
  // The search makes the pixels of its levels itself, all levels in one launch. Step `pyramid` has
  // nothing to do: nobody else reads the levels. Masks have levels, too, which somebody must make.
  bool SearchResizes(const GraphKind& kind) const {
    return resizes_ && SearchSelects(kind) && !kind.masks;
  }

 private:
  // Cells that a block of the search, which is small, looks through in a few microseconds.
  static constexpr int kMostCells = 8192;

  bool writes_ = false;   // records have no angles and descriptors
  bool selects_ = false;  // corners reach their cells in the search
  bool resizes_ = false;  // all levels come from level 0
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SEARCH_FUSION_H_
