// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The stages of the CPU backend as functions over memory that the caller owns. Two implementations
// with the same bits: the plain loops over features/algo/ (cpu/reference_stages.cc) and their
// Highway twins (cpu/simd/). Stages keep no state, allocate nothing and may run on any thread;
// rows, tiles and points are independent, so a caller may split a level as it likes.

#ifndef ORBSERVE_CPU_STAGES_H_
#define ORBSERVE_CPU_STAGES_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "features/image_view.h"

namespace orbserve::cpu {

// Resampling of one axis for the exact-linear pyramid: destination i takes source samples
// `first[i]` and `first[i] + 1` with weights 256 - `weight[i]` and `weight[i]` (of 256). At a
// clamped end `weight` is 0 and `first[i] + 1` may lie one past the last sample, where padding is
// readable and multiplied by 0.
struct ResizeAxis {
  std::vector<int32_t> first;    // [dst]
  std::vector<uint16_t> weight;  // [dst], 0..256

  // What FinishResizeAxis() makes of the two for byte shuffles over windows of the source row; each
  // has RoundUp(dst, 64) entries. Only the x axis needs them, and only the SIMD stages do.
  std::vector<uint16_t> padded_weight;
  std::vector<uint16_t> offset_in_8;   // first[i] - first[i / 8 * 8]
  std::vector<uint16_t> offset_in_32;  // first[i] - first[i / 32 * 32]
};

// Fills the derived tables of `axis` from `first` and `weight`: once per plan, before the axis is
// given to resize_rows() as its x axis.
void FinishResizeAxis(ResizeAxis* axis);

// A corner that survived 3x3 suppression. Coordinates are pixels of its level.
struct Candidate {
  int16_t x;
  int16_t y;
  int16_t score;  // largest threshold at which it still is a corner, 1..254
};

// A keypoint of one level on its way through the later stages. Coordinates are pixels of its level.
struct LevelPoint {
  int16_t x;
  int16_t y;
  float response;
  float angle_deg;
};

// Rectangle of pixels: x in [x_begin, x_end), y in [y_begin, y_end).
struct Region {
  int x_begin;
  int y_begin;
  int x_end;
  int y_end;
};

struct Stages {
  absl::string_view name;  // "reference", or the Highway target

  // Rows [row_begin, row_end) of `dst` from `src` (features/algo/pyramid.h). `scratch`: 2 *
  // RoundUp(dst.width_px, 64) + 64 uint16_t, 64-byte aligned.
  void (*resize_rows)(const ImageView& src, const MutableImageView& dst, const ResizeAxis& x_axis,
                      const ResizeAxis& y_axis, int row_begin, int row_end, uint16_t* scratch);

  // FAST corners with 3x3 suppression inside `region`, row by row, left to right, written to `out`;
  // their number is returned, at most `region` width * height / 2 rounded up per row pair (no two
  // survivors touch): the caller provides MaxCandidates(region) + 64 entries. Pixels around the
  // region take part in the suppression as long as the ring fits into the image.
  // `arc_length` 9..12, `threshold_grey` 1..254. `scratch`: FastScratchBytes(region), 64-byte
  // aligned.
  int (*fast_corners)(const ImageView& image, const Region& region, int arc_length,
                      int threshold_grey, uint8_t* scratch, Candidate* out);

  // Harris response of each candidate (features/algo/corner.h). Points keep 5 pixels to the border.
  void (*harris_responses)(const ImageView& image, const Candidate* points, int count,
                           float* responses);

  // Sets `angle_deg` by the intensity centroid (features/algo/orientation.h). Points keep 16 pixels
  // to the border.
  void (*intensity_centroid_angles)(const ImageView& image, LevelPoint* points, int count);

  // 7x7 Gaussian of `region` (features/algo/gaussian.h): dst pixels of the region from src,
  // reflect-101 at the image's border. `scratch`: BlurScratchFloats(region) floats, 64-byte
  // aligned. Bytes of `dst` rows between region.x_end and the next multiple of 64 may be
  // overwritten; nothing else is.
  void (*blur)(const ImageView& src, const MutableImageView& dst, const Region& region,
               float* scratch);

  // rBRIEF-256 of each point at its angle from the blurred level: 32 bytes per point. Points keep
  // 22 pixels to the border.
  void (*describe_rbrief256)(const ImageView& blurred, const LevelPoint* points, int count,
                             uint8_t* descriptors);
};

// Upper bound for fast_corners: no two survivors of 3x3 suppression are neighbours.
constexpr int64_t MaxCandidates(const Region& region) {
  return static_cast<int64_t>((region.x_end - region.x_begin + 1) / 2) *
         ((region.y_end - region.y_begin + 1) / 2);
}
// Three rows of scores with a neighbour on each side.
constexpr int64_t FastScratchBytes(const Region& region) {
  return 4 * (static_cast<int64_t>(region.x_end - region.x_begin) + 192);
}
// Row-filtered rows of the region and three on each side.
constexpr int64_t BlurScratchFloats(const Region& region) {
  return (static_cast<int64_t>(region.x_end - region.x_begin) + 64) *
         (region.y_end - region.y_begin + 6);
}

// The plain loops over features/algo/.
const Stages& ReferenceStages();

// The fastest stages for this processor.
const Stages& SimdStages();

// The SIMD stages of every target that this processor supports, the fastest first; for tests and
// benchmarks.
std::vector<const Stages*> AllSimdStages();

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STAGES_H_
