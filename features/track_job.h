// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_FEATURES_TRACK_JOB_H_
#define ORBSERVE_FEATURES_TRACK_JOB_H_

#include <cstddef>

#include "absl/status/status.h"
#include "features/backend.h"
#include "features/types.h"

namespace orbserve {

// Levels that the points of `job` are searched on: as many as its options ask for and its states
// have. The job must have passed CheckTrackJob().
int TrackLevelsOf(const TrackJob& job);

// Values of a row of TrackPoints::patches and TrackedPoints::patches of `job`. The job must have
// passed CheckTrackJob().
size_t PatchRowValuesOf(const TrackJob& job);

// Gives the columns of `tracked`, except the patches, `count` rows.
void ResizeColumns(size_t count, TrackedPoints* tracked);

// Checks everything about a job that does not depend on the backend. BAD_OPTIONS for options out of
// range. BAD_REQUEST for states without a pyramid, of different sizes or numbers of levels, for
// columns of different lengths, for a gain or an offset that no search answers, and for patches
// that do not belong to the points; the values of patches are taken as a backend answered them.
// INTERNAL for a job without states or points.
absl::Status CheckTrackJob(const TrackJob& job);

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_TRACK_JOB_H_
