// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The arithmetic of the methods at one pixel, computed by one function on the host and on a device.

#ifndef ORBSERVE_TESTS_FEATURES_ALGO_DEVICE_VALUES_H_
#define ORBSERVE_TESTS_FEATURES_ALGO_DEVICE_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "features/algo/arc_middle.h"
#include "features/algo/bfrost.h"
#include "features/algo/cell.h"
#include "features/algo/corner.h"
#include "features/algo/corner_map.h"
#include "features/algo/low_threshold.h"
#include "features/algo/match_window.h"
#include "features/algo/minimum_distance.h"
#include "features/algo/quadtree.h"
#include "features/algo/rbrief32.h"
#include "features/algo/sad_score.h"
#include "features/algo/window_maximum.h"

namespace orbserve::testing {

// Results of every method at one pixel. There is no padding between the members: bytes compare.
struct AlgoValues {
  uint64_t quadtree_path;
  uint64_t quadtree_split_key;
  uint64_t cell_key;
  uint64_t cell_key_rank;
  int32_t largest_threshold;
  int32_t searched_threshold;
  int32_t sad_circle;
  int32_t sad_arc;
  int32_t arc_direction;
  int32_t bfrost_direction;
  int32_t cell;
  int32_t threshold_cell;
  int32_t quadtree_fork;
  int32_t flags;  // inside, window maximum, admissible
  float harris;
  float harris_map;
  float shi_tomasi_map;
  float patch_angle_deg;
  uint32_t rbrief32;
  uint32_t unused;
  uint8_t bfrost[algo::kBFrostBytes];
};

// Inputs, each on the side that reads them. Rows of image, keys and map are width_px long, those of
// the integral image one entry longer.
struct AlgoInputs {
  const uint8_t* image;
  const uint32_t* integral;
  const uint64_t* keys;
  const float* map;
  const uint32_t* arc_table;  // of arcs of 10
  const uint8_t* arc_directions;
  const algo::RBriefPair* pattern;
  int width_px;
  int height_px;
};

inline constexpr int kAlgoMarginPx = 45;

// Values at (x, y), kAlgoMarginPx pixels away from the sides at least.
ORBSERVE_HOST_DEVICE inline AlgoValues AlgoValuesAt(const AlgoInputs& in, int x, int y) {
  using namespace algo;  // NOLINT: every line below is of it
  constexpr int kArc = 10;
  constexpr int kThreshold = 5;
  const ptrdiff_t pitch = in.width_px;
  const uint8_t* const centre = in.image + y * pitch + x;
  AlgoValues values = {};

  uint8_t ring[kFastRingPixels];
  LoadFastRing(centre, pitch, ring);
  values.largest_threshold = FastScore(ring, *centre, kArc);
  const SegmentBits bits = SegmentBitsOf(ring, *centre, kThreshold);
  if (InArcTable(in.arc_table, bits.brighter) || InArcTable(in.arc_table, bits.darker)) {
    values.searched_threshold = LargestThresholdBySearch(ring, *centre, kThreshold, in.arc_table);
    values.arc_direction =
        ArcDirection(ring, *centre, values.searched_threshold, in.arc_directions);
  }
  values.sad_circle = SadCircleScore(ring, *centre);
  values.sad_arc = SadArcScore(ring, *centre, kArc, kThreshold);

  values.harris = HarrisResponse(SumGradients(centre, pitch));
  const GradientSums sums = SumPrewitt(centre, pitch);
  values.harris_map = HarrisMapResponse(sums);
  values.shi_tomasi_map = ShiTomasiMapResponse(sums);

  values.patch_angle_deg = CentroidAngleDegrees(PatchMoments(centre, pitch));
  values.rbrief32 = DescribeRBrief32(centre, pitch, values.patch_angle_deg, in.pattern);
  values.bfrost_direction = BFrostDirectionOf(values.patch_angle_deg * 3.7f - 700.0f);
  DescribeBFrost256(in.integral + y * (pitch + 1) + x, pitch + 1, values.bfrost_direction,
                    values.bfrost);

  values.quadtree_path = QuadtreePath(x, y, in.width_px, in.height_px);
  values.quadtree_split_key =
      QuadtreeSplitKey(values.quadtree_path, 5, x + 1, in.width_px, in.height_px);
  values.quadtree_fork =
      QuadtreeFork(values.quadtree_path,
                   QuadtreePath(y % in.width_px, x % in.height_px, in.width_px, in.height_px));
  const CellGrid grid = CellGridOf(2 * in.width_px, 2 * in.height_px, 64, 24);
  values.cell = CellOf(grid, x, y, 2.0f);
  values.cell_key = CellKey(grid, values.shi_tomasi_map, 1, x, y, 2.0f);
  values.cell_key_rank = CellKeyRank(grid, values.cell_key, values.cell, 2.0f);
  values.threshold_cell =
      ThresholdCellOf(x, y, kAlgoMarginPx, ThresholdCells(in.width_px, kAlgoMarginPx));

  const DistanceRule rule = DistanceRuleOf(7, x % 2 == 0, false);
  const bool inside = BecomesInside(in.keys, in.width_px, in.height_px, x, y, rule);
  const bool maximum = IsWindowMaximum(in.map, pitch, in.width_px, in.height_px, x, y, 3);
  const bool admissible =
      IsAdmissible({31.5f, 0.1f, -0.3f}, static_cast<float>(x), static_cast<float>(y),
                   static_cast<float>(x) + values.patch_angle_deg * 0.1f, static_cast<float>(y));
  values.flags = (inside ? 1 : 0) | (maximum ? 2 : 0) | (admissible ? 4 : 0);
  return values;
}

// Inputs made from an image, in host memory.
struct AlgoData {
  std::vector<uint8_t> image;
  std::vector<uint32_t> integral;
  std::vector<uint64_t> keys;
  std::vector<float> map;
  std::vector<uint32_t> arc_table;
  std::vector<uint8_t> arc_directions;
  int width_px = 0;
  int height_px = 0;
};

// Number of devices; 0 where there is none or no driver.
int DeviceCount();

// AlgoValuesAt() of all pixels inside the margin, row by row, computed by the first device. Returns
// an error in words, "" when all went well.
std::string ComputeOnDevice(const AlgoData& data, std::vector<AlgoValues>* values);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_FEATURES_ALGO_DEVICE_VALUES_H_
