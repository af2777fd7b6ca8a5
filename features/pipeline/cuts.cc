// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/pipeline/cuts.h"

#include <algorithm>

#include "features/algo/quota.h"

namespace orbserve {

bool CutsAllLevels(const PipelineOptions& options) {
  return options.select.selection != Selection::kLevelQuota;
}

Cuts Cuts::For(const PipelineOptions& options, const FrameParameters& parameters) {
  Cuts cuts;
  cuts.all_levels = CutsAllLevels(options);
  cuts.wanted = parameters.max_features;
  cuts.capacity = options.select.capacity;
  if (cuts.all_levels) {
    // If the detection score is the response, no level can contribute more than `wanted`.
    // Truncates() needs those beyond the capacity, so the capacity does not lower the first cut.
    const bool score_ranks = options.detect.score == Score::kLargestThreshold;
    cuts.by_score.fill(score_ranks ? cuts.wanted : kNoCut);
    cuts.by_response.fill(std::min(cuts.wanted, cuts.capacity));
    return cuts;
  }
  algo::LevelQuotas(parameters.max_features, options.pyramid.scale_factor, options.pyramid.levels,
                    cuts.by_response.data());
  // Harris responses choose the quota from twice as many corners, as in cv::ORB.
  const int factor = options.detect.score == Score::kHarris ? 2 : 1;
  for (size_t l = 0; l < cuts.by_score.size(); ++l) {
    cuts.by_score[l] = factor * cuts.by_response[l];
  }
  return cuts;
}

}  // namespace orbserve
