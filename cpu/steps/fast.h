// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// FAST: a level to its corners, after 3x3 suppression, strip by strip. Corners under a masked pixel
// are dropped.

#ifndef ORBSERVE_CPU_STEPS_FAST_H_
#define ORBSERVE_CPU_STEPS_FAST_H_

#include <cstdint>
#include <memory>

#include "cpu/corner.h"
#include "cpu/kernel_target.h"
#include "cpu/steps/step.h"
#include "features/image_view.h"
#include "features/pipeline/geometry.h"

namespace orbserve::cpu {

// FAST corners with 3x3 suppression inside `region`, row by row, left to right, written to `out`,
// which has room for MaxCorners(region) + kCornerSlack; returns their number. Pixels around the
// region take part in the suppression as long as the ring fits into the image. `arc_length` 9..12,
// `threshold_grey` 1..254. `scratch`: FastScratchBytes(region), 64-byte aligned.
using FastKernel = int (*)(const ImageView& image, const Region& region, int arc_length,
                           int threshold_grey, uint8_t* scratch, Corner* out);
int ReferenceFast(const ImageView& image, const Region& region, int arc_length, int threshold_grey,
                  uint8_t* scratch, Corner* out);
FastKernel FastKernelFor(const KernelTarget& target);
// Three rows of scores with a neighbour on each side.
constexpr int64_t FastScratchBytes(const Region& region) {
  return 4 * (static_cast<int64_t>(region.width()) + 192);
}

std::unique_ptr<Step> MakeFast(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_FAST_H_
