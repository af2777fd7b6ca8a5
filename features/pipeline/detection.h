// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The options of a pipeline decide which lists detection and suppression hand to selection. Both
// backends choose their steps by the functions below.

#ifndef ORBSERVE_FEATURES_PIPELINE_DETECTION_H_
#define ORBSERVE_FEATURES_PIPELINE_DETECTION_H_

#include "features/options.h"

namespace orbserve {

// The list that selection begins with. Each level has one.
enum class CornerList {
  // Places and FAST scores (the largest threshold). The first cut chooses among them by score;
  // responses are computed of those that are left.
  kScored,
  // Rank keys (features/algo/order.h): the responses are known. There is no first cut.
  kKeyed,
};

// The detector SIFT has a scale space of its own, and finds, orders and describes features as one
// method (features/algo/sift_*.h). Its plans have level 0 alone, and none of the lists below.
constexpr bool HasScaleSpace(const PipelineOptions& options) {
  return options.detect.detector == Detector::kSift;
}

// Neighbouring corners are compared by their FAST score: what a frame's corners lose to each other
// does not depend on the response.
constexpr bool ComparesFastScores(const PipelineOptions& options) {
  return options.detect.detector == Detector::kFast &&
         (options.suppress.compare == Compare::kFast || options.detect.score == Score::kFast);
}

// Levels are made as ORB-SLAM3 makes them (features/algo/linear_resize.h), and smoothed likewise
// (features/algo/fixed_gaussian.h).
constexpr bool ResizesLinearly(const PipelineOptions& options) {
  return options.select.selection == Selection::kOrbSlam3;
}

// Corners are searched zone by zone (features/algo/zone.h).
constexpr bool HasZones(const PipelineOptions& options) {
  return options.select.selection == Selection::kOrbSlam3;
}

// The selection keeps the first keypoints in rank order. Others look at the responses of all
// corners, and need memory to put them in orders of their own.
constexpr bool SelectsByRankAlone(const PipelineOptions& options) {
  return options.select.selection == Selection::kLevelQuota ||
         options.select.selection == Selection::kBest;
}

// Cells, other selections than by rank and scores other than FAST's look at the responses of all
// corners.
constexpr CornerList CornerListOf(const PipelineOptions& options) {
  return ComparesFastScores(options) && SelectsByRankAlone(options) &&
                 options.suppress.suppression != Suppression::kCell
             ? CornerList::kScored
             : CornerList::kKeyed;
}

// A response map lies between detection and suppression: OrderedBits() (features/algo/order.h) of
// the response of each candidate pixel of a level, 0 for any other pixel. Detectors that suppress
// on their own make none.
constexpr bool HasResponseMap(const PipelineOptions& options) {
  return options.detect.detector != Detector::kFast ||
         options.suppress.suppression == Suppression::kMinimumDistance;
}

// Radius of the window of NEIGHBOURHOOD and CELL.
constexpr int WindowRadiusPx(const PipelineOptions& options) {
  return options.suppress.window_px / 2;
}

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_PIPELINE_DETECTION_H_
