// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// rBRIEF-256: each bit says which of two points of the smoothed patch is darker, the points turned
// by the keypoint's angle.
// Source: E. Rublee et al., "ORB: an efficient alternative to SIFT or SURF", ICCV 2011, sec. 4.

#ifndef ORBSERVE_FEATURES_ALGO_RBRIEF_H_
#define ORBSERVE_FEATURES_ALGO_RBRIEF_H_

#include <cstddef>
#include <cstdint>

#include "features/algo/rbrief_pattern.h"
#include "features/algo/sincos.h"
#include "features/host_device.h"

namespace orbserve::algo {

inline constexpr int kRBriefBytes = kRBriefPairs / 8;
// Farthest a turned point can lie from the keypoint in x or in y: sqrt(13^2 + 13^2) rounded.
inline constexpr int kRBriefRadiusPx = 18;

// Offset of a turned point from the keypoint in pixels.
struct RBriefOffset {
  int x;
  int y;
};

// Point (x, y) turned, then rounded to the pixel grid. Single precision, nothing fused.
ORBSERVE_HOST_DEVICE inline RBriefOffset TurnPoint(int x, int y, const SinCos& turn) {
  const float fx = static_cast<float>(x);
  const float fy = static_cast<float>(y);
  return {RoundSmallToInt(fx * turn.cosine - fy * turn.sine),
          RoundSmallToInt(fx * turn.sine + fy * turn.cosine)};
}

// The 32 bytes of the descriptor at `centre` of the smoothed level, rows `pitch_bytes` apart.
// `pattern`: kRBriefPattern, or a copy of it on a device.
ORBSERVE_HOST_DEVICE inline void DescribeRBrief256(const uint8_t* centre, ptrdiff_t pitch_bytes,
                                                   float angle_deg, const RBriefPair* pattern,
                                                   uint8_t* descriptor) {
  const SinCos turn = SinCosOf(RadiansOfDegrees(angle_deg));
  for (int byte = 0; byte < kRBriefBytes; ++byte) {
    unsigned bits = 0;
    for (int bit = 0; bit < 8; ++bit) {
      const RBriefPair& pair = pattern[8 * byte + bit];
      const RBriefOffset a = TurnPoint(pair.x1, pair.y1, turn);
      const RBriefOffset b = TurnPoint(pair.x2, pair.y2, turn);
      const uint8_t grey_a = centre[a.y * pitch_bytes + a.x];
      const uint8_t grey_b = centre[b.y * pitch_bytes + b.x];
      bits |= static_cast<unsigned>(grey_a < grey_b) << bit;
    }
    descriptor[byte] = static_cast<uint8_t>(bits);
  }
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_RBRIEF_H_
