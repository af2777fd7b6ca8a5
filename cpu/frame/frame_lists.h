// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The data that steps hand to each other: images of the levels, and for each level lists of
// corners, of rank keys, of keypoints and of their descriptors. Buffers that one step alone uses
// are declared by that step.

#ifndef ORBSERVE_CPU_FRAME_FRAME_LISTS_H_
#define ORBSERVE_CPU_FRAME_FRAME_LISTS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "cpu/frame/corner.h"
#include "cpu/frame/level_point.h"
#include "cpu/memory/workspace_layout.h"
#include "features/pipeline/compiled.h"
#include "features/pipeline/geometry.h"

namespace orbserve::cpu {

// Division of a level's region into strips of rows, in which corners are detected. The corners of
// a strip follow each other by rows, then by columns.
struct Strips {
  int count = 0;         // 0 where the region is empty
  int rows = 0;          // of each strip but the last, which may have fewer
  int64_t capacity = 0;  // corners reserved for each

  // The part of `region` in strip `strip`.
  Region Of(const Region& region, int strip) const;
};

// Division of a level into strips of rows, of which integral images are made.
struct IntegralStrips {
  int count = 0;       // 0 where the pipeline has no integral images
  int rows = 0;        // of each strip but the last, which may have fewer
  ptrdiff_t sums = 0;  // entries between the column sums of two strips
};

// An undecided candidate of MINIMUM_DISTANCE (cpu/steps/suppress/minimum_distance.h) and one that
// outranked it when it was last tested: indices of map entries. The latter is -1 before the first
// test.
struct UndecidedPlace {
  int32_t place;
  int32_t outranked_by;
  int16_t x;
  int16_t y;
};

// Entries that kernels may read beyond the end of a row of a map.
inline constexpr int kMapRowSlack = 64;
// Entries that a row of a coarse map is written in multiples of, and rows of it that are searched
// together.
inline constexpr int kCoarseBlock = 32;
inline constexpr int kBandRows = 8;

struct FrameLists {
  // Level 0 of both is the input itself.
  LevelImages images;
  LevelImages masks;
  // Smoothed levels, where they are described: defined around described keypoints only.
  LevelImages smoothed;

  // Integral images of the levels that BFROST, TEBLID or BEBLID describes: entry (0, 0) is at
  // kIntegralLead.
  LevelBuffer<uint32_t> integral;
  std::array<ptrdiff_t, kMaxLevels> integral_pitch{};
  std::array<IntegralStrips, kMaxLevels> integral_strips;
  LevelBuffer<uint32_t> column_sums;  // [strip but the last][IntegralStrips::sums]

  std::array<Strips, kMaxLevels> strips;
  LevelBuffer<int32_t> strip_corners;  // [strip], number of corners
  // Corners of level 0 with a smaller response cannot be among the best of the frame. It is set
  // where other levels are searched first (cpu/steps/detect/cell_bound.h).
  FrameBuffer<float> least_response;
  // Responses of the pixels of each level, where the pipeline has a map of them
  // (features/pipeline/detection.h): OrderedBits(), 0 where there is no candidate.
  LevelBuffer<uint32_t> responses;                     // [height][response_pitch]
  std::array<ptrdiff_t, kMaxLevels> response_pitch{};  // entries
  LevelBuffer<uint32_t> strip_tops;  // [strip], largest entry inside the region; of corner maps
  // Entries of corner maps above this one are candidates. Other maps hold candidates alone.
  FrameBuffer<uint32_t> candidate_threshold;
  // Other MINIMUM_DISTANCE: [strip][undecided_capacity], peaks that the first pass leaves
  // undecided.
  LevelBuffer<UndecidedPlace> undecided;
  std::array<int, kMaxLevels> undecided_capacity{};
  LevelBuffer<int32_t> strip_undecided;  // [strip], their number; above the capacity: some are lost
  // MINIMUM_DISTANCE where HasCoarseMaps(): cpu/steps/suppress/square_distance.h.
  LevelBuffer<uint16_t> coarse;
  std::array<ptrdiff_t, kMaxLevels> coarse_pitch{};  // entries
  // With compression for MINIMUM_DISTANCE: largest entry of each block of 2x2 pixels.
  LevelBuffer<uint32_t> blocks;                     // [block row][block_pitch]
  std::array<ptrdiff_t, kMaxLevels> block_pitch{};  // entries
  // [strip][Strips::capacity]. After the first cut: the survivors, without gaps.
  LevelBuffer<Corner> corners;
  // [survivor], features/algo/order.h; in order once ranked. Detectors of keyed corners write them
  // as [strip][Strips::capacity].
  LevelBuffer<uint64_t> keys;
  LevelBuffer<LevelPoint> points;            // [max_points]
  LevelBuffer<uint8_t> descriptors;          // [max_points][descriptor bytes]
  std::array<int, kMaxLevels> max_points{};  // most keypoints that are kept of each level

  // True if the options ask for compression and the distance leaves something to compress.
  static bool HasBlocks(const PipelineOptions& options);

  // True where the conflicts of MINIMUM_DISTANCE are squares of pixels of a corner map, whose
  // responses lie between two known bounds.
  static bool HasCoarseMaps(const PipelineOptions& options);

  // True where level 0 is searched after all others: only the best corners of a frame are kept, one
  // of each cell, so that the cells of the other levels tell how strong the corners of the largest
  // level must be to matter (cpu/steps/detect/cell_bound.h).
  static bool BoundsLevelZero(const CompiledPipeline& pipeline);

  // Declares all lists that frames of `pipeline` need when `threads` compute them.
  static FrameLists Declare(const CompiledPipeline& pipeline, int threads, WorkspaceLayout* layout);

 private:
  void DeclareResponses(const PipelineOptions& options, int l, const LevelGeometry& level,
                        WorkspaceLayout* layout);
  void DeclareCoarseMap(const PipelineOptions& options, int l, const Region& region,
                        WorkspaceLayout* layout);
  void DeclareIntegral(int l, const LevelGeometry& level, int threads, WorkspaceLayout* layout);
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_FRAME_FRAME_LISTS_H_
