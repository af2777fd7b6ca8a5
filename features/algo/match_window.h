// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Matching in a window: a train keypoint is admissible for a query keypoint when it lies in a
// square round the query's place, moved by an offset.
//
//        query frame              train frame            half side w, sides included:
//        +----------+             +----------+             |xt - (xq + offset_x)| <= w
//        |  q       |             |  +----+  |             |yt - (yq + offset_y)| <= w
//        |          |             |  | o  |  |           Level-0 pixels, single precision: the sum
//        +----------+             |  +----+  |           first, then the difference.
//                                 +----------+
//
// The best and the k best are taken among the admissible; cross-check compares the same pairs from
// the train side; the ratio test compares the two best admissible ones.

#ifndef ORBSERVE_FEATURES_ALGO_MATCH_WINDOW_H_
#define ORBSERVE_FEATURES_ALGO_MATCH_WINDOW_H_

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

// Distance that stands for the second best when a single train keypoint is admissible: the largest
// there is. A place without a rival then passes the ratio test if it is near.
ORBSERVE_HOST_DEVICE constexpr int MissingSecondDistance(int descriptor_bytes) {
  return LargestDistance(descriptor_bytes);
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_MATCH_WINDOW_H_
