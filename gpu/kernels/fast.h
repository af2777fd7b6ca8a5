// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_KERNELS_FAST_H_
#define ORBSERVE_GPU_KERNELS_FAST_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "gpu/kernels/layout.h"

namespace orbserve::gpu {

// How a pixel is told to be a corner. All give the same answer.
enum class CornerTest {
  kArcExtremes,     // packed minima and maxima over all arcs: test and score in one
  kBinaryEncoding,  // 32 comparison bits of the ring, runs by shifting (paper 1, sec. 5.1)
  kBitTable,        // 16 comparison bits, twice, looked up in 8 KiB (papers 2, 3)
};

// Words of the bit table for one arc length: bit i % 32 of word i / 32 tells whether the 16
// comparison bits i hold an arc.
inline constexpr int kBitTableWords = 2048;
void FillFastBitTable(int arc_length, uint32_t* table);

// The largest number of rows that a tile may yield (BatchView::tile_rows). A tile looks at two
// more, in steps of four: 6, 10, 14, ... make the best of it.
inline constexpr int kMaxFastTileRows = 30;
// Sets tile_begin and tile_columns of every level and tiles_per_frame for `tile_rows`.
void LayOutFastTiles(int tile_rows, BatchView* batch);

struct FastParams {
  BatchView batch;
  int32_t arc_length;  // 9..12
  CornerTest test;
  const uint32_t* bit_table;  // of `arc_length`; kBitTable only
  int32_t first_level;        // levels [first_level, last_level]
  int32_t last_level;
};

// FAST corners with 3x3 suppression inside the border of the levels of every frame, as far as its
// mask allows: their positions and scores in any order, their number, and the histogram of their
// scores.
absl::Status LaunchFastCorners(const FastParams& params, cudaStream_t stream);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_KERNELS_FAST_H_
