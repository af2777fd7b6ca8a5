// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// FAST: the segment test on a ring of 16 pixels, in full (no decision tree).
//
//              15  0  1              ring index i, x to the right, y down; index 0 lies three
//          14           2            pixels below the centre and the order runs through the right:
//        13               3          (0,3) (1,3) (2,2) (3,1) (3,0) (3,-1) (2,-2) (1,-3)
//        12       p       4          (0,-3) (-1,-3) (-2,-2) (-3,-1) (-3,0) (-3,1) (-2,2) (-1,3)
//        11               5          (the drawing has y up)
//          10           6
//               9  8  7
//
// Source: E. Rosten & T. Drummond, "Machine learning for high-speed corner detection", ECCV 2006,
// sec. 2; the score is the largest threshold at which the pixel still is a corner.

#ifndef ORBSERVE_FEATURES_ALGO_FAST_H_
#define ORBSERVE_FEATURES_ALGO_FAST_H_

#include <cstddef>
#include <cstdint>

#include "features/host_device.h"

namespace orbserve::algo {

inline constexpr int kFastRingPixels = 16;
inline constexpr int kFastRadiusPx = 3;

// Offset of ring pixel `i`, 0..15, from the centre.
ORBSERVE_HOST_DEVICE inline int FastRingX(int i) {
  constexpr int8_t x[kFastRingPixels] = {0, 1, 2, 3, 3, 3, 2, 1, 0, -1, -2, -3, -3, -3, -2, -1};
  return x[i];
}
ORBSERVE_HOST_DEVICE inline int FastRingY(int i) {
  constexpr int8_t y[kFastRingPixels] = {3, 3, 2, 1, 0, -1, -2, -3, -3, -3, -2, -1, 0, 1, 2, 3};
  return y[i];
}

// Reads the ring round `centre`, whose rows are `pitch_bytes` apart.
ORBSERVE_HOST_DEVICE inline void LoadFastRing(const uint8_t* centre, ptrdiff_t pitch_bytes,
                                              uint8_t (&ring)[kFastRingPixels]) {
  for (int i = 0; i < kFastRingPixels; ++i) {
    ring[i] = centre[FastRingY(i) * pitch_bytes + FastRingX(i)];
  }
}

// Largest threshold t at which `arc_length` neighbouring ring pixels are all brighter than
// centre + t or all darker than centre - t; negative when there is none. -256..254.
// `arc_length`: 9..12.
ORBSERVE_HOST_DEVICE inline int FastScore(const uint8_t (&ring)[kFastRingPixels], int centre_grey,
                                          int arc_length) {
  int best = -255;
  for (int start = 0; start < kFastRingPixels; ++start) {
    int brighter = 255;  // smallest excess on this arc
    int darker = 255;
    for (int i = 0; i < arc_length; ++i) {
      const int difference = ring[(start + i) % kFastRingPixels] - centre_grey;
      brighter = Min(brighter, difference);
      darker = Min(darker, -difference);
    }
    best = Max(best, Max(brighter, darker));
  }
  return best - 1;
}

// Response of the segment test at one pixel: its score, or 0 when it is not a corner at
// `threshold_grey` (strict, 1..254).
ORBSERVE_HOST_DEVICE inline int FastResponse(const uint8_t (&ring)[kFastRingPixels],
                                             int centre_grey, int arc_length, int threshold_grey) {
  const int score = FastScore(ring, centre_grey, arc_length);
  return score >= threshold_grey ? score : 0;
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_FAST_H_
