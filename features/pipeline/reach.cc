// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/pipeline/reach.h"

#include <algorithm>

namespace orbserve {

Reach Reach::Of(const PipelineOptions& options) {
  Reach reach;
  reach.detect_px = algo::kFastRadiusPx;
  if (options.detect.score == Score::kHarris) reach.score_px = algo::kHarrisRadiusPx;
  if (options.describe.orientation == Orientation::kIntensityCentroid) {
    reach.orient_px = algo::kCentroidRadiusPx;
  }
  if (options.describe.descriptor != Descriptor::kNone) reach.describe_px = kRBriefReachPx;
  return reach;
}

int Reach::SmallestBorder() const {
  const int of_keypoints = std::max({score_px, orient_px, describe_px});
  return std::max(detect_px, of_keypoints > 0 ? of_keypoints + 1 : 0);
}

}  // namespace orbserve
