// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// FAST scores by sums of absolute differences of the ring and its centre.
//
//   SAD_CIRCLE (SAD-B)   over all 16 pixels of the ring, whether they exceed the threshold or not
//   SAD_ARC    (SAD-A)   over the pixels of the maximal run that makes the corner, `arc_length`..16
//
// The threshold is not subtracted. A corner at threshold t has arc_length * (t + 1)..4080:
// integers, exact in single precision. 0 means no corner. Source: B. Nagy, P. Foehn & D.
// Scaramuzza, "Faster than FAST: GPU-accelerated frontend for high-speed VIO", IROS 2020, sec. II-D
// and III-C1. The published code subtracts the threshold and counts pixels off the arc in SAD-A; we
// follow the text.

#ifndef ORBSERVE_FEATURES_ALGO_SAD_SCORE_H_
#define ORBSERVE_FEATURES_ALGO_SAD_SCORE_H_

#include <cstdint>

#include "features/algo/segment_test.h"
#include "features/host_device.h"

namespace orbserve::algo {

inline constexpr int kMaxSadScore = kFastRingPixels * 255;

// Sum over the ring pixels whose bit is set in `pixels`.
template <typename Grey>
ORBSERVE_HOST_DEVICE inline int SumOfDifferences(const Grey (&ring)[kFastRingPixels],
                                                 int centre_grey, uint32_t pixels) {
  int sum = 0;
  ORBSERVE_UNROLL
  for (int i = 0; i < kFastRingPixels; ++i) {
    const int difference = ring[i] - centre_grey;
    const int magnitude = difference < 0 ? -difference : difference;
    sum += ((pixels >> i) & 1u) != 0 ? magnitude : 0;
  }
  return sum;
}

// SAD-B of a ring that makes a corner.
template <typename Grey>
ORBSERVE_HOST_DEVICE inline int SadCircleScore(const Grey (&ring)[kFastRingPixels],
                                               int centre_grey) {
  return SumOfDifferences(ring, centre_grey, 0xffffu);
}

// SAD-A at `threshold_grey`, the threshold of the detection; 0 when the ring makes no corner.
ORBSERVE_HOST_DEVICE inline int SadArcScore(const uint8_t (&ring)[kFastRingPixels], int centre_grey,
                                            int arc_length, int threshold_grey) {
  const SegmentBits bits = SegmentBitsOf(ring, centre_grey, threshold_grey);
  const uint32_t members = ArcMembers(bits.brighter, arc_length);
  return SumOfDifferences(ring, centre_grey,
                          members != 0 ? members : ArcMembers(bits.darker, arc_length));
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_SAD_SCORE_H_
