// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// BFROST-256: each bit says which of two squares round the keypoint is darker on the mean. 64
// squares lie on four circles in 16 directions; sample i = 4 * g + m lies on circle m in direction
// g, at 22.5 * g degrees clockwise from +x.
//
//   m   radius   offsets from the keypoint, g = 0..4 (x,y)          half side   side   pixels
//   0    4       (4,0)  (4,2)   (3,3)   (2,4)   (0,4)                  1          3       9
//   1    8       (8,0)  (7,3)   (6,6)   (3,7)   (0,8)                  3          7      49
//   2   16       (16,0) (15,6)  (11,11) (6,15)  (0,16)                 6         13     169
//   3   32       (32,0) (30,12) (23,23) (12,30) (0,32)                12         25     625
//
// Direction g + 4 is direction g turned by 90 degrees: (x,y) -> (-y,x). So turning the keypoint by
// a step of 22.5 degrees moves every sample 4 indices on and every test one byte pair on: the
// descriptor of a turned keypoint is the plain one with its bytes rotated.
//
// Sums come from an integral image modulo 2^32. Sums over large images overflow; the difference of
// four entries is still exact, as a square sums to 159,375 at most.
//
// Source: J. Cronje, "BFROST: binary features from robust orientation segment tests accelerated on
// the GPU", 2011, sec. III-B, eq. 4 to 10. Deviations: the half side is trunc(pi * r / 8), the area
// is the true one, (2 * half + 1)^2, and the direction of sample i is floor(i / 4).

#ifndef ORBSERVE_FEATURES_ALGO_BFROST_H_
#define ORBSERVE_FEATURES_ALGO_BFROST_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "features/host_device.h"

