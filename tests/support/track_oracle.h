// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A slow program that follows points by Lucas-Kanade, written from the published rules alone and
// independent of features/algo/: one pixel after the other from the last to the first, 64-bit
// integers, floor division instead of shifts.

#ifndef ORBSERVE_TESTS_SUPPORT_TRACK_ORACLE_H_
#define ORBSERVE_TESTS_SUPPORT_TRACK_ORACLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "features/types.h"
#include "tests/support/method_oracle.h"

namespace orbserve::testing {

struct OracleTrackPoint {
  int64_t x = 0;  // 2^-14 pixels of level 0
  int64_t y = 0;
  float alpha = 0;
  float beta = 0;
  int64_t template_x = 0;
  int64_t template_y = 0;
};

struct OracleTrack {
  TrackStatus status = TrackStatus::kOk;
  int64_t x = 0;
  int64_t y = 0;
  float alpha = 0;
  float beta = 0;
  float residual = 0;
};

using TrackLevels = std::vector<GreyPlane>;  // of one frame, level 0 first

// Levels of factor 2 that exist, at most `levels`.
TrackLevels OracleTrackPyramid(const GreyPlane& image, int levels);

// The place of a point in the frame with the levels `search`. Its template lies in the frame with
// the levels `origin`, of equal sizes.
OracleTrack OracleFollow(const TrackLevels& origin, const TrackLevels& search,
                         const TrackOptions& options, const OracleTrackPoint& point);

// The samples of the templates of all levels that are searched, level 0 first, one pixel around; 0
// on a level that the place is not near to.
std::vector<int16_t> OracleTrackPatches(const TrackLevels& origin, const TrackOptions& options,
                                        int64_t x, int64_t y);

// The answer to a search from the frame with the levels `origin` in the one with the levels
// `search`. `begun` returns the levels of the frame in which the track of a point with patches
// began, by the point's index.
TrackedPoints OracleSearch(const TrackLevels& origin, const TrackLevels& search,
                           const TrackOptions& options, const TrackPoints& points,
                           const std::function<const TrackLevels&(size_t)>& begun);

// Lines `status,x,y,residual\n`: the residual as eight hex digits of its bits, zeros unless OK.
std::string TrackLines(const TrackedPoints& tracked);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_TRACK_ORACLE_H_
