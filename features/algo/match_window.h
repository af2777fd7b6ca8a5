// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Matching by places: which train keypoints are admissible for a query keypoint. There are three
// rules, and a pair must keep those that are on.
//
// Window: the train keypoint lies in a square round the query's place, moved by an offset.
//
//        query frame              train frame            half side w, sides included:
//        +----------+             +----------+             |xt - (xq + offset_x)| <= w
//        |  q       |             |  +----+  |             |yt - (yq + offset_y)| <= w
//        |          |             |  | o  |  |           Level-0 pixels, single precision: the sum
//        +----------+             |  +----+  |           first, then the difference.
//                                 +----------+
//
// Band: min_dx <= xq - xt <= max_dx and |yq - yt| <= max_dy. With the left image of a rectified
// pair as query, xq - xt is the disparity.
//
// Epipolar line: (a, b, c) = F (xq, yq, 1), and the train keypoint is at most d from it:
//        a = (f0 xq + f1 yq) + f2, and so b and c;   |(a xt + b yt) + c| <= d sqrt(a a + b b)
// Single precision; each product and each sum is rounded in this order.
//
// The best and the k best are taken among the admissible; cross-check compares the same pairs from
// the train side; the ratio test compares the two best admissible ones.

#ifndef ORBSERVE_FEATURES_ALGO_MATCH_WINDOW_H_
#define ORBSERVE_FEATURES_ALGO_MATCH_WINDOW_H_

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>

#include "features/algo/metric.h"
#include "features/host_device.h"

namespace orbserve::algo {

struct MatchWindow {
  float half_side_px;  // 0 = off: every pair is admissible
  float offset_x_px;
  float offset_y_px;
};

// True if two coordinates differ by at most `half_side_px`. The order of the two does not matter,
// because rounding is symmetric. False if one of them is not a number, or both are infinite.
ORBSERVE_HOST_DEVICE constexpr bool IsNear(float half_side_px, float a, float b) {
  const float difference = a - b;
  return -half_side_px <= difference && difference <= half_side_px;
}

// True if train keypoint (train_x, train_y) is admissible for query keypoint (query_x, query_y).
ORBSERVE_HOST_DEVICE constexpr bool IsAdmissible(const MatchWindow& window, float query_x,
                                                 float query_y, float train_x, float train_y) {
  return window.half_side_px == 0.0f ||
         (IsNear(window.half_side_px, train_x, query_x + window.offset_x_px) &&
          IsNear(window.half_side_px, train_y, query_y + window.offset_y_px));
}

// Limits of xq - xt and yq - yt. A keypoint whose place is not finite keeps none.
struct MatchBand {
  float min_dx_px = -FLT_MAX;  // +-FLT_MAX: no limit
  float max_dx_px = FLT_MAX;
  float max_dy_px = FLT_MAX;

  // Returns the same limits for a search of queries from the train side.
  ORBSERVE_HOST_DEVICE constexpr MatchBand Backwards() const {
    return {-max_dx_px, -min_dx_px, max_dy_px};
  }
};

// The limits of options, where +-`no_limit` stands for none.
constexpr MatchBand BandOf(float min_dx, float max_dx, float max_dy, float no_limit) {
  MatchBand band;
  if (min_dx > -no_limit) band.min_dx_px = min_dx;
  if (max_dx < no_limit) band.max_dx_px = max_dx;
  if (max_dy < no_limit) band.max_dy_px = max_dy;
  return band;
}

// True if keypoint (x, y) and a candidate keep the limits of a search from the side of (x, y).
ORBSERVE_HOST_DEVICE constexpr bool IsInBand(const MatchBand& band, float x, float y,
                                             float candidate_x, float candidate_y) {
  const float dx = x - candidate_x;
  return band.min_dx_px <= dx && dx <= band.max_dx_px && IsNear(band.max_dy_px, y, candidate_y);
}

// Epipolar line of a query keypoint.
struct EpipolarLine {
  float a;
  float b;
  float c;
  float most;  // largest |a x + b y + c| of an admissible train keypoint
};

// Fundamental matrix, row by row, and the largest distance to a line.
struct EpipolarBand {
  float f[9] = {};
  float max_px = 0.0f;  // 0 = off

  ORBSERVE_HOST_DEVICE EpipolarLine LineOf(float query_x, float query_y) const {
    EpipolarLine line;
    line.a = (f[0] * query_x + f[1] * query_y) + f[2];
    line.b = (f[3] * query_x + f[4] * query_y) + f[5];
    line.c = (f[6] * query_x + f[7] * query_y) + f[8];
    line.most = max_px * SquareRoot(line.a * line.a + line.b * line.b);
    return line;
  }
};

// Returns the matrix in single precision, scaled by the power of two that brings its largest number
// into [0.5, 1), so that no product overflows and few vanish.
inline EpipolarBand MakeEpipolarBand(const std::array<double, 9>& fundamental, float max_px) {
  double largest = 0.0;
  for (const double value : fundamental) largest = std::max(largest, std::fabs(value));
  int exponent = 0;
  std::frexp(largest, &exponent);
  EpipolarBand band;
  for (size_t i = 0; i < fundamental.size(); ++i) {
    band.f[i] = static_cast<float>(std::ldexp(fundamental[i], -exponent));
  }
  band.max_px = max_px;
  return band;
}

// True if a train keypoint is near enough to the line of a query. False if a number is NaN.
ORBSERVE_HOST_DEVICE constexpr bool IsNearLine(const EpipolarLine& line, float train_x,
                                               float train_y) {
  const float value = (line.a * train_x + line.b * train_y) + line.c;
  return -line.most <= value && value <= line.most;
}

// Distance that stands for the second best when a single train keypoint is admissible: the largest
// there is. A place without a rival then passes the ratio test if it is near.
ORBSERVE_HOST_DEVICE constexpr int MissingSecondDistance(int descriptor_bytes) {
  return LargestDistance(descriptor_bytes);
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_MATCH_WINDOW_H_
