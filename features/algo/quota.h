// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// How many keypoints each level of the pyramid is asked for: a geometric series, so that every
// level gets its share of the image's area side.
// Source: E. Rublee et al., "ORB: an efficient alternative to SIFT or SURF", ICCV 2011, sec. 6.1;
// the rounding is that of OpenCV 4.6.0.

#ifndef ORBSERVE_FEATURES_ALGO_QUOTA_H_
#define ORBSERVE_FEATURES_ALGO_QUOTA_H_

#include <cmath>
#include <cstdint>

#include "features/host_device.h"

namespace orbserve::algo {

// Fills quota[0..levels). Host only, as LevelScale(). They may sum to a little more than
// `max_features` when it is small; the last level gets what is left, at least 0.
inline void LevelQuotas(int max_features, float scale_factor, int levels, int32_t* quota) {
  const float q = static_cast<float>(1.0 / static_cast<double>(scale_factor));
  float desired = static_cast<float>(max_features) * (1.0f - q) /
                  (1.0f - static_cast<float>(std::pow(static_cast<double>(q), levels)));
  int sum = 0;
  for (int level = 0; level + 1 < levels; ++level) {
    quota[level] = RoundToInt(desired);
    sum += quota[level];
    desired *= q;
  }
  quota[levels - 1] = Max(max_features - sum, 0);
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_QUOTA_H_
