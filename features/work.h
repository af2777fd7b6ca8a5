// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Size of a piece of work, known before it is done: about the nanoseconds that one thread of a
// present-day processor takes for it. A backend is faster or slower by a factor, which WorkRate
// learns.

#ifndef ORBSERVE_FEATURES_WORK_H_
#define ORBSERVE_FEATURES_WORK_H_

#include "features/backend.h"
#include "features/options.h"

namespace orbserve {

// Pixels of all levels of a frame's pyramids, or of all images of SIFT's octaves. `spec` must be
// valid.
double PixelsOf(const PlanSpec& spec);

// Sizes of a frame, of a match and of a search for tracks.
double FrameWork(const PlanSpec& spec, const FrameParameters& parameters);
double MatchWork(const MatchJob& job);
double TrackWork(const TrackJob& job);
// Size of the building of a plan.
double PlanWork(const PlanSpec& spec);

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_WORK_H_
