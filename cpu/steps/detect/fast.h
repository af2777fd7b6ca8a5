// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// FAST: a level to its corners, after suppression by the FAST score in a window of 3x3 to 9x9
// pixels, strip by strip. Corners under a masked pixel are dropped. Where selection begins with
// rank keys, it also computes the responses of the corners that are left.

#ifndef ORBSERVE_CPU_STEPS_DETECT_FAST_H_
#define ORBSERVE_CPU_STEPS_DETECT_FAST_H_

#include <algorithm>
#include <cstdint>
#include <memory>

#include "cpu/frame/corner.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/step.h"
#include "features/image_view.h"
#include "features/pipeline/geometry.h"

namespace orbserve::cpu {

// FAST corners inside `region` that exceed all others of their window of 2 * `radius_px` + 1 pixels
// a side by their FAST score, row by row, left to right, written to `out`; returns their number.
// `radius_px`: 1..4, with room for MaxCorners(region) + kCornerSlack, or 0 for all corners, with
// room for the region's pixels + kCornerSlack. Pixels around the region take part in the
// suppression as long as the ring fits into the image. `arc_length` 9..12, `threshold_grey` 1..254.
// `scratch`: FastScratchBytes(region, radius_px), 64-byte aligned.
using FastKernel = int (*)(const ImageView& image, const Region& region, int arc_length,
                           int threshold_grey, int radius_px, uint8_t* scratch, Corner* out);
int ReferenceFast(const ImageView& image, const Region& region, int arc_length, int threshold_grey,
                  int radius_px, uint8_t* scratch, Corner* out);
FastKernel FastKernelFor(const KernelTarget& target);
// A StrongFastKernel does the work of a FastKernel with a radius of 0. It may leave out corners
// whose SAD_ARC score (features/algo/sad_score.h) is below `least_sum`, 0..algo::kMaxSadScore.
// `scratch`: FastScratchBytes(region, 0).
using StrongFastKernel = int (*)(const ImageView& image, const Region& region, int arc_length,
                                 int threshold_grey, int least_sum, uint8_t* scratch, Corner* out);
int ReferenceStrongFast(const ImageView& image, const Region& region, int arc_length,
                        int threshold_grey, int least_sum, uint8_t* scratch, Corner* out);
StrongFastKernel StrongFastKernelFor(const KernelTarget& target);
// Rows of a region that are scored before those above them are suppressed: some that stay in the
// first cache.
constexpr int FastBandRows(const Region& region) {
  constexpr int kBandPixels = 8192;
  return std::clamp(kBandPixels / std::max(region.width(), 1), 2, 16);
}
// Three bytes a pixel of a band, for scores and lists, and as much for the rows that its windows
// reach. A row has neighbours on each side and begins at a multiple of 64 columns.
constexpr int64_t FastScratchBytes(const Region& region, int radius_px) {
  return (3 * int64_t{FastBandRows(region) + radius_px} + 1) *
         (static_cast<int64_t>(region.width()) + 256);
}

std::unique_ptr<Step> MakeFast(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DETECT_FAST_H_
