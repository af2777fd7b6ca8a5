// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The segment test of FAST on strings of bits: one bit per ring pixel (features/algo/fast.h has the
// ring), one string for "brighter" and one for "darker". The two strings are never mixed.
//
//   ring index   15 14 13 12 11 10  9  8  7  6  5  4  3  2  1  0
//   brighter      0  0  0  1  1  1  1  1  1  1  1  1  1  0  0  0     run of 10 from index 3 on
//   starts of 9   0  0  0  0  0  0  0  0  0  0  0  1  1  0  0  0     runs of 9 begin at 3 and at 4
//   members       0  0  0  1  1  1  1  1  1  1  1  1  1  0  0  0     the starts spread over 9 bits
//
// Two ways lead to one answer: shifts ("binary encoding") and a table with one bit for each of the
// 2^16 strings (8 KiB for each arc length). A string has at most one run of 9 or more, so that a
// pixel has one polarity and one run, and there are no ties to break.
// Sources: J. Cronje, "BFROST: binary features from robust orientation segment tests accelerated on
// the GPU", 2011, sec. III-A (strings, table, search for the largest threshold); B. Nagy, P. Foehn
// & D. Scaramuzza, "Faster than FAST: GPU-accelerated frontend for high-speed VIO", IROS 2020, sec.
// II-D (table of 8 KiB for each arc length).

#ifndef ORBSERVE_FEATURES_ALGO_SEGMENT_TEST_H_
#define ORBSERVE_FEATURES_ALGO_SEGMENT_TEST_H_

#include <array>
#include <cstdint>

#include "features/algo/fast.h"
#include "features/host_device.h"

namespace orbserve::algo {

// Bit i of each string belongs to ring pixel i; the upper 16 bits are 0.
struct SegmentBits {
  uint32_t brighter;
  uint32_t darker;
};

// Ring pixels that are brighter than centre + threshold, and those that are darker than centre -
// threshold. Both comparisons are strict. `threshold_grey`: 0..254.
ORBSERVE_HOST_DEVICE inline SegmentBits SegmentBitsOf(const uint8_t (&ring)[kFastRingPixels],
                                                      int centre_grey, int threshold_grey) {
  SegmentBits bits = {0, 0};
  for (int i = 0; i < kFastRingPixels; ++i) {
    const int difference = ring[i] - centre_grey;
    bits.brighter |= static_cast<uint32_t>(difference > threshold_grey) << i;
    bits.darker |= static_cast<uint32_t>(difference < -threshold_grey) << i;
  }
  return bits;
}

// SegmentBitsOf() in one word: brighter pixels in the lower half, darker ones in the upper. Two
// differences go into each of 16 words: the lower half is negative unless the pixel is brighter,
// the upper half unless it is darker. A borrow from a negative lower half is part of the constant;
// a brighter pixel has no borrow, and its upper half is negative all the same. `threshold_grey`:
// 1..254.
template <typename Grey>
ORBSERVE_HOST_DEVICE inline uint32_t PackedSegmentBits(const Grey (&ring)[kFastRingPixels],
                                                       int centre_grey, int threshold_grey) {
  constexpr uint32_t kBoth = 0xffff0001u;  // grey - 65536 * grey
  const uint32_t constant = (static_cast<uint32_t>(centre_grey - threshold_grey) << 16) -
                            static_cast<uint32_t>(centre_grey + threshold_grey + 1);
  uint32_t neither = 0;
  ORBSERVE_UNROLL
  for (int i = 0; i < kFastRingPixels; ++i) {
    const uint32_t differences = static_cast<uint32_t>(ring[i]) * kBoth + constant;
    neither = neither >> 1 | (differences & 0x80008000u);
  }
  return ~neither;
}

// Bit i says that the `arc_length` pixels from i on, round the ring, are all set. `arc_length`:
// 9..12; `bits`: 16 bits.
ORBSERVE_HOST_DEVICE constexpr uint32_t ArcStarts(uint32_t bits, int arc_length) {
  uint32_t runs = bits | bits << 16;
  runs &= runs >> 1;
  runs &= runs >> 2;
  runs &= runs >> 4;  // 8 in a row
  return runs & (runs >> (arc_length - 8)) & 0xffffu;
}

ORBSERVE_HOST_DEVICE constexpr bool HasArc(uint32_t bits, int arc_length) {
  return ArcStarts(bits, arc_length) != 0;
}

// The pixels of the run that makes `bits` a corner, `arc_length`..16 of them; 0 when there is none.
ORBSERVE_HOST_DEVICE constexpr uint32_t ArcMembers(uint32_t bits, int arc_length) {
  uint32_t members = ArcStarts(bits, arc_length);
  members |= members << 1;
  members |= members << 2;
  members |= members << 4;  // each start spread over 8 bits
  members |= members << (arc_length - 8);
  return (members | members >> 16) & 0xffffu;
}

inline constexpr int kArcTableWords = (1 << kFastRingPixels) / 32;

// One bit for each string: bit b % 32 of word b / 32 is HasArc(b, arc_length). Host only: devices
// are handed a copy.
inline std::array<uint32_t, kArcTableWords> MakeArcTable(int arc_length) {
  std::array<uint32_t, kArcTableWords> table = {};
  for (uint32_t bits = 0; bits < 1u << kFastRingPixels; ++bits) {
    table[bits / 32] |= static_cast<uint32_t>(HasArc(bits, arc_length)) << (bits % 32);
  }
  return table;
}

// `table`: of MakeArcTable(), or a copy of it on a device.
ORBSERVE_HOST_DEVICE inline bool InArcTable(const uint32_t* table, uint32_t bits) {
  return ((table[bits / 32] >> (bits % 32)) & 1u) != 0;
}

// Largest threshold in threshold_grey..254 at which the ring still makes a corner, by halving the
// interval: the test is monotonic in the threshold. Equal to FastScore(). The ring must make a
// corner at `threshold_grey`.
ORBSERVE_HOST_DEVICE inline int LargestThresholdBySearch(const uint8_t (&ring)[kFastRingPixels],
                                                         int centre_grey, int threshold_grey,
                                                         const uint32_t* arc_table) {
  int passes = threshold_grey;
  int fails = 255;  // no difference of grey levels exceeds it
  while (fails - passes > 1) {
    const int middle = (passes + fails) / 2;
    const SegmentBits bits = SegmentBitsOf(ring, centre_grey, middle);
    if (InArcTable(arc_table, bits.brighter) || InArcTable(arc_table, bits.darker)) {
      passes = middle;
    } else {
      fails = middle;
    }
  }
  return passes;
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_SEGMENT_TEST_H_
