// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/kernels/sad_score.h"

#include <cstdint>

#include "features/algo/fast.h"
#include "features/algo/sad_score.h"

namespace orbserve::cpu {

void ReferenceSadArc(const ImageView& image, const Corner* corners, int count, int arc_length,
                     int threshold_grey, float* responses) {
  for (int i = 0; i < count; ++i) {
    const uint8_t* const centre = image.Row(corners[i].y) + corners[i].x;
    uint8_t ring[algo::kFastRingPixels];
    algo::LoadFastRing(centre, image.pitch_bytes, ring);
    responses[i] = static_cast<float>(algo::SadArcScore(ring, *centre, arc_length, threshold_grey));
  }
}

void ReferenceSadCircle(const ImageView& image, const Corner* corners, int count,
                        float* responses) {
  for (int i = 0; i < count; ++i) {
    const uint8_t* const centre = image.Row(corners[i].y) + corners[i].x;
    uint8_t ring[algo::kFastRingPixels];
    algo::LoadFastRing(centre, image.pitch_bytes, ring);
    responses[i] = static_cast<float>(algo::SadCircleScore(ring, *centre));
  }
}

}  // namespace orbserve::cpu
