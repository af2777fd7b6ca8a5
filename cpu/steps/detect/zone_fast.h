// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Zone FAST: a level to the corners of its zones (features/algo/zone.h), suppressed and chosen by
// both thresholds inside each zone, as rank keys in the order of zones.

#ifndef ORBSERVE_CPU_STEPS_DETECT_ZONE_FAST_H_
#define ORBSERVE_CPU_STEPS_DETECT_ZONE_FAST_H_

#include <algorithm>
#include <cstdint>
#include <memory>

#include "cpu/frame/corner.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/detect/fast.h"
#include "cpu/steps/step.h"
#include "features/image_view.h"
#include "features/pipeline/geometry.h"

namespace orbserve::cpu {

// By column of a level: 255, or 0 where the neighbour to the left, or to the right, is in another
// zone. Readable up to the level's width and kZoneEdgeSlack.
struct ZoneEdges {
  const uint8_t* has_left;
  const uint8_t* has_right;
};
inline constexpr int kZoneEdgeSlack = 128;

// FAST corners of `row`, the region of a row of zones, that exceed their neighbours in their zone
// by their FAST score, row by row, left to right, written to `out`, which has room for the most
// corners of each zone and kCornerSlack; returns their number. `arc_length` 9..12, `threshold_grey`
// 1..254. `scratch`: ZoneFastScratchBytes(row), 64-byte aligned.
using ZoneFastKernel = int (*)(const ImageView& image, const Region& row, int arc_length,
                               int threshold_grey, const ZoneEdges& edges, uint8_t* scratch,
                               Corner* out);
int ReferenceZoneFast(const ImageView& image, const Region& row, int arc_length, int threshold_grey,
                      const ZoneEdges& edges, uint8_t* scratch, Corner* out);
ZoneFastKernel ZoneFastKernelFor(const KernelTarget& target);
// The plain loop keeps the scores of all pixels, with one more on each side.
constexpr int64_t ZoneFastScratchBytes(const Region& row) {
  return std::max(FastScratchBytes(row, 1), int64_t{row.width() + 2} * int64_t{row.height() + 2});
}

std::unique_ptr<Step> MakeZoneFast(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DETECT_ZONE_FAST_H_
