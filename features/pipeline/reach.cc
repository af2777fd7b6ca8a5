// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/pipeline/reach.h"

#include <algorithm>

#include "features/algo/corner_score.h"
#include "features/pipeline/detection.h"

namespace orbserve {

Reach Reach::Of(const PipelineOptions& options) {
  constexpr float kCentroidSizePx = 31.0f;  // as cv::ORB reports it, with and without descriptor
  constexpr float kFastSizePx = 7.0f;       // as cv::FAST reports it
  constexpr float kMapSizePx = 9.0f;        // that a response of a corner map sees
  constexpr float kBFrostSizePx = 2 * algo::kBFrostRadiusPx + 1;
  Reach reach;
  if (HasScaleSpace(options)) return reach;
  const auto need = [&reach](int border_px) {
    reach.smallest_border_px = std::max(reach.smallest_border_px, border_px);
  };
  const bool is_fast = options.detect.detector == Detector::kFast;
  reach.detect_px = is_fast ? algo::kFastRadiusPx : algo::kCornerMapReachPx;
  need(reach.detect_px);
  const algo::ScoreFacts score = algo::FactsOf(options.detect.score);
  if (is_fast && score.source == algo::ScoreSource::kPatch) {
    reach.score_px = score.reach_px;
    need(reach.score_px + 1);
  }
  switch (options.describe.orientation) {
    case Orientation::kNone:
      break;
    case Orientation::kIntensityCentroid:
      switch (CentroidAreaOf(options.describe.descriptor)) {
        case CentroidArea::kDisc:
          reach.orient_px = algo::kCentroidRadiusPx;
          need(reach.orient_px + 1);
          break;
        case CentroidArea::kPatch:
          reach.orient_px = algo::kPatchReachPx;
          need(reach.orient_px);
          break;
      }
      break;
    case Orientation::kArcMiddle:
      reach.orient_px = algo::kFastRadiusPx;
      need(reach.orient_px);
      break;
  }
  switch (options.describe.descriptor) {
    case Descriptor::kTeblid256:
    case Descriptor::kTeblid512:
    case Descriptor::kBeblid256:
    case Descriptor::kBeblid512:
      reach.describes_everywhere = true;
      if (options.describe.orientation != Orientation::kIntensityCentroid) {
        reach.patch_factor = 5.0f;
      }
      [[fallthrough]];
    case Descriptor::kRootSift:
    case Descriptor::kL1RootSift:
    case Descriptor::kSift:  // not reached: its features have sizes of their own
    case Descriptor::kNone:
      reach.patch_size_px = options.describe.orientation == Orientation::kIntensityCentroid
                                ? kCentroidSizePx
                            : is_fast ? kFastSizePx
                                      : kMapSizePx;
      break;
    case Descriptor::kRBrief256:
      reach.describe_px = kRBriefReachPx;
      reach.describes_everywhere = true;
      reach.patch_size_px = kCentroidSizePx;
      need(kRBriefBorderPx);
      break;
    case Descriptor::kRBrief32:
      reach.describe_px = algo::kRBrief32RadiusPx;
      reach.patch_size_px = algo::kPatchSidePx;
      need(kRBrief32BorderPx);
      break;
    case Descriptor::kBFrost256:
      reach.describe_px = algo::kBFrostRadiusPx;
      reach.patch_size_px = kBFrostSizePx;
      need(reach.describe_px);
      break;
  }
  // Samples of ORB-SLAM3 stay inside the level; its filter mirrors pixels at the edges.
  if (options.select.selection == Selection::kOrbSlam3) {
    reach.smallest_border_px = kOrbSlam3BorderPx;
  }
  return reach;
}

}  // namespace orbserve
