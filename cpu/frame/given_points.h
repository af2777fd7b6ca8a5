// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Keypoints given by the caller (docs/determinism.md): by level for the steps that describe them,
// and their descriptors back into the rows of the answer.

#ifndef ORBSERVE_CPU_FRAME_GIVEN_POINTS_H_
#define ORBSERVE_CPU_FRAME_GIVEN_POINTS_H_

#include "cpu/frame/frame_context.h"
#include "features/types.h"

namespace orbserve::cpu {

// Puts the rows of `features`, which PlaceGivenKeypoints() has filled in, into the lists of their
// levels, in the caller's order inside each. Returns the number of levels up to the last one with
// a keypoint.
int PlaceGivenPoints(FrameContext& frame, const Features& features);

// Copies the descriptors of all levels to the rows that they belong to.
void GatherGivenDescriptors(const FrameContext& frame, Features* features);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_FRAME_GIVEN_POINTS_H_
