// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/pipeline/cuts.h"

#include <algorithm>

#include "features/algo/quota.h"
#include "features/pipeline/detection.h"

namespace orbserve {

bool CutsAllLevels(const PipelineOptions& options) {
  return options.select.selection == Selection::kBest ||
         options.select.selection == Selection::kCell;
}

bool MayExceedWanted(const PipelineOptions& options) {
  return options.select.selection == Selection::kLevelQuota ||
         options.select.selection == Selection::kOrbSlam3 || HasScaleSpace(options);
}

Cuts Cuts::For(const PipelineOptions& options, const FrameParameters& parameters) {
  Cuts cuts;
  cuts.all_levels = CutsAllLevels(options);
  cuts.keeps_ties = MayExceedWanted(options);
  cuts.wanted = parameters.max_features;
  cuts.capacity = options.select.capacity;
  const bool cuts_scores = CornerListOf(options) == CornerList::kScored;
  const bool score_ranks = options.detect.score == Score::kFast;
  cuts.by_score.fill(kNoCut);
  const int limit = std::min(cuts.wanted, cuts.capacity);
  switch (options.select.selection) {
    case Selection::kLevelQuota:
      algo::LevelQuotas(cuts.wanted, options.pyramid.scale_factor, options.pyramid.levels,
                        cuts.by_response.data());
      if (cuts_scores) {
        // Harris responses choose the quota from twice as many corners, as in cv::ORB.
        const int factor = score_ranks ? 1 : 2;
        for (size_t l = 0; l < cuts.by_score.size(); ++l) {
          cuts.by_score[l] = factor * cuts.by_response[l];
        }
      }
      break;
    case Selection::kBest:
      cuts.by_response.fill(limit);
      // If the FAST score is the response, no level can contribute more than `wanted`. Truncates()
      // needs those beyond the capacity, so the capacity does not lower the first cut.
      if (cuts_scores && score_ranks) cuts.by_score.fill(cuts.wanted);
      break;
    case Selection::kCell:
      cuts.by_response.fill(limit);
      break;
    case Selection::kOrbSlam3:
      algo::LevelQuotas(cuts.wanted, options.pyramid.scale_factor, options.pyramid.levels,
                        cuts.by_response.data());
      break;
    case Selection::kQuadtree:
      // The levels together may exceed a small `limit`; the answer is cut there.
      algo::LevelQuotas(limit, options.pyramid.scale_factor, options.pyramid.levels,
                        cuts.by_response.data());
      break;
  }
  return cuts;
}

}  // namespace orbserve