namespace orbserve::algo {

inline constexpr int kBFrostBytes = 32;
inline constexpr int kBFrostSamples = 64;
inline constexpr int kBFrostCircles = 4;
inline constexpr int kBFrostDirections = 16;
inline constexpr int kBFrostTestsPerSample = 4;
// Farthest pixel that a square holds: radius 32 and half side 12.
inline constexpr int kBFrostRadiusPx = 44;

// Row `y` + 1 of an integral image from row `y`: integral[y][x] is the sum of all pixels above and
// left of (x, y), exclusive, modulo 2^32. `above` and `row` have width_px + 1 entries; row 0 is all
// 0. Any other order of summation gives the same entries.
ORBSERVE_HOST_DEVICE inline void IntegralRow(const uint8_t* pixels, const uint32_t* above,
                                             int width_px, uint32_t* row) {
  uint32_t sum = 0;
  row[0] = 0;
  for (int x = 0; x < width_px; ++x) {
    sum += pixels[x];
    row[x + 1] = above[x + 1] + sum;
  }
}

// A sample is a square, given by its centre relative to the keypoint and its half side.
struct BFrostSample {
  int8_t x;
  int8_t y;
  int8_t half_side;
};

// Pixels of a square on circle `m`, 0..3.
ORBSERVE_HOST_DEVICE constexpr int BFrostArea(int m) {
  constexpr int16_t area[kBFrostCircles] = {9, 49, 169, 625};
  return area[m];
}

// Sample `i`, 0..63.
ORBSERVE_HOST_DEVICE constexpr BFrostSample BFrostSampleOf(int i) {
  constexpr int8_t x[kBFrostCircles][4] = {
      {4, 4, 3, 2}, {8, 7, 6, 3}, {16, 15, 11, 6}, {32, 30, 23, 12}};
  constexpr int8_t y[kBFrostCircles][4] = {
      {0, 2, 3, 4}, {0, 3, 6, 7}, {0, 6, 11, 15}, {0, 12, 23, 30}};
  constexpr int8_t half_side[kBFrostCircles] = {1, 3, 6, 12};
  const int m = i % kBFrostCircles;
  const int g = i / kBFrostCircles;
  const int8_t px = x[m][g % 4];
  const int8_t py = y[m][g % 4];
  const int8_t minus_px = static_cast<int8_t>(-px);
  const int8_t minus_py = static_cast<int8_t>(-py);
  switch (g / 4) {  // quarter turns
    case 0:
      return {px, py, half_side[m]};
    case 1:
      return {minus_py, px, half_side[m]};
    case 2:
      return {minus_px, minus_py, half_side[m]};
    default:
      return {py, minus_px, half_side[m]};
  }
}

// All samples, for kernels that read them from a table. Host only: devices are handed a copy.
constexpr std::array<BFrostSample, kBFrostSamples> MakeBFrostSamples() {
  std::array<BFrostSample, kBFrostSamples> samples = {};
  for (int i = 0; i < kBFrostSamples; ++i) {
    samples[static_cast<size_t>(i)] = BFrostSampleOf(i);
  }
  return samples;
}

// Sum of the pixels of a square, 0..159,375. `corner`: entry (x, y) of the integral image, (x, y)
// being the keypoint; rows are `pitch` entries apart.
ORBSERVE_HOST_DEVICE inline uint32_t BFrostSum(const uint32_t* corner, ptrdiff_t pitch,
                                               const BFrostSample& sample) {
  const int h = sample.half_side;
  const uint32_t* top = corner + (sample.y - h) * pitch + sample.x;
  const uint32_t* bottom = corner + (sample.y + h + 1) * pitch + sample.x;
  return bottom[h + 1] - top[h + 1] - bottom[-h] + top[-h];
}

// Sample that sample `i` is compared with in its test `j`, 0..3. Tests 0, 1 and 2 stay on the
// circle, so that their areas cancel; test 3 goes to circle 3 - m of the next direction.
ORBSERVE_HOST_DEVICE constexpr int BFrostPartner(int i, int j) {
  switch (j) {
    case 0:
      return (i + 8) % kBFrostSamples;
    case 1:
      return (i + 24) % kBFrostSamples;
    case 2:
      return (i + 36) % kBFrostSamples;
    default:
      return (i / 4 * 4 + 7 - i % 4) % kBFrostSamples;
  }
}

// The four bits of sample `i`, test j as bit j: 1 where the mean of sample i is below its
// partner's. `sum`: sums of all samples. Products stay below 2^27.
ORBSERVE_HOST_DEVICE inline uint32_t BFrostBits(const uint32_t* sum, int i) {
  uint32_t bits = 0;
  for (int j = 0; j < kBFrostTestsPerSample; ++j) {
    const int partner = BFrostPartner(i, j);
    const uint32_t a = sum[i] * static_cast<uint32_t>(BFrostArea(partner % kBFrostCircles));
    const uint32_t b = sum[partner] * static_cast<uint32_t>(BFrostArea(i % kBFrostCircles));
    bits |= static_cast<uint32_t>(a < b) << j;
  }
  return bits;
}

// Byte `k`, 0..31, of the descriptor of a keypoint with direction 0.
ORBSERVE_HOST_DEVICE inline uint8_t BFrostByte(const uint32_t* sum, int k) {
  return static_cast<uint8_t>(BFrostBits(sum, 2 * k) | BFrostBits(sum, 2 * k + 1) << 4);
}

// Place of byte `k` of the plain descriptor in that of a keypoint with direction `tau`, 0..15.
ORBSERVE_HOST_DEVICE constexpr int BFrostTurnedByte(int k, int tau) {
  return (k - 2 * tau) & (kBFrostBytes - 1);
}

// The nearest of 16 directions to an angle, halves down; |angle_deg| <= 720. -1 (no orientation)
// gives 0. Single precision, nothing fused. For ArcDirectionAngle(d) the result is d / 2.
ORBSERVE_HOST_DEVICE inline int BFrostDirectionOf(float angle_deg) {
  const float quotient = (angle_deg - 11.25f) / 22.5f;
  int direction = static_cast<int>(quotient);
  if (static_cast<float>(direction) < quotient) ++direction;  // ceil: truncation went down
  return direction & (kBFrostDirections - 1);
}

// The 32 bytes of the descriptor of a keypoint with direction `tau`, 0..15. `corner`, `pitch`: as
// BFrostSum().
ORBSERVE_HOST_DEVICE inline void DescribeBFrost256(const uint32_t* corner, ptrdiff_t pitch, int tau,
                                                   uint8_t* descriptor) {
  uint32_t sum[kBFrostSamples];
  for (int i = 0; i < kBFrostSamples; ++i) sum[i] = BFrostSum(corner, pitch, BFrostSampleOf(i));
  for (int k = 0; k < kBFrostBytes; ++k) {
    descriptor[BFrostTurnedByte(k, tau)] = BFrostByte(sum, k);
  }
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_BFROST_H_
