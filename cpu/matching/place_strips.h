// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Keypoints sorted for searches by place.
//
// The keypoints are sorted by y and cut into strips of equal numbers. Each strip is then sorted by
// x. A search in a window visits the few strips that the window meets in y, and in each of them one
// run of keypoints.
//
//     y |  . 1 .  2 .   . 3      strip 0: x up
//       |    +-----+
//       | 4  |5  6 |  7    8     strip 1: the run 5 6
//       |    +-----+
//       |  9   .  10   . 11      strip 2
//       +--------------------> x
//
// Coordinates are compared, never divided: places far outside an image cost time, but no answer.

#ifndef ORBSERVE_CPU_MATCHING_PLACE_STRIPS_H_
#define ORBSERVE_CPU_MATCHING_PLACE_STRIPS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace orbserve::cpu {

struct PlaceStrips {
  // Sorts `count` places. Those that are not finite lie in no window and are left out.
  PlaceStrips(const float* x, const float* y, int count);

  // Keypoints of strip `strip` are [begin, end).
  int begin(int strip) const { return strip * strip_length; }
  int end(int strip) const { return std::min(begin(strip) + strip_length, count); }
  int strips() const { return static_cast<int>(least_y.size()); }

  // Entries that may be read behind the last keypoint.
  static constexpr int kPadding = 16;

  int count = 0;  // of keypoints with finite places
  int strip_length = 1;
  // [count + kPadding]. Padding is farther away than any keypoint.
  std::vector<float> x;         // ascending within a strip
  std::vector<float> y;         // in the order of `x`
  std::vector<uint32_t> index;  // row of the keypoint, in the order of `x`
  std::vector<float> least_y;   // of each strip; both ascend
  std::vector<float> most_y;
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_MATCHING_PLACE_STRIPS_H_
