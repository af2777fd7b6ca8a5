// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Lucas-Kanade tracks on the host: the loops over pixels of features/algo/lucas_kanade.h, which
// exist twice with the same bits (cpu/kernels/kernel_target.h), and the driver that follows the
// points of a job with them.

#ifndef ORBSERVE_CPU_TRACKING_FOLLOW_POINTS_H_
#define ORBSERVE_CPU_TRACKING_FOLLOW_POINTS_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "cpu/kernels/kernel_target.h"
#include "cpu/tracking/frame_pyramid.h"
#include "features/algo/lucas_kanade.h"
#include "features/image_view.h"
#include "features/options.h"
#include "features/types.h"

namespace orbserve::cpu {

// The two frames of a job and its options. A plain view.
struct TrackFrames {
  // Both pyramids must outlive the frames and have levels of equal sizes.
  static TrackFrames Of(const FramePyramid& from, const FramePyramid& to,
                        const TrackOptions& options);

  algo::TrackParameters parameters;
  std::array<algo::TrackLevelSize, algo::kMaxTrackLevels> sizes;
  std::array<ImageView, algo::kMaxTrackLevels> from;  // [level]
  std::array<ImageView, algo::kMaxTrackLevels> to;
};

// Patches of one point: a row of TrackPoints::patches to read, one of TrackedPoints::patches to
// write, or neither.
struct PointPatches {
  const int16_t* given = nullptr;
  int16_t* answered = nullptr;
};

// Follows one point.
using FollowKernel = algo::TrackResult (*)(const TrackFrames& frames, const algo::TrackStart& start,
                                           const PointPatches& patches);
algo::TrackResult ReferenceFollow(const TrackFrames& frames, const algo::TrackStart& start,
                                  const PointPatches& patches);
FollowKernel FollowKernelFor(const KernelTarget& target);

// Follows all `points`, which with the pyramids and options must have passed CheckTrackJob(), on
// the threads of the calling arena. False when `cancelled`, which may be null, was seen to be true;
// it is looked at before each point. `tracked` is unspecified then.
bool FollowPoints(FollowKernel follow, const FramePyramid& from, const FramePyramid& to,
                  const TrackPoints& points, const TrackOptions& options,
                  const std::atomic<bool>* cancelled, TrackedPoints* tracked);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_TRACKING_FOLLOW_POINTS_H_
