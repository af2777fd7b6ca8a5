// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/pipeline/cuts.h"

#include "features/algo/quota.h"

namespace orbserve {

bool CutsAllLevels(const PipelineOptions& options) {
  return options.select.selection != Selection::kLevelQuota;
}

Cuts Cuts::For(const PipelineOptions& options, const FrameParameters& parameters) {
  Cuts cuts;
  cuts.all_levels = CutsAllLevels(options);
  if (cuts.all_levels) {
    cuts.by_score.fill(kNoCut);
    cuts.by_response.fill(parameters.max_features);
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
