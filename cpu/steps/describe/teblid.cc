// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/teblid.h"

#include <cstddef>
#include <cstdint>

#include "features/algo/teblid.h"

namespace orbserve::cpu {

void ReferenceBoxTests(const BoxImage& image, const algo::BoxTestSet& set, const PatchPoint* points,
                       int count, uint8_t* descriptors) {
  const auto integral = [&image](int x, int y) { return image.integral.Row(y)[x]; };
  for (int i = 0; i < count; ++i) {
    const PatchPoint& point = points[i];
    const algo::PatchPlace place = algo::PlacePatch(
        point.x, point.y, point.size_px, point.angle_deg, image.width_px, image.height_px);
    algo::DescribeBoxes(integral, image.width_px, image.height_px, place, set.tests, set.count,
                        set.thresholds, descriptors + static_cast<ptrdiff_t>(i) * set.bytes());
  }
}

}  // namespace orbserve::cpu
