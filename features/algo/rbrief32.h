// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Angle and descriptor of a patch of 10x10 pixels: the intensity centroid of the patch, and 32
// tests of the unsmoothed level, the points turned by that angle.
//
//        x-4 . . . x . . . . x+5       The patch has even sides, so that its middle lies between
//   y-5   +-------------------+        pixels, half a pixel right of the keypoint and half a
//         |                   |        pixel above it. Moments about the middle have odd
//         |        | middle   |        weights, twice the distances: 2u - 1 for column x + u,
//     y   |       p           |        2v + 1 for row y + v. About the keypoint itself the mean
//   y+4   +-------------------+        grey would not cancel and would pull every angle to one
//                                      corner.
//
// The tests are turned about the keypoint's own pixel p.
// Source: M. Chang, F. Lee & M. Truong, "How to write fast code: ORB algorithm final report", 2019,
// sec. 2.1 (patch) and 2.2 (moments, 32 tests in a word). The report does not print its pattern;
// the one below is our own, and all 100 pixels count.

#ifndef ORBSERVE_FEATURES_ALGO_RBRIEF32_H_
#define ORBSERVE_FEATURES_ALGO_RBRIEF32_H_

#include <cstddef>
#include <cstdint>

#include "features/algo/orientation.h"
#include "features/algo/rbrief.h"
#include "features/algo/rbrief_pattern.h"
#include "features/algo/sincos.h"
#include "features/host_device.h"

namespace orbserve::algo {

inline constexpr int kRBrief32Pairs = 32;
inline constexpr int kRBrief32Bytes = kRBrief32Pairs / 8;
// The patch: columns x - kPatchLeftPx .. x + kPatchRightPx, rows y - kPatchTopPx .. y +
// kPatchBottomPx.
inline constexpr int kPatchSidePx = 10;
inline constexpr int kPatchLeftPx = 4;
inline constexpr int kPatchRightPx = 5;
inline constexpr int kPatchTopPx = 5;
inline constexpr int kPatchBottomPx = 4;
// Farthest pixel of the patch from the keypoint in x or in y.
inline constexpr int kPatchReachPx = 5;
// Farthest a turned point lies from the keypoint in x or in y: every point has x^2 + y^2 <= 20.
inline constexpr int kRBrief32RadiusPx = 4;

// Pair i gives bit i. Chosen among all pairs of the disc by a bit mean near one half and
// correlations below 0.30 on photographs. Points keep to the disc x^2 + y^2 <= 20.
inline constexpr RBriefPair kRBrief32Pattern[kRBrief32Pairs] = {
    // clang-format off
    { 0, -1,  0,  1}, { 2, -2,  2,  0}, {-2, -2, -2,  2}, { 0,  0,  2,  2},
    {-1, -3, -1,  4}, {-4, -2, -3,  0}, { 1, -3,  2,  4}, { 2, -1,  4,  0},
    {-2,  0, -2,  3}, { 0, -4,  0,  3}, {-4, -1, -4,  2}, { 2,  2,  4,  2},
    { 4, -2,  4,  0}, { 1,  2,  3,  3}, { 2, -4,  2, -2}, { 2, -3,  4, -2},
    {-2, -4, -1,  2}, {-3, -2, -4,  0}, { 3, -1,  4,  2}, {-4,  2, -2,  2},
    {-4, -2, -2, -2}, { 4, -1,  2,  1}, {-2,  2, -1,  4}, { 3, -3,  1, -2},
    {-2, -3, -3, -1}, { 2,  1,  2,  3}, {-4,  0, -2,  0}, {-2, -1, -3,  1},
    {-1, -4, -3,  3}, {-1, -2, -2,  0}, { 0,  4,  2,  4}, { 4,  1,  3,  3},
    // clang-format on
};

// Moments of the patch round `centre` with the weights above, rows `pitch_bytes` apart: -63,750 to
// 63,750. Integers: any order of summation will do. The angle is CentroidAngleDegrees() of them.
ORBSERVE_HOST_DEVICE inline Moments PatchMoments(const uint8_t* centre, ptrdiff_t pitch_bytes) {
  Moments moments = {0, 0};
  for (int v = -kPatchTopPx; v <= kPatchBottomPx; ++v) {
    const uint8_t* row = centre + v * pitch_bytes;
    int row_sum = 0;
    for (int u = -kPatchLeftPx; u <= kPatchRightPx; ++u) {
      moments.x += (2 * u - 1) * row[u];
      row_sum += row[u];
    }
    moments.y += (2 * v + 1) * row_sum;
  }
  return moments;
}

// The 32 bits of the descriptor at `centre` of the level itself, rows `pitch_bytes` apart; bit i is
// test i. The 4 bytes of an answer hold the word with its lowest byte first. `pattern`:
// kRBrief32Pattern, or a copy of it on a device.
ORBSERVE_HOST_DEVICE inline uint32_t DescribeRBrief32(const uint8_t* centre, ptrdiff_t pitch_bytes,
                                                      float angle_deg, const RBriefPair* pattern) {
  const SinCos turn = SinCosOf(RadiansOfDegrees(angle_deg));
  uint32_t bits = 0;
  for (int i = 0; i < kRBrief32Pairs; ++i) {
    const RBriefOffset a = TurnPoint(pattern[i].x1, pattern[i].y1, turn);
    const RBriefOffset b = TurnPoint(pattern[i].x2, pattern[i].y2, turn);
    const uint8_t grey_a = centre[a.y * pitch_bytes + a.x];
    const uint8_t grey_b = centre[b.y * pitch_bytes + b.x];
    bits |= static_cast<uint32_t>(grey_a < grey_b) << i;
  }
  return bits;
}

// Byte `k`, 0..3, of the answer.
ORBSERVE_HOST_DEVICE constexpr uint8_t RBrief32Byte(uint32_t bits, int k) {
  return static_cast<uint8_t>(bits >> (8 * k));
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_RBRIEF32_H_
