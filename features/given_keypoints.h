// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_FEATURES_GIVEN_KEYPOINTS_H_
#define ORBSERVE_FEATURES_GIVEN_KEYPOINTS_H_

#include "absl/status/status.h"
#include "features/backend.h"
#include "features/pipeline/compiled.h"
#include "features/types.h"

namespace orbserve {

// Takes the keypoints over that can be described: as OpenCV, those whose rounded place keeps the
// border's distance to the edge of level 0, whatever their level. BFROST never reads outside a
// level: it also needs its reach on the keypoint's own level. `features` gets the keypoints in the
// caller's order, with `source_index`; descriptors are sized, not written. More than the plan's
// capacity are cut off, and `truncated` says so.
//
// BAD_REQUEST where columns differ in length; BAD_OPTIONS where an octave is not a level that the
// frame has, where an angle that is needed is not in [-720, 720] degrees, or where a size that
// TEBLID or BEBLID needs gives a patch out of range (features/algo/teblid.h).
absl::Status PlaceGivenKeypoints(const GivenKeypoints& given, const CompiledPipeline& pipeline,
                                 Features* features);

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_GIVEN_KEYPOINTS_H_
