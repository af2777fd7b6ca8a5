// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Number of pixels that each stage reads beyond the pixel or keypoint it works on, in each
// direction. Borders, halos of tiles, mirrored margins and the size of keypoints follow from these.

#ifndef ORBSERVE_FEATURES_PIPELINE_REACH_H_
#define ORBSERVE_FEATURES_PIPELINE_REACH_H_

#include "features/algo/bfrost.h"
#include "features/algo/corner.h"
#include "features/algo/corner_map.h"
#include "features/algo/fast.h"
#include "features/algo/gaussian.h"
#include "features/algo/orientation.h"
#include "features/algo/rbrief.h"
#include "features/algo/rbrief32.h"
#include "features/options.h"

namespace orbserve {

// Pixels of the smoothed level that rBRIEF-256 reads: turned points of its pattern.
inline constexpr int kRBriefSampleReachPx = algo::kRBriefRadiusPx;
// Pixels of the level itself: the samples and the filter that smooths them.
inline constexpr int kRBriefReachPx = kRBriefSampleReachPx + algo::kGaussianRadiusPx;
// Keypoints of a detection that are described keep one pixel more to the border than that. The
// wire contract names it as the smallest border.
inline constexpr int kRBriefBorderPx = kRBriefReachPx + 1;
static_assert(kOrbSlam3BorderPx == kRBriefSampleReachPx + 1);

// Smallest border of rBRIEF-32: the side of its patch, as the wire contract names it. Its stages
// read 5 pixels.
inline constexpr int kRBrief32BorderPx = algo::kPatchSidePx;

// Pixels round a keypoint whose intensity centroid gives its angle.
enum class CentroidArea {
  kDisc,   // of radius 15, features/algo/orientation.h
  kPatch,  // of 10x10 pixels, features/algo/rbrief32.h
};
// rBRIEF-32 has a centroid of its own.
constexpr CentroidArea CentroidAreaOf(Descriptor descriptor) {
  return descriptor == Descriptor::kRBrief32 ? CentroidArea::kPatch : CentroidArea::kDisc;
}

// True for descriptors of the image at full size, whatever the level of a keypoint
// (features/algo/teblid.h).
constexpr bool IsOfLevelZero(Descriptor descriptor) {
  return descriptor == Descriptor::kTeblid256 || descriptor == Descriptor::kTeblid512 ||
         descriptor == Descriptor::kBeblid256 || descriptor == Descriptor::kBeblid512;
}

// Pixels of one level that the stages of a pipeline read; 0 for a stage that does not run, and with
// the detector SIFT.
struct Reach {
  int detect_px = 0;    // test at each pixel
  int score_px = 0;     // response of a corner
  int orient_px = 0;    // angle of a keypoint
  int describe_px = 0;  // descriptor of a keypoint, smoothing included
  // True where samples of a descriptor outside the level are mirrored into it, or cut, so that
  // every given keypoint can be described.
  bool describes_everywhere = false;
  // Diameter of the patch of a keypoint at level 0 (Features::size), by its descriptor, else (and
  // for TEBLID and BEBLID) by the way in which it was found.
  float patch_size_px = 0.0f;
  // TEBLID and BEBLID: the side of their patch is the keypoint's size times this factor, which
  // their authors name for ORB and for FAST keypoints.
  float patch_factor = 1.0f;
  // Smallest border at which no stage reads outside its level. The stages of `orb` that run on
  // keypoints have one pixel to spare: wide loads round up.
  int smallest_border_px = 0;

  static Reach Of(const PipelineOptions& options);
};

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_PIPELINE_REACH_H_
