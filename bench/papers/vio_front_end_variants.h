// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Suppression and corner tests of paper 2 (B. Nagy, P. Foehn & D. Scaramuzza, "Faster than FAST:
// GPU-accelerated frontend for high-speed VIO", IROS 2020) beside what it compares them with. They
// are written after its text, in our own words, to be measured; the product uses none of them.

#ifndef ORBSERVE_BENCH_PAPERS_VIO_FRONT_END_VARIANTS_H_
#define ORBSERVE_BENCH_PAPERS_VIO_FRONT_END_VARIANTS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "features/algo/cell.h"
#include "features/options.h"

namespace orbserve::bench {

enum class SuppressionVariant {
  kSpiral,     // a thread a pixel compares it with its window, ring by ring (Foerstner & Guelch)
  kCellLines,  // warps go down the lines of a cell and keep its best in registers (sec. II-C)
};

// A response map of level 0: OrderedBits() of responses, 0 where there is none.
struct SuppressionParams {
  const uint32_t* map;
  int32_t pitch;  // entries
  int32_t width_px;
  int32_t height_px;
  int32_t border_px;
  int32_t radius_px;  // of the window, 1..4
  algo::CellGrid grid;
  uint64_t* winners;  // algo::CellKey() of each cell; kNoCellKey before the launch
};

absl::Status LaunchSuppression(SuppressionVariant variant, const SuppressionParams& params,
                               cudaStream_t stream);

// Responses of all pixels, one thread each, by a table of all rings (sec. II-D).
struct TableParams {
  const uint8_t* image;
  int32_t pitch_bytes;
  int32_t width_px;
  int32_t height_px;
  int32_t threshold_grey;
  int32_t arc_length;
  Score score;
  const uint8_t* byte_table;  // [2^16]; null: the next one
  const uint32_t* bit_table;  // algo::MakeArcTable()
  float* responses;           // [height_px][width_px], 0 where there is no corner
};

absl::Status LaunchTableResponses(const TableParams& params, cudaStream_t stream);

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_PAPERS_VIO_FRONT_END_VARIANTS_H_
