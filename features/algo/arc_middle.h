// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Orientation of a FAST corner: the direction from its centre to the middle of its arc, bright or
// dark.
//
//              15  0  1              Ring index i lies at 90 - 22.5 * i degrees, clockwise from +x
//          14           2            (y down). A run of n pixels from index a on has its middle at
//        13               3          a + (n - 1) / 2; an even n falls between two pixels. In steps
//        12       p       4  +x      of 11.25 degrees the direction is
//        11               5              (8 - (2 * a + n - 1)) mod 32.
//          10           6
//               9  8  7              (the drawing has y up)
//
// Example: a run from index 0 to 8 has its middle at index 4, on +x: 8 - (0 + 8) = 0, 0 degrees.
//
// The string of bits is taken at the corner's own score, not at the detection threshold as in the
// paper: at the threshold an isolated dot has all 16 bits and no direction.
// Source: J. Cronje, "BFROST: binary features from robust orientation segment tests accelerated on
// the GPU", 2011, sec. III-A1, eq. 2 and 3. The paper's integer (a + b) / 2 drops the half steps.

#ifndef ORBSERVE_FEATURES_ALGO_ARC_MIDDLE_H_
#define ORBSERVE_FEATURES_ALGO_ARC_MIDDLE_H_

#include <cstdint>

#include "features/algo/segment_test.h"
#include "features/host_device.h"

namespace orbserve::algo {

inline constexpr int kArcDirections = 32;
inline constexpr float kArcDirectionDegrees = 11.25f;
inline constexpr uint8_t kNoArcDirection = 255;
inline constexpr int kArcDirectionEntries = 1 << kFastRingPixels;

// Direction of the run of 9 or more in `bits`, 0..31 in steps of 11.25 degrees; 0 for all 16 bits;
// kNoArcDirection when there is no such run.
ORBSERVE_HOST_DEVICE constexpr uint8_t ArcDirectionOf(uint32_t bits) {
  const uint32_t starts = ArcStarts(bits, 9);
  if (starts == 0) return kNoArcDirection;
  if (starts == 0xffffu) return 0;
  const uint32_t before = (starts << 1 | starts >> 15) & 0xffffu;
  uint32_t first_bit = starts & ~before;  // one bit: the run's first pixel
  int first = 0;
  int length = 8;  // a run of n pixels has n - 8 starts
  for (uint32_t rest = starts; rest != 0; rest &= rest - 1) ++length;
  while (first_bit > 1) {
    first_bit >>= 1;
    ++first;
  }
  return static_cast<uint8_t>((8 - (2 * first + length - 1)) & (kArcDirections - 1));
}

// Fills table[0..kArcDirectionEntries) with ArcDirectionOf() of every string. Host only: the table
// is made once and handed to devices.
inline void FillArcDirections(uint8_t* table) {
  for (uint32_t bits = 0; bits < kArcDirectionEntries; ++bits) table[bits] = ArcDirectionOf(bits);
}

// Direction of a corner with the largest threshold `score` (FastScore(), at any arc length 9..12),
// 0..31. `table`: of FillArcDirections(), or a copy of it on a device.
ORBSERVE_HOST_DEVICE inline int ArcDirection(const uint8_t (&ring)[kFastRingPixels],
                                             int centre_grey, int score, const uint8_t* table) {
  const SegmentBits bits = SegmentBitsOf(ring, centre_grey, score);
  const uint8_t bright = table[bits.brighter];
  return bright != kNoArcDirection ? bright : table[bits.darker];
}

// Angle of a direction in degrees, exact.
ORBSERVE_HOST_DEVICE constexpr float ArcDirectionAngle(int direction) {
  return kArcDirectionDegrees * static_cast<float>(direction);
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_ARC_MIDDLE_H_
