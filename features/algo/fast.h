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

// Orders of plain numbers for BestArc(). A device that compares several packed numbers at once
// brings an order of its own.
struct PlainOrder {
  ORBSERVE_HOST_DEVICE static int Least(int a, int b) { return Min(a, b); }
  ORBSERVE_HOST_DEVICE static int Least(int a, int b, int c) { return Min(Min(a, b), c); }
  ORBSERVE_HOST_DEVICE static int Greatest(int a, int b) { return Max(a, b); }
  ORBSERVE_HOST_DEVICE static int Greatest(int a, int b, int c) { return Max(Max(a, b), c); }
};
// The opposite order. Negative numbers under PlainOrder would do the same, but ptxas of CUDA 13.0
// loses the signs of negated operands of fused minima (docs/gpu.md).
struct OppositeOrder {
  ORBSERVE_HOST_DEVICE static int Least(int a, int b) { return Max(a, b); }
  ORBSERVE_HOST_DEVICE static int Least(int a, int b, int c) { return Max(Max(a, b), c); }
  ORBSERVE_HOST_DEVICE static int Greatest(int a, int b) { return Min(a, b); }
  ORBSERVE_HOST_DEVICE static int Greatest(int a, int b, int c) { return Min(Min(a, b), c); }
};

// The greatest, over all arcs of `kArcLength` (9..12) ring pixels, of the least number on the arc.
// Two neighbouring arcs share all but their ends. Of the two ends the greater one counts, and the
// shared part is composed of pairs that begin at odd pixels. Arcs of 9 take 36 minima and maxima of
// up to three numbers.
template <int kArcLength, typename Order, typename Number>
ORBSERVE_HOST_DEVICE inline Number BestArc(const Number (&ring)[kFastRingPixels]) {
  static_assert(kArcLength >= 9 && kArcLength <= 12);
  constexpr int kPairs = kFastRingPixels / 2;
  Number pair[kPairs];  // ring pixels 2i + 1 and 2i + 2
  ORBSERVE_UNROLL
  for (int i = 0; i < kPairs; ++i) {
    pair[i] = Order::Least(ring[2 * i + 1], ring[(2 * i + 2) % kFastRingPixels]);
  }
  Number arc[kPairs];  // the better one of the arcs that begin at pixels 2i and 2i + 1
  ORBSERVE_UNROLL
  for (int i = 0; i < kPairs; ++i) {
    const Number end = Order::Greatest(ring[2 * i], ring[(2 * i + kArcLength) % kFastRingPixels]);
    arc[i] = Order::Least(pair[i], pair[(i + 1) % kPairs], pair[(i + 2) % kPairs]);
    arc[i] = Order::Least(arc[i], pair[(i + 3) % kPairs], end);  // pixels 2i + 1 .. 2i + 8
    if constexpr (kArcLength == 10) {
      arc[i] = Order::Least(arc[i], ring[(2 * i + 9) % kFastRingPixels]);
    }
    if constexpr (kArcLength == 11) arc[i] = Order::Least(arc[i], pair[(i + 4) % kPairs]);
    if constexpr (kArcLength == 12) {
      arc[i] = Order::Least(arc[i], pair[(i + 4) % kPairs], ring[(2 * i + 11) % kFastRingPixels]);
    }
  }
  return Order::Greatest(Order::Greatest(arc[0], arc[1], arc[2]),
                         Order::Greatest(arc[3], arc[4], arc[5]), Order::Greatest(arc[6], arc[7]));
}

// Largest threshold t at which `kArcLength` neighbouring ring pixels are all brighter than
// centre + t or all darker than centre - t; negative when there is none. -256..254.
template <int kArcLength>
ORBSERVE_HOST_DEVICE inline int FastScore(const int (&ring)[kFastRingPixels], int centre_grey) {
  const int bright = BestArc<kArcLength, PlainOrder>(ring);
  const int dark = BestArc<kArcLength, OppositeOrder>(ring);
  return Max(bright - centre_grey, centre_grey - dark) - 1;
}

// FastScore() for an `arc_length`, 9..12, that is not known when it is compiled.
ORBSERVE_HOST_DEVICE inline int FastScore(const uint8_t (&ring)[kFastRingPixels], int centre_grey,
                                          int arc_length) {
  int numbers[kFastRingPixels];
  for (int i = 0; i < kFastRingPixels; ++i) numbers[i] = ring[i];
  switch (arc_length) {
    case 9:
      return FastScore<9>(numbers, centre_grey);
    case 10:
      return FastScore<10>(numbers, centre_grey);
    case 11:
      return FastScore<11>(numbers, centre_grey);
    default:
      return FastScore<12>(numbers, centre_grey);
  }
}

// True where 16 comparison bits, one per ring pixel, hold `kArcLength` neighbouring ones.
template <int kArcLength>
ORBSERVE_HOST_DEVICE constexpr bool HoldsArc(uint32_t bits) {
  static_assert(kArcLength >= 9 && kArcLength <= 12);
  uint32_t run = bits | (bits << kFastRingPixels);
  run &= run >> 1;
  run &= run >> 2;
  run &= run >> 4;  // bit i: ring pixels i .. i + 7
  run &= run >> (kArcLength - 8);
  return (run & 0xffffu) != 0;
}

// HoldsArc() of all comparison bits as a table: bit i % 32 of word i / 32 belongs to the bits i.
inline constexpr int kFastBitTableWords = 2048;
template <int kArcLength>
void FillFastBitTable(uint32_t (&table)[kFastBitTableWords]) {
  for (uint32_t word = 0; word < kFastBitTableWords; ++word) {
    table[word] = 0;
    for (uint32_t bit = 0; bit < 32; ++bit) {
      table[word] |= (HoldsArc<kArcLength>(32 * word + bit) ? 1u : 0u) << bit;
    }
  }
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
